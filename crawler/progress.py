"""The progress of a crawl in words: a line, names and values for a table, and a summary at the end."""

import time
from collections import deque
from collections.abc import Callable

import msgspec

from crawler.counters import Counters
from crawler.page import ConnectionCounts
from crawler.status import Status, duration, figure, number_of, rate, read_in_part_text, row_lines, size, status_of
from frontier import FrontierStats
from visited import VisitedStats

RATE_WINDOW_S = 5.0
MIN_SHOWN_RATE = 1e-9
MIN_SHOWN_LOST_PAGES = 0.05


class Gauge:
    """Reads the status of a running crawl, with its rate over the last seconds."""

    def __init__(
        self,
        counters: Counters,
        frontier: Callable[[], FrontierStats],
        visited: Callable[[], VisitedStats],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._counters = counters
        self._frontier = frontier
        self._visited = visited
        self._monotonic = monotonic
        self._began = monotonic()
        self._samples: deque[tuple[float, int]] = deque([(self._began, 0)])
        self.links_wait: Callable[[], str | None] = lambda: None
        """Says why links do not reach other parts. A part replaces it."""
        self.connections: Callable[[], ConnectionCounts] = ConnectionCounts
        """Counts the connections. A crawl that fetches itself replaces it."""

    def status(self) -> Status:
        now = self._monotonic()
        self._samples.append((now, self._counters.pages))
        while len(self._samples) > 2 and self._samples[1][0] < now - RATE_WINDOW_S:
            self._samples.popleft()
        then, pages = self._samples[0]
        elapsed_s = now - self._began
        status = status_of(
            self._counters,
            self._frontier(),
            self._visited(),
            elapsed_s=elapsed_s,
            recent_pages_per_s=(self._counters.pages - pages) / max(now - then, 1e-9),
            monotonic=now,
        )
        return msgspec.structs.replace(status, links_wait=self.links_wait(), connections=self.connections())


ReadStatus = Callable[[], Status]
"""Reads the status of a crawl that runs."""


def read_parts(status: Callable[[], Status | None]) -> ReadStatus:
    """Reads the status of several parts. Call it once they were open: before, there is none."""

    def read() -> Status:
        found = status()
        assert found is not None
        return found

    return read


def line(status: Status) -> str:
    """The status in one line."""
    frontier = status.frontier
    texts = [
        duration(status.elapsed_s),
        number_of(status.pages, "page"),
        rate(status.recent_pages_per_s),
        size(status.bytes_received),
        f"{frontier.queued:,} queued",
        f"hosts: {frontier.in_process_queues + frontier.ready_queues:,} active, {frontier.snoozed_queues:,} resting",
        _visited(status.visited),
    ]
    if status.failures or status.failed:
        texts.append(f"errors: {_counts(status.failures)}; {status.failed:,} given up")
    texts += why(status)
    return " · ".join(texts)


def why(status: Status) -> list[str]:
    """Why the crawl waits, or its links do."""
    links = None if status.links_wait is None else f"links wait: {status.links_wait}"
    return [each for each in (status.waiting, links) if each is not None]


def rows_of(status: Status) -> list[tuple[str, str]]:
    """The status of a running crawl: names and values."""
    return [
        ("pages", f"{status.pages:,} · {rate(status.recent_pages_per_s)} · {size(status.bytes_received)}"),
        *frontier_rows(status.frontier),
        *_common_rows(status),
        ("time", duration(status.elapsed_s)),
    ]


def frontier_rows(frontier: FrontierStats) -> list[tuple[str, str]]:
    """What is known about a crawl whether it runs or not: names and values."""
    urls = [f"{frontier.pending:,} queued", f"{frontier.retrying:,} to try again"]
    urls.append(f"{frontier.settled:,} of {frontier.admitted:,} settled")
    if frontier.retired:
        urls.append(f"{frontier.retired:,} retired")
    hosts = [f"{frontier.in_process_queues:,} in process", f"{frontier.ready_queues:,} ready"]
    hosts.append(f"{frontier.snoozed_queues:,} resting")
    if frontier.inactive_queues:
        hosts.append(f"{frontier.inactive_queues:,} inactive")
    return [("URLs", " · ".join(urls)), ("hosts", " · ".join(hosts))]


def visit_rows(frontier: FrontierStats) -> list[tuple[str, str]]:
    """When a page is visited again, if one is."""
    if frontier.next_visit_s is None:
        return []
    return [("next visit", f"due in {duration(frontier.next_visit_s)}" if frontier.next_visit_s else "due now")]


def summary(status: Status, *, ending: str, directory: str, width: int = 80) -> list[str]:
    """What a run did: lines of at most `width` characters. A longer path is not broken."""
    frontier = status.frontier
    took_s = status.elapsed_s
    speed = f"{rate(status.pages / took_s)}, " if took_s > 0 and status.pages else ""
    waits = frontier.queued
    urls = f"{frontier.settled:,} settled" + (f", {number_of(waits, 'waits', 'wait')}" if waits else "")
    if frontier.retired:
        urls += f", {frontier.retired:,} retired"
    if frontier.failed or frontier.excluded:
        urls += f"; of these {frontier.failed:,} given up, {frontier.excluded:,} excluded"
    rows = [
        ("pages", f"{status.pages:,} in {duration(took_s)} ({speed}{size(status.bytes_received)})"),
        ("URLs", urls),
        *_common_rows(status),
    ]
    if not waits:
        rows += visit_rows(frontier)
    # Keeps a name and its count on one line.
    unbroken = [(name, value.replace(": ", ":\N{NO-BREAK SPACE}")) for name, value in rows]
    lines = [line.replace("\N{NO-BREAK SPACE}", " ") for line in row_lines(unbroken, width=width)]
    return [ending, *lines, f"    output  {directory}"]


def _tls(connections: ConnectionCounts) -> str:
    handshakes, resumed = connections.tls_handshakes, connections.tls_resumed
    return f"{number_of(handshakes, 'handshake')}, {resumed / handshakes:.0%} of them short"


def _common_rows(status: Status) -> list[tuple[str, str]]:
    rows = []
    if status.responses:
        rows.append(("answers", _counts({str(code): count for code, count in status.responses.items()})))
    if status.connections.tls_handshakes:
        rows.append(("TLS", _tls(status.connections)))
    if status.links:
        rows.append(("links", f"{status.links:,} in scope, {status.admitted:,} of them new"))
    if status.read_in_part:
        rows.append(("cut", read_in_part_text(status.read_in_part)))
    if status.truncated:
        rows.append(("truncated", f"{_counts(status.truncated)} (pages)"))
    if status.refused:
        rows.append(("refused", f"{_counts(status.refused)} (links)"))
    if status.failures or status.failed or status.retries:
        retries = number_of(status.retries, "retry", "retries")
        rows.append(("errors", f"{_counts(status.failures)}; {retries}, {status.failed:,} given up"))
    if status.excluded:
        rows.append(("excluded", _counts(status.excluded)))
    rows.append(("visited", _visited(status.visited)))
    return rows


def _visited(visited: VisitedStats) -> str:
    texts = [f"{visited.backend}, {number_of(visited.count, 'URL')}"]
    texts.append(size(visited.memory_bytes))
    if visited.capacity is not None and visited.fill is not None:
        texts.append(f"{visited.fill:.1%} of its bits set")
    if visited.false_positive_rate >= MIN_SHOWN_RATE:
        texts.append(f"error rate {visited.false_positive_rate:.1g}")
    if visited.expected_lost >= MIN_SHOWN_LOST_PAGES:
        texts.append(f"about {figure(visited.expected_lost)} pages lost")
    return ", ".join(texts)


def _counts(counts: dict[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{name}: {count:,}" for name, count in ordered) or "none"
