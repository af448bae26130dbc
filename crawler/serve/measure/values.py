"""A sample of a crawl: what it counts, and how it stands; counts that go on when a process counts anew. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import UNSET

from crawler.control.replies import CrawlStatus
from crawler.serve.machine import Taken
from crawler.status import Status
from frontier import FrontierStats

_WORD: Final = re.compile(r"[a-z]+(-[a-z]+)*")
_BY_STATUS: Final = "status"


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What a crawl has counted. These only grow."""

    starts: int = 0
    """Processes that have run it; of a crawl in parts, the processes of its parts."""
    pages: int = 0
    """URLs fetched with a 2xx status or 304, without sitemaps."""
    bytes_received: int = 0
    """Bytes of bodies, as received."""
    responses_1xx: int = 0
    responses_2xx: int = 0
    responses_3xx: int = 0
    responses_4xx: int = 0
    responses_5xx: int = 0
    failures: int = 0
    """Failed fetches, also those with an error status. Each attempt counts."""
    retries: int = 0
    links: int = 0
    """Links in scope; a link counts again on each page that has it."""
    admitted: int = 0
    """Links that were new."""
    refused: int = 0
    """Links that a rule has refused."""
    read_in_part: int = 0
    """Documents of which only a part was read, as too much to parse."""
    truncated: int = 0
    """Pages whose body is incomplete."""
    robots_asked: int = 0
    """Requests for robots.txt, and for the well-known file on the mining of texts (tdmrep.json)."""
    connections_opened: int = 0
    connections_reused: int = 0
    """Requests over kept connections."""
    tls_handshakes: int = 0
    """Handshakes after which a server answered."""
    tls_resumed: int = 0
    """Of these, those that resumed a session."""


class Levels(msgspec.Struct, frozen=True, kw_only=True):
    """How a crawl stands at a moment."""

    discovered: int
    """URLs ever admitted, those of earlier runs included."""
    done: int
    failed: int
    """URLs that were given up."""
    excluded: int
    """URLs that a rule forbids to fetch."""
    queued: int
    """URLs that wait to be fetched, those in flight included."""
    in_flight: int
    hosts_active: int
    """Hosts that are asked now, or may be."""
    hosts_waiting: int
    """Hosts that rest between requests, or wait for others at the same server."""
    hosts_inactive: int
    """Hosts that wait for a place among those that are served."""
    hosts_retired: int
    hosts_failing: int
    """Hosts whose server failed the last time it was asked."""
    visited_urls: int
    visited_capacity: int | None
    """None if the visited set grows without bound."""
    visited_memory_bytes: int
    visited_disk_bytes: int
    visited_fill: float | None
    """Share of the structure in use, 0 to 1."""
    visited_false_positive_rate: float
    visited_lost: float
    """New URLs that the visited set has probably taken for known ones, so far."""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What processes take of the machine."""

    memory_bytes: int = 0
    """Resident memory; what processes share counts for each."""
    open_files: int = 0
    cpu_s: float = 0.0
    """Processor time since the processes began."""
    free_disk_bytes: int | None = None
    """What is free on the disk of the crawl; None if that is not known."""


class PartSample(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a crawl at a moment. A crawl that is not in parts has one, number 0."""

    pid: int
    elapsed_s: float
    """How long its process has been running."""
    counts: Counts
    """Since its process began."""
    levels: Levels
    failures: Mapping[str, int] = {}
    """Failures by reason, since its process began."""


def samples(status: CrawlStatus) -> dict[int, PartSample]:
    """The parts of a crawl that tell how they stand."""
    if status.parts is UNSET:
        found = _sample(status)
        return {} if found is None else {0: found}
    told = {each.part: each.status for each in status.parts if each.status is not None}
    sampled = {number: _sample(each) for number, each in told.items()}
    return {number: each for number, each in sampled.items() if each is not None}


def _sample(status: CrawlStatus) -> PartSample | None:
    run = status.run
    if run is None or status.pid is None:
        return None
    return PartSample(
        pid=status.pid,
        elapsed_s=run.elapsed_s,
        counts=counts_of(run),
        levels=_levels(status.frontier, run),
        failures=_by_reason(run.failures),
    )


