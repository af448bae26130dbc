"""Adds visits up, also over time, in bounded memory. Pure."""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from heapq import nlargest
from http import HTTPStatus
from typing import Final

from crawler.operate.report.forms import Activity, External, HostRow, HostTable, Times
from crawler.operate.report.visits import Visit
from crawler.page import READ_IN_PART, LinkKind, Settled, counts_as_page, rfc3339
from crawler.url.urls import host_of

MAX_HOSTS: Final = 100_000
"""Hosts with counts of their own. Of twice as many, the half with the fewest URLs is dropped."""
MAX_OF_HOST: Final = 20
"""Statuses or rules of a host that are counted each for itself."""
MAX_NAMES: Final = 1_000
"""Statuses, reasons or rules that are counted each for itself."""
OTHERS: Final = "others"
UNKNOWN: Final = "unknown"


MAX_BINS: Final = 240


def has_failed(visit: Settled) -> bool:
    """Whether there is no answer but an error. Who checks an empty file by its first byte is told that it has none."""
    if visit.kind == LinkKind.EXTERNAL and visit.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        return False
    return visit.state == "failed" or (visit.status is not None and visit.status >= HTTPStatus.BAD_REQUEST)


class CountsByName:
    """Counts statuses, reasons or rules, each under its name. Beyond `MAX_NAMES`, new names count as `OTHERS`."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def __contains__(self, name: str) -> bool:
        return name in self._counts

    def add(self, name: str, count: int = 1) -> None:
        self._counts[name if name in self or len(self._counts) < MAX_NAMES else OTHERS] += count

    def counts(self) -> Mapping[str, int]:
        """The names with the most first."""
        return dict(sorted(self._counts.items(), key=lambda item: (-item[1], item[0])))


class Clock:
    """When URLs were fetched, and how long that took. Moments in this form sort as text."""

    __slots__ = ("first_at", "last_at", "timed", "took_s")

    def __init__(self) -> None:
        self.first_at: str | None = None
        self.last_at: str | None = None
        self.took_s = 0.0
        self.timed = 0

    def add(self, visit: Visit) -> None:
        if visit.fetched_at is not None:
            if self.last_at is None or visit.fetched_at > self.last_at:
                self.last_at = visit.fetched_at
            if self.first_at is None or visit.fetched_at < self.first_at:
                self.first_at = visit.fetched_at
        if visit.duration_s is not None:
            self.took_s += visit.duration_s
            self.timed += 1

    def times(self) -> Times:
        return Times(first_at=self.first_at, last_at=self.last_at, mean_s=self.mean_s)

    @property
    def mean_s(self) -> float | None:
        return round(self.took_s / self.timed, 3) if self.timed else None


class Checks:
    """URLs out of scope that were checked."""

    def __init__(self) -> None:
        self._checked = self._dead = self._excluded = 0
        self._exclusions = CountsByName()

    def add(self, visit: Visit) -> None:
        self._checked += visit.state != "excluded"
        self._dead += has_failed(visit)
        if visit.state == "excluded":
            self._excluded += 1
            self._exclusions.add(visit.reason or OTHERS)

    def found(self) -> External | None:
        if not self._checked and not self._excluded:
            return None
        return External(
            checked=self._checked, dead=self._dead, excluded=self._excluded, exclusions=self._exclusions.counts()
        )


class Totals:
    """All hosts together."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.pages = self.failed = self.excluded = self.visits = self.read_in_part = 0
        self.bytes_received = self.bytes_decoded = 0
        self.statuses, self.failures, self.exclusions = CountsByName(), CountsByName(), CountsByName()
        self.refused, self.types, self.depths = CountsByName(), CountsByName(), CountsByName()
        self.truncated = CountsByName()

    def add(self, visit: Visit, *, is_last: bool = True, is_current: bool = True) -> None:
        """A URL counts by its last visit; what was received, and when, counts for each. `is_current`: whether the visit
        says what the page holds, which a 304 after another visit does not."""
        self.clock.add(visit)
        self.visits += 1
        self.bytes_received += visit.received_bytes or 0
        self.bytes_decoded += visit.size_bytes or 0
        if is_last:
            self._add_last(visit)
        if is_current:
            self._add_content(visit)

    def _add_last(self, visit: Visit) -> None:
        if counts_as_page(visit):
            self.pages += 1
            self.depths.add(str(visit.depth))
        if visit.status is not None:
            self.statuses.add(str(visit.status))
        if visit.state == "failed":
            self.failed += 1
            self.failures.add(visit.reason or OTHERS)
        elif visit.state == "excluded":
            self.excluded += 1
            self.exclusions.add(visit.reason or OTHERS)

    def _add_content(self, visit: Visit) -> None:
        if counts_as_page(visit):
            self.types.add(visit.content_type or UNKNOWN)
            if visit.truncated is not None:
                self.truncated.add(visit.truncated)
        self.read_in_part += visit.message is not None and READ_IN_PART in visit.message
        for rule, count in (visit.refused or {}).items():
            self.refused.add(rule, count)


