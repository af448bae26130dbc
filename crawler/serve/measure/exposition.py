"""What Prometheus is told of crawls. Pure.

Each metric is of a crawl or of a part, and its other labels have few values. No label has a host or a URL: there may be
millions of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from crawler.serve.measure.history import Reading, Readings

MAX_REASONS: Final = 64
"""More reasons of failures than this are one, `other`. A fetcher that is a plug-in may have reasons of its own."""

Labelled = Iterable[tuple[tuple[str, ...], float | None]]
"""Values of labels, and the number; None if there is none."""


class CrawlReadings(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl of the daemon."""

    name: str
    state: str
    crashes: int
    """Since it last ran for long."""
    is_running: bool
    """Whether a process runs it."""
    readings: Readings


class _Gauge(msgspec.Struct, frozen=True):
    """A level of parts."""

    name: str
    meaning: str
    read: Callable[[Reading], Labelled]
    labels: tuple[str, ...] = ()
    needs_process: bool = False
    """Whether it says nothing of a part that does not run."""


def _level(field: str) -> Callable[[Reading], Labelled]:
    return lambda reading: (((), getattr(reading.levels, field)),)


def _machine(field: str) -> Callable[[Reading], Labelled]:
    return lambda reading: (((), getattr(reading.machine, field)),)


def _levels(**fields: str) -> Callable[[Reading], Labelled]:
    return lambda reading: [((label,), getattr(reading.levels, field)) for label, field in fields.items()]


_CLASSES: Final = ("1xx", "2xx", "3xx", "4xx", "5xx")
_COUNTERS: Final = (
    ("onceover_process_starts", "starts", "Processes that have run this part"),
    ("onceover_pages", "pages", "URLs fetched with a 2xx status or 304, without sitemaps"),
    ("onceover_received_bytes", "bytes_received", "Bytes of bodies, as received"),
    ("onceover_failures", "failures", "Failed fetches, also those with an error status; each attempt counts"),
    ("onceover_retries", "retries", "Fetches that are tried again"),
    ("onceover_links", "links", "Links in scope"),
    ("onceover_admitted_links", "admitted", "Links that were new"),
    ("onceover_refused_links", "refused", "Links that a rule has refused"),
    (
        "onceover_documents_read_in_part",
        "read_in_part",
        "Documents that had too much to parse, so only a part was read",
    ),
    ("onceover_truncated_pages", "truncated", "Pages whose body is incomplete"),
    ("onceover_robots_requests", "robots_asked", "Requests for robots.txt and tdmrep.json"),
    ("onceover_connections", "connections_opened", "Connections that were opened"),
    ("onceover_reused_connections", "connections_reused", "Requests over kept connections"),
    ("onceover_tls_handshakes", "tls_handshakes", "Handshakes of TLS after which a server answered"),
    ("onceover_tls_resumed_handshakes", "tls_resumed", "Handshakes of TLS that resumed a session"),
)
"""Counts of parts: the name of each, its name in `Counts`, and its meaning."""
_GAUGES: Final = (
    _Gauge("onceover_discovered_urls", "URLs ever admitted", _level("discovered")),
    _Gauge(
        "onceover_settled_urls", "URLs that are settled, by what became of them",
        _levels(done="done", failed="failed", excluded="excluded"), labels=("outcome",),
    ),
    _Gauge("onceover_queued_urls", "URLs that wait, those in flight included", _level("queued")),
    _Gauge("onceover_in_flight_urls", "URLs that are being fetched", _level("in_flight"), needs_process=True),
    _Gauge(
        "onceover_hosts", "Hosts, by state",
        _levels(active="hosts_active", waiting="hosts_waiting", inactive="hosts_inactive", retired="hosts_retired"),
        labels=("state",), needs_process=True,
    ),
    _Gauge(
        "onceover_failing_hosts", "Hosts whose server failed the last time it was asked",
        _level("hosts_failing"), needs_process=True,
    ),
    _Gauge("onceover_visited_urls", "URLs in the visited set", _level("visited_urls")),
    _Gauge(
        "onceover_visited_capacity_urls", "URLs for which the rate of the visited set holds",
        _level("visited_capacity"),
    ),
    _Gauge(
        "onceover_visited_memory_bytes", "Memory of the visited set",
        _level("visited_memory_bytes"), needs_process=True,
    ),
    _Gauge("onceover_visited_disk_bytes", "Disk of the visited set", _level("visited_disk_bytes")),
    _Gauge("onceover_visited_fill_ratio", "Share of the visited set in use", _level("visited_fill")),
    _Gauge(
        "onceover_visited_false_positive_ratio", "Probability that the visited set takes a new URL for a known one",
        _level("visited_false_positive_rate"),
    ),
    _Gauge(
        "onceover_visited_lost_urls", "New URLs that the visited set has probably taken for known ones",
        _level("visited_lost"),
    ),
    _Gauge(
        "onceover_process_resident_bytes", "Resident memory of the process",
        _machine("memory_bytes"), needs_process=True,
    ),
    _Gauge(
        "onceover_process_open_files", "Open files and connections of the process",
        _machine("open_files"), needs_process=True,
    ),
)  # fmt: skip