def counts_of(run: Status) -> Counts:
    """What a process has counted."""
    classes = dict.fromkeys(range(1, 6), 0)
    for code, count in run.responses.items():
        classes[min(max(code // 100, 1), 5)] += count
    return Counts(
        starts=1,
        pages=run.pages,
        bytes_received=run.bytes_received,
        responses_1xx=classes[1],
        responses_2xx=classes[2],
        responses_3xx=classes[3],
        responses_4xx=classes[4],
        responses_5xx=classes[5],
        failures=sum(run.failures.values()),
        retries=run.retries,
        links=run.links,
        admitted=run.admitted,
        refused=sum(run.refused.values()),
        read_in_part=run.read_in_part,
        truncated=sum(run.truncated.values()),
        robots_asked=run.robots_asked,
        connections_opened=run.connections.opened,
        connections_reused=run.connections.reused,
        tls_handshakes=run.connections.tls_handshakes,
        tls_resumed=run.connections.tls_resumed,
    )


def _levels(frontier: FrontierStats, run: Status) -> Levels:
    visited = run.visited
    return Levels(
        discovered=frontier.admitted,
        done=frontier.done,
        failed=frontier.failed,
        excluded=frontier.excluded,
        queued=frontier.queued,
        in_flight=frontier.in_process,
        hosts_active=frontier.ready_queues + frontier.in_process_queues,
        hosts_waiting=frontier.snoozed_queues + frontier.held_back_queues,
        hosts_inactive=frontier.inactive_queues,
        hosts_retired=frontier.retired_queues,
        hosts_failing=frontier.troubled_queues,
        visited_urls=visited.count,
        visited_capacity=visited.capacity,
        visited_memory_bytes=visited.memory_bytes,
        visited_disk_bytes=visited.disk_bytes,
        visited_fill=visited.fill,
        visited_false_positive_rate=visited.false_positive_rate,
        visited_lost=visited.expected_lost,
    )


def _by_reason(failures: Mapping[str, int]) -> dict[str, int]:
    """Failures by reason, all statuses as one: servers choose these, and names of metrics have to be few."""
    found: dict[str, int] = {}
    for reason, count in failures.items():
        name = reason if _WORD.fullmatch(reason) else _BY_STATUS
        found[name] = found.get(name, 0) + count
    return found


class Total(msgspec.Struct, frozen=True, kw_only=True):
    """What a part has counted over all of its processes, and what its last one had counted."""

    total: Counts = Counts()
    run: Counts = Counts()
    pid: int = 0
    elapsed_s: float = 0.0


def advance(before: Total, sample: PartSample) -> Total:
    """The total with a new sample. What a process has counted between its last sample and its end is not known."""
    is_same = (
        before.pid == sample.pid
        and before.elapsed_s <= sample.elapsed_s
        and all(getattr(before.run, name) <= getattr(sample.counts, name) for name in Counts.__struct_fields__)
    )
    counted = before.run if is_same else Counts()
    total = Counts(
        **{
            name: getattr(before.total, name) + getattr(sample.counts, name) - getattr(counted, name)
            for name in Counts.__struct_fields__
        }
    )
    return Total(total=total, run=sample.counts, pid=sample.pid, elapsed_s=sample.elapsed_s)


def machine_of(taken: Taken, free_disk_bytes: int | None) -> Machine:
    return Machine(**msgspec.structs.asdict(taken), free_disk_bytes=free_disk_bytes)


def sum_counts(parts: Iterable[Counts]) -> Counts:
    listed = list(parts)
    return Counts(**{name: sum(getattr(each, name) for each in listed) for name in Counts.__struct_fields__})


def sum_levels(parts: Iterable[Levels]) -> Levels:
    """The levels of a crawl. Shares and rates of its visited sets are means: a URL belongs to one part."""
    listed = list(parts)
    sums = {name: _sum(getattr(each, name) for each in listed) for name in Levels.__struct_fields__}
    urls = sum(each.visited_urls for each in listed)
    for name in ("visited_fill", "visited_false_positive_rate"):
        weighted = _sum(
            None if (value := getattr(each, name)) is None else value * (each.visited_urls if urls else 1)
            for each in listed
        )
        sums[name] = None if weighted is None else weighted / (urls or len(listed))
    return msgspec.convert(sums, Levels)


def _sum(values: Iterable[float | None]) -> float | None:
    total: float = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total
