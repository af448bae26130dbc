"""How long the rest of a crawl will take. Pure.

Two things decide: the rate of the crawl, and the pace of the host with the most URLs, which no rate can hurry. Neither
knows the URLs that are still to be found.
"""

from datetime import datetime
from typing import Final

import msgspec

from crawler.operate.report.counting import HostCount
from crawler.operate.report.forms import Remaining

RECENT_S: Final = 600.0
"""The rate is that of this time."""
_LEAST_S: Final = 1.0


class Queue(msgspec.Struct, frozen=True):
    """The longest queue that is served, and what is known of its host."""

    host: str
    size: int
    count: HostCount | None


def estimate(queued: int, *, recent: int, recent_s: float, longest: Queue | None) -> Remaining:
    """`recent` URLs were settled in the last `recent_s` seconds; no estimate if that is too short."""
    if not queued:
        return Remaining(urls=0, seconds=0.0, host=None)
    seconds = queued * recent_s / recent if recent and recent_s >= _LEAST_S else None
    of_host = None if longest is None else _of_host(longest)
    if seconds is None or longest is None or of_host is None or of_host <= seconds:
        return Remaining(urls=queued, seconds=seconds, host=None)
    return Remaining(urls=queued, seconds=of_host, host=longest.host)


def _of_host(longest: Queue) -> float | None:
    """How long the URLs of a host take at the pace that it has had."""
    count = longest.count
    if count is None or count.urls < 2 or count.clock.first_at is None or count.clock.last_at is None:
        return None
    first, last = (datetime.fromisoformat(each) for each in (count.clock.first_at, count.clock.last_at))
    return longest.size * (last - first).total_seconds() / (count.urls - 1)