class CrawlCollector(Collector):
    """Tells what was seen last of crawls. Nothing is asked, and nothing kept."""

    def __init__(self, crawls: Sequence[CrawlReadings], states: Sequence[str], version: str) -> None:
        self._crawls = crawls
        self._states = states
        self._version = version

    def collect(self) -> Iterator[Metric]:
        yield _gauge("onceover_build_info", "The version of the daemon", ("version",), [((self._version,), 1)])
        yield from self._of_crawls()
        for name, field, meaning in _COUNTERS:
            yield _counter(name, meaning, ("crawl", "part"), self._counts(field))
        yield _counter(
            "onceover_responses", "Responses, by class of their status", ("crawl", "part", "class"),
            (
                ((*labels, name), value)
                for name in _CLASSES
                for labels, value in self._counts(f"responses_{name}")
            ),
        )  # fmt: skip
        yield _counter(
            "onceover_failures_by_reason", "Failed fetches since the process began, by reason",
            ("crawl", "part", "reason"),
            (
                ((*labels, reason), count)
                for labels, reading in self._parts()
                for reason, count in _bounded(reading.failures).items()
            ),
        )  # fmt: skip
        yield _counter(
            "onceover_process_cpu_seconds", "Processor time of the process", ("crawl", "part"),
            ((labels, reading.machine.cpu_s) for labels, reading in self._parts(needs_process=True)),
        )  # fmt: skip
        for gauge in _GAUGES:
            yield _gauge(gauge.name, gauge.meaning, ("crawl", "part", *gauge.labels), self._of_parts(gauge))

    def _of_crawls(self) -> Iterator[Metric]:
        states = (
            ((crawl.name, state), float(crawl.state == state)) for crawl in self._crawls for state in self._states
        )
        yield _gauge("onceover_crawl_state", "1 for the state of the crawl, 0 for others", ("crawl", "state"), states)
        yield _gauge(
            "onceover_crawl_crashes", "Crashes since the crawl last ran for long", ("crawl",),
            (((crawl.name,), crawl.crashes) for crawl in self._crawls),
        )  # fmt: skip
        yield _gauge(
            "onceover_crawl_last_answer_timestamp_seconds", "When the crawl last told how it stands", ("crawl",),
            (((crawl.name,), whole.at) for crawl, whole in self._wholes()),
        )  # fmt: skip
        running = [((crawl.name,), whole.machine) for crawl, whole in self._wholes() if crawl.is_running]
        for make, name, field, meaning in _OF_MACHINE:
            yield make(name, meaning, ("crawl",), [(labels, getattr(machine, field)) for labels, machine in running])

    def _wholes(self) -> Iterator[tuple[CrawlReadings, Reading]]:
        for crawl in self._crawls:
            if crawl.readings.whole is not None:
                yield crawl, crawl.readings.whole

    def _parts(self, *, needs_process: bool = False) -> Iterator[tuple[tuple[str, str], Reading]]:
        """The parts, with their labels."""
        for crawl in self._crawls:
            if crawl.is_running or not needs_process:
                for number, reading in crawl.readings.parts.items():
                    yield (crawl.name, str(number)), reading

    def _counts(self, field: str) -> Labelled:
        return ((labels, getattr(reading.counts, field)) for labels, reading in self._parts())

    def _of_parts(self, gauge: _Gauge) -> Labelled:
        return (
            ((*labels, *more), value)
            for labels, reading in self._parts(needs_process=gauge.needs_process)
            for more, value in gauge.read(reading)
        )


def _gauge(name: str, meaning: str, labels: Sequence[str], values: Labelled) -> Metric:
    return _with(GaugeMetricFamily(name, f"{meaning}.", labels=labels), values)


def _counter(name: str, meaning: str, labels: Sequence[str], values: Labelled) -> Metric:
    return _with(CounterMetricFamily(name, f"{meaning}.", labels=labels), values)


def _with(family: GaugeMetricFamily | CounterMetricFamily, values: Labelled) -> Metric:
    for labels, value in values:
        if value is not None:
            family.add_metric(labels, value)
    return family


_OF_MACHINE: Final = (
    (_gauge, "onceover_crawl_disk_free_bytes", "free_disk_bytes", "What is free on the disk of the crawl"),
    (_gauge, "onceover_crawl_resident_bytes", "memory_bytes", "Resident memory of all processes of the crawl"),
    (_gauge, "onceover_crawl_open_files", "open_files", "Open files and connections of all processes of the crawl"),
    (_counter, "onceover_crawl_cpu_seconds", "cpu_s", "Processor time of all processes of the crawl"),
)
"""What running crawls take: as `_COUNTERS`, with names in `Machine`."""


def _bounded(failures: Mapping[str, int]) -> dict[str, int]:
    """The reasons that came first, and all others as one. Each of these only grows."""
    found: dict[str, int] = {}
    for reason, count in failures.items():
        name = reason if len(found) < MAX_REASONS else "other"
        found[name] = found.get(name, 0) + count
    return found