def _count(counts: dict[str, int], name: str) -> None:
    """Count a name for a host. There are many hosts, and most of them have few different names."""
    known = name if name in counts or len(counts) < MAX_OF_HOST else OTHERS
    counts[known] = counts.get(known, 0) + 1


class HostCount:
    __slots__ = ("bytes_received", "clock", "excluded", "failures", "pages", "statuses", "urls")

    def __init__(self) -> None:
        self.urls = self.pages = self.failures = self.bytes_received = 0
        self.statuses: dict[str, int] = {}
        self.excluded: dict[str, int] = {}
        self.clock = Clock()

    def add(self, visit: Visit, *, is_last: bool) -> None:
        if is_last:
            self.urls += 1
            self.pages += counts_as_page(visit)
            self.failures += has_failed(visit)
            if visit.status is not None:
                _count(self.statuses, str(visit.status))
            if visit.state == "excluded":
                _count(self.excluded, visit.reason or OTHERS)
        self.bytes_received += visit.received_bytes or 0
        self.clock.add(visit)


class Hosts:
    """Each host for itself."""

    def __init__(self, max_hosts: int = MAX_HOSTS) -> None:
        self._max_hosts = max_hosts
        self._hosts: dict[str, HostCount] = {}
        self._dropped = 0

    def add(self, visit: Visit, *, is_last: bool = True) -> None:
        host = host_of(visit.url)
        count = self._hosts.get(host)
        if count is None:
            if len(self._hosts) >= 2 * self._max_hosts:
                self._drop_small()
            count = self._hosts[host] = HostCount()
        count.add(visit, is_last=is_last)

    @property
    def count(self) -> int:
        """The number of hosts; those that were dropped and came again count twice."""
        return len(self._hosts) + self._dropped

    def table(self, limit: int, *, has_bytes: bool) -> HostTable:
        def most(of: Callable[[HostCount], int]) -> list[HostRow]:
            chosen = nlargest(limit, self._hosts.items(), key=lambda item: (of(item[1]), item[1].urls))
            return [_row(host, count, has_bytes=has_bytes) for host, count in chosen if of(count)]

        return HostTable(
            count=self.count,
            is_exact=not self._dropped,
            most_pages=most(lambda count: count.pages),
            most_bytes=most(lambda count: count.bytes_received),
            most_failures=most(lambda count: count.failures),
        )

    def _drop_small(self) -> None:
        kept = nlargest(self._max_hosts, self._hosts.items(), key=lambda item: item[1].urls)
        self._dropped += len(self._hosts) - len(kept)
        self._hosts = dict(kept)


def _row(host: str, count: HostCount, *, has_bytes: bool) -> HostRow:
    return HostRow(
        host=host,
        urls=count.urls,
        pages=count.pages,
        failures=count.failures,
        statuses=dict(sorted(count.statuses.items())),
        excluded=dict(sorted(count.excluded.items())),
        bytes_received=count.bytes_received if has_bytes else None,
        mean_s=count.clock.mean_s,
        last_at=count.clock.last_at,
    )


class ActivityCount:
    """Counts visits in bins of time. When there are too many, each becomes twice as long."""

    def __init__(self, max_bins: int = MAX_BINS) -> None:
        self._max_bins = max_bins
        self._width_s = 1
        self._pages: Counter[int] = Counter()
        self._bytes: Counter[int] = Counter()

    def add(self, visit: Visit) -> None:
        if visit.fetched_at is None:
            return
        at = int(datetime.fromisoformat(visit.fetched_at).timestamp()) // self._width_s
        self._pages[at] += counts_as_page(visit)
        self._bytes[at] += visit.received_bytes or 0
        while len(self._pages) > self._max_bins:
            self._width_s *= 2
            self._pages, self._bytes = _halved(self._pages), _halved(self._bytes)

    def found(self) -> list[Activity]:
        """The bins in which anything was fetched, in order."""
        return [
            Activity(
                at=rfc3339(at * self._width_s),
                seconds=self._width_s,
                pages=self._pages[at],
                bytes_received=self._bytes[at],
            )
            for at in sorted(self._pages)
        ]


def _halved(counts: Counter[int]) -> Counter[int]:
    halved: Counter[int] = Counter()
    for at, count in counts.items():
        halved[at // 2] += count
    return halved
