"""Statuses of crawls, as the daemon gets them."""

import msgspec

from crawler.control.replies import CrawlStatus, PartStatus
from crawler.counters import Counters
from crawler.page import ConnectionCounts
from crawler.status import status_of
from tests.frontier_stats import frontier_stats
from visited import VisitedStats

FRONTIER = frontier_stats(
    admitted=100,
    pending=40,
    in_process=3,
    retrying=2,
    done=50,
    failed=5,
    excluded=3,
    ready_queues=4,
    in_process_queues=3,
    snoozed_queues=7,
    held_back_queues=1,
    inactive_queues=9,
    retired_queues=2,
    troubled_queues=1,
)
VISITED = VisitedStats(
    backend="bloom",
    count=100,
    capacity=1000,
    memory_bytes=5000,
    fill=0.25,
    false_positive_rate=0.001,
    expected_lost=0.5,
)


def counted(pages: int) -> Counters:
    """What a process has counted that has fetched so many pages, with a failure and an error for each ten of them."""
    counters = Counters()
    counters.pages = pages
    counters.bytes_received = 1000 * pages
    counters.responses.update({200: pages, 301: pages // 5, 404: pages // 10, 999: pages // 10})
    counters.failures.update({"timeout": pages // 10, "status-404": pages // 10, "999": pages // 10})
    counters.read_in_part = pages // 10
    counters.truncated.update({"length": pages // 10, "time": pages // 50})
    counters.links, counters.admitted = 40 * pages, 4 * pages
    counters.refused.update({"scope": 2 * pages, "trap": pages})
    return counters


def told(
    pages: int,
    *,
    pid: int = 7,
    elapsed_s: float = 10.0,
    directory: str = "/crawl",
    visited: VisitedStats = VISITED,
) -> CrawlStatus:
    """What a crawl tells, or a part of one."""
    run = status_of(counted(pages), FRONTIER, visited, elapsed_s=elapsed_s, recent_pages_per_s=0.0, monotonic=elapsed_s)
    counts = ConnectionCounts(opened=20, reused=30, tls_handshakes=15, tls_resumed=10)
    run = msgspec.structs.replace(run, connections=counts)
    return CrawlStatus(directory=directory, running=True, pid=pid, paused=None, frontier=FRONTIER, run=run)


def in_parts(**parts: CrawlStatus | None) -> CrawlStatus:
    """What a crawl in parts tells: `part_0=told(…)`, or None for a part that does not answer."""
    listed = [
        PartStatus(part=int(name.removeprefix("part_")), directory="/crawl/part", status=status)
        for name, status in parts.items()
    ]
    whole = next(each for each in parts.values() if each is not None)
    return msgspec.structs.replace(whole, pid=1, parts=listed)
