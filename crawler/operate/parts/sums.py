"""Adds up what the parts of a crawl say about themselves. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import sqrt
from typing import Final, TypeVar

import msgspec

from crawler.page import ConnectionCounts
from crawler.status import Status, number_of
from frontier import FrontierStats
from visited import VisitedStats

_Key = TypeVar("_Key", str, int)

_OF_ONE_PART: Final = "next_"
"""Fields of `FrontierStats` that begin with this tell what wakes next: they are those of the part where that is."""


_ADDED_UP: Final = (
    *("pages", "pages_per_s", "recent_pages_per_s", "bytes_received", "read_in_part", "redirects", "retries"),
    *("failed", "links", "admitted", "robots_asked"),
)
"""Fields of `Status`."""


def sum_frontiers(parts: Mapping[int, FrontierStats]) -> FrontierStats:
    """The frontiers of the parts, by number, as one: counts are added."""
    first = next(iter(parts.values()))
    sums = {
        name: sum(getattr(each, name) for each in parts.values())
        for name in first.__struct_fields__
        if name != "paused" and not name.startswith(_OF_ONE_PART)
    }
    next_to_wake = _next_to_wake(parts)
    return msgspec.structs.replace(
        first if next_to_wake is None else parts[next_to_wake],
        **sums,
        next_visit_s=min((each.next_visit_s for each in parts.values() if each.next_visit_s is not None), default=None),
        paused=same_of_all({number: each.paused for number, each in parts.items()}),
    )


def _next_to_wake(parts: Mapping[int, FrontierStats]) -> int | None:
    wakes = [(each.next_wake_s, number) for number, each in parts.items() if each.next_wake_s is not None]
    return min(wakes)[1] if wakes else None


def same_of_all(texts: Mapping[int, str | None]) -> str | None:
    """What the parts say, if all say the same; otherwise who says what. None if nobody says anything."""
    different = set(texts.values())
    if len(different) == 1:
        return different.pop()
    return "; ".join(f"part {number}: {text}" for number, text in texts.items() if text is not None) or None


def sum_visited(parts: Sequence[VisitedStats]) -> VisitedStats:
    """The visited sets of the parts as one. Shares and rates are means: a URL belongs to one part."""
    sets = _each_once(parts)
    count = sum(each.count for each in sets)

    def mean(value: Callable[[VisitedStats], float]) -> float:
        if not count:
            return sum(map(value, sets)) / len(sets)
        return sum(value(each) * each.count for each in sets) / count

    capacities = [each.capacity for each in sets if each.capacity is not None]
    return VisitedStats(
        backend=", ".join(dict.fromkeys(each.backend for each in parts)),
        count=count,
        capacity=sum(capacities) if len(capacities) == len(sets) else None,
        memory_bytes=sum(each.memory_bytes for each in parts),
        server_bytes=sum(each.server_bytes for each in sets),
        disk_bytes=sum(each.disk_bytes for each in parts),
        fill=None if any(each.fill is None for each in sets) else mean(lambda each: each.fill or 0.0),
        false_positive_rate=mean(lambda each: each.false_positive_rate),
        expected_lost=sum(each.expected_lost for each in sets),
        rate_sigma=mean(lambda each: each.rate_sigma),
        lost_sigma=sqrt(sum(each.lost_sigma**2 for each in sets)),
        shared=same_of_all({number: each.shared for number, each in enumerate(parts)}),
        details=_details([each.details for each in parts]),
    )


def _each_once(parts: Sequence[VisitedStats]) -> list[VisitedStats]:
    """The sets that the parts have. Parts that share one each tell how it was when they asked it last: the newest count
    is the highest."""
    shared: dict[str, VisitedStats] = {}
    for each in parts:
        if each.shared is not None and (each.shared not in shared or shared[each.shared].count < each.count):
            shared[each.shared] = each
    return [*(each for each in parts if each.shared is None), *shared.values()]


def _details(parts: Sequence[Mapping[str, float | int | str]]) -> dict[str, float | int | str]:
    """Figures that only their backend can explain: one value if all parts have it, otherwise each."""
    found: dict[str, float | int | str] = {}
    for name in dict.fromkeys(name for each in parts for name in each):
        values = [each.get(name, "") for each in parts]
        found[name] = values[0] if len(set(values)) == 1 else ", ".join(map(str, values))
    return found


def sum_statuses(parts: Mapping[int, Status]) -> Status:
    """The runs of the parts, by number, as one: counts and rates are added."""
    runs = list(parts.values())
    return Status(
        **{name: sum(getattr(each, name) for each in runs) for name in _ADDED_UP},
        elapsed_s=max(each.elapsed_s for each in runs),
        failures=_sum_counts(each.failures for each in runs),
        excluded=_sum_counts(each.excluded for each in runs),
        refused=_sum_counts(each.refused for each in runs),
        truncated=_sum_counts(each.truncated for each in runs),
        responses=dict(sorted(_sum_counts(each.responses for each in runs).items())),
        frontier=sum_frontiers({number: each.frontier for number, each in parts.items()}),
        visited=sum_visited([each.visited for each in runs]),
        waiting=_why_waiting(parts),
        links_wait=_why_links_wait(parts),
        connections=ConnectionCounts(
            **{
                name: sum(getattr(each.connections, name) for each in runs)
                for name in ConnectionCounts.__struct_fields__
            }
        ),
    )


def _sum_counts(counts: Iterable[Mapping[_Key, int]]) -> dict[_Key, int]:
    total: Counter[_Key] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def _why_links_wait(parts: Mapping[int, Status]) -> str | None:
    """Why links between parts wait: what the first part says for which they do."""
    waiting = {number: each.links_wait for number, each in parts.items() if each.links_wait is not None}
    if not waiting:
        return None
    first = next(iter(waiting))
    others = f", and {number_of(len(waiting) - 1, 'other part')}" if len(waiting) > 1 else ""
    return f"part {first}{others}: {waiting[first]}"


def _why_waiting(parts: Mapping[int, Status]) -> str | None:
    """What the crawl waits for; None while one of its parts works. A part that has nothing to do is not asked."""
    waiting = {number: each.waiting for number, each in parts.items() if each.waiting is not None}
    for each in parts.values():
        if each.waiting is None and (each.frontier.in_process or each.frontier.ready_queues):
            return None
    if not waiting:
        return None
    if len(waiting) == len(parts) and len(set(waiting.values())) == 1:
        return next(iter(waiting.values()))
    next_to_wake = _next_to_wake({number: parts[number].frontier for number in waiting})
    number = next(iter(waiting)) if next_to_wake is None else next_to_wake
    return f"part {number}: {waiting[number]}"
