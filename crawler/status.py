"""The state of a crawl as one value: progress shows it, the summary tells it, and `--json` prints it. Pure."""

import textwrap
from collections.abc import Collection, Iterable

import msgspec

from crawler.counters import Counters, InFlight
from crawler.page import ConnectionCounts
from frontier import FrontierStats
from visited import VisitedStats

MIN_SHOWN_WAIT_S = 2.0
MIN_SHOWN_REST_S = 0.1


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl at one moment. `frontier` and `visited` count the whole crawl; all other counts are of this run."""

    elapsed_s: float
    pages: int
    pages_per_s: float
    """The average of this run."""
    recent_pages_per_s: float
    """The average of the last few seconds."""
    bytes_received: int
    redirects: int
    responses: dict[int, int]
    failures: dict[str, int]
    """Fetches without a usable response, by kind."""
    retries: int
    failed: int
    excluded: dict[str, int]
    links: int
    admitted: int
    refused: dict[str, int]
    robots_asked: int
    frontier: FrontierStats
    visited: VisitedStats
    waiting: str | None
    """Why nothing happens, in words; None while something does."""
    links_wait: str | None = None
    """Why links do not reach other parts, in words; None while they do."""
    connections: ConnectionCounts = ConnectionCounts()
    read_in_part: int = 0
    """Documents of which only a part was read, because there was too much to parse."""
    truncated: dict[str, int] = {}
    """Pages whose body is incomplete, by reason."""


def status_of(
    counters: Counters,
    frontier: FrontierStats,
    visited: VisitedStats,
    *,
    elapsed_s: float,
    recent_pages_per_s: float,
    monotonic: float,
) -> Status:
    """The status at `monotonic`, in seconds of the monotonic clock."""
    return Status(
        elapsed_s=elapsed_s,
        pages=counters.pages,
        pages_per_s=counters.pages / elapsed_s if elapsed_s > 0 else 0.0,
        recent_pages_per_s=recent_pages_per_s,
        bytes_received=counters.bytes_received,
        redirects=counters.redirects,
        responses=dict(sorted(counters.responses.items())),
        failures=dict(counters.failures),
        retries=counters.retries,
        failed=counters.failed,
        excluded=dict(counters.excluded),
        links=counters.links,
        admitted=counters.admitted,
        refused=dict(counters.refused),
        robots_asked=counters.robots_asked,
        read_in_part=counters.read_in_part,
        truncated=dict(counters.truncated),
        frontier=frontier,
        visited=visited,
        waiting=why_waiting(frontier, list(counters.in_flight.values()), monotonic=monotonic),
    )


def why_waiting(frontier: FrontierStats, in_flight: list[InFlight], *, monotonic: float) -> str | None:
    """What the crawl waits for; None if something began in the last two seconds or can begin now."""
    if frontier.paused is not None:
        return f"paused: {frontier.paused}"
    if frontier.ready_queues and not in_flight and not frontier.awaits_limit:
        return None
    if in_flight:
        return _wait_for_answers(in_flight, monotonic)
    if frontier.awaits_limit:
        urls = _waiting(frontier.awaits_limit, "URL")
        return f"{urls} for a page that the limit leaves; other parts have begun the rest, or can't be reached"
    if frontier.next_wake_s is None and frontier.groups_elsewhere:
        hosts = _waiting(frontier.held_back_queues, "host")
        return f"{hosts} for {number_of(frontier.groups_elsewhere, 'address', 'addresses')} that other parts ask, too"
    if frontier.next_wake_s is None and frontier.next_visit_s is not None:
        return f"nothing is left to fetch now; the next visit to a page is due in {duration(frontier.next_visit_s)}"
    if frontier.next_wake_s is None or frontier.next_wake_s < MIN_SHOWN_REST_S:
        return None
    when = duration(frontier.next_wake_s)
    if frontier.next_group is not None:
        kind, _, name = frontier.next_group.partition(" ")
        named = f"the address {name}" if kind == "ip" else f"{kind} {host_of(name)}"
        hosts = _waiting(frontier.held_back_queues, "host")
        return f"{hosts} for others at the same server; {named} may be asked in {when}"
    if frontier.next_wake_key is None:
        urls = "one URL" if frontier.retrying == 1 else f"{frontier.retrying} URLs"
        return f"{urls} to try again; the next in {when}"
    return _rest_of_hosts(frontier, host_of(frontier.next_wake_key), when)


def _wait_for_answers(in_flight: list[InFlight], monotonic: float) -> str | None:
    oldest = min(in_flight, key=lambda work: work.since)
    if monotonic - max(work.since for work in in_flight) < MIN_SHOWN_WAIT_S:
        return None
    answers = "one answer" if len(in_flight) == 1 else f"{len(in_flight)} answers"
    return f"waiting for {answers}; the longest, {oldest.stage} of {oldest.url}, for {monotonic - oldest.since:.0f} s"


def _waiting(count: int, noun: str) -> str:
    return f"one {noun} waits" if count == 1 else f"{count} {noun}s wait"


def _rest_of_hosts(frontier: FrontierStats, host: str, when: str) -> str:
    """Why hosts rest of which `host` may be asked first, in the time `when`."""
    rests = "the only host rests" if frontier.snoozed_queues == 1 else f"all {frontier.snoozed_queues} hosts rest"
    if frontier.next_wake_why is not None:
        return f"{rests}; {host} is next, in {when}: it waits for {frontier.next_wake_why}"
    if frontier.next_wake_trouble is None:
        return f"{rests} between requests; {host} is next, in {when}"
    trouble = f"it {failures_text(frontier.next_wake_streak, frontier.next_wake_trouble)}"
    of_these = "" if frontier.snoozed_queues == 1 else f", {frontier.troubled_queues} of them after failures"
    return f"{rests}{of_these}; {host} is tried next, in {when}: {trouble}"


def failures_text(streak: int, last: str) -> str:
    """What a host has done: it has failed `streak` times in a row, the last time for the reason `last`."""
    return (
        f"failed once, with {last}" if streak == 1 else f"failed {streak:,} times in a row, the last time with {last}"
    )


def host_of(queue_key: str) -> str:
    """The host of a queue key as people write it: `com,example,www:8080` is www.example.com:8080."""
    queue_key, mark, number = queue_key.partition("#")
    labels, colon, port = queue_key.partition(":")
    return ".".join(reversed(labels.split(","))) + colon + port + mark + number


def number_of(count: int, noun: str, plural: str | None = None) -> str:
    """A count with its noun: 1 URL, 2,000 URLs."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def when_done(in_flight: int) -> str:
    """When a run ends that fetches nothing more."""
    urls = number_of(in_flight, "URL in flight is done", "URLs in flight are done")
    return f"when {urls if in_flight else 'all output is stored'}"


