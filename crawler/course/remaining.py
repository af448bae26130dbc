"""How long the rest of a crawl will take. Pure.

Two things decide: the rate of the crawl, and the pace of the host with the most URLs, which no rate can hurry. Neither
knows the URLs that are still to be found, so an estimate is the least that it will take.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from crawler.course.forms import Remaining
from crawler.status import duration, number_of
from frontier import FrontierStats

RECENT_S: Final = 600.0
"""The rate is that of this time."""
LEAST_S: Final = 1.0
"""What has run for a shorter time has no rate."""
NOT_RUNNING: Final = "no process fetches them"


class LongestQueue(msgspec.Struct, frozen=True):
    """The longest queue that is served."""

    host: str
    size: int
    s_per_url: float
    """How long each of its URLs takes."""


def share_done(stats: FrontierStats) -> float | None:
    """The share of the known URLs that are settled: 0 to 1; None if no URL is known."""
    return stats.settled / stats.admitted if stats.admitted else None


def estimate(urls: int, *, settled: int, over_s: float, longest: LongestQueue | None, idle_s: float = 0.0) -> Remaining:
    """The time that `urls` take, if `settled` URLs were settled in the last `over_s` seconds, and none may be fetched
    in the next `idle_s`."""
    if not urls:
        return nothing_left()
    if over_s < LEAST_S:
        return no_estimate(urls, "the run has just begun")
    of_host = None if longest is None else longest.size * longest.s_per_url
    if settled <= 0:
        return no_estimate(urls, f"no URL was settled in the last {duration(over_s)}")
    seconds = max(urls * over_s / settled, idle_s)
    if longest is not None and of_host is not None and of_host > seconds:
        return Remaining(urls=urls, seconds=of_host, host=longest.host)
    return Remaining(urls=urls, seconds=seconds)


def nothing_left() -> Remaining:
    return Remaining(urls=0, seconds=0.0)


def no_estimate(urls: int, why: str) -> Remaining:
    return Remaining(urls=urls, seconds=None, why=why) if urls else nothing_left()


def of_parts(parts: Sequence[Remaining], *, silent: int) -> Remaining:
    """The rest of a crawl in parts, which all work at the same time: the last one decides. `silent` parts do not
    answer."""
    urls = sum(each.urls for each in parts)
    reasons = dict.fromkeys(each.why for each in parts if each.why is not None)
    if silent:
        return Remaining(urls=urls, seconds=None, why=f"{number_of(silent, 'part')} can't tell")
    if reasons:
        all_say_so = len(reasons) == 1 and all(each.why is not None or not each.urls for each in parts)
        why = next(iter(reasons)) if all_say_so else f"of some parts: {'; '.join(reasons)}"
        return Remaining(urls=urls, seconds=None, why=why)
    longest = max(parts, key=lambda each: each.seconds or 0.0)
    return Remaining(urls=urls, seconds=longest.seconds, host=longest.host)