def read_in_part_text(count: int) -> str:
    return f"{number_of(count, 'document')} had too much to parse, so only a part was read"


def name_parts(numbers: Collection[int]) -> str:
    """Parts of a crawl: part 1; parts 0, 2."""
    return f"{'part' if len(numbers) == 1 else 'parts'} {', '.join(map(str, sorted(numbers)))}"


def duration(seconds: float) -> str:
    """A duration as people write it: 4.2 s, 3 min 20 s, 2 h 5 min, 6 d 23 h."""
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def rate(per_s: float) -> str:
    """Events per second, with a decimal if they are few."""
    return f"{per_s:,.0f}/s" if per_s == 0 or round(per_s, 1) >= 10 else f"{per_s:.1f}/s"


def figure(value: float, digits: int = 2) -> str:
    """A number of which so many digits are known: 3.4, 1,200."""
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if float(text) >= 10**digits else text


def size(count: float) -> str:
    """A number of bytes as people write it, in decimal units."""
    for unit in ("B", "kB", "MB", "GB"):
        if round(count, 1) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def row_lines(rows: Iterable[tuple[str, str]], *, names: int = 10, width: int = 80) -> list[str]:
    """Names and values as lines of at most `width` characters, of which the names take `names`."""
    lines: list[str] = []
    for name, value in rows:
        head = f"{name:>{names}}  "
        lines += textwrap.wrap(value, width, initial_indent=head, subsequent_indent=" " * len(head))
    return lines
