"""What a running crawl tells about its course."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from crawler.course.remaining import RECENT_S
from crawler.operate.course import CourseKeeper, read_history
from frontier import QueueStatus
from tests.frontier_stats import frontier_stats

STATS = frontier_stats(admitted=10, pending=8, done=2, ready_queues=1)


class Queues:
    """What can tell about two queues, one of which is retired."""

    def queue(self, key: str, /) -> QueueStatus | None:
        return next((each for each in self.queues() if each.key == key), None)

    def queues(self) -> Iterator[QueueStatus]:
        yield QueueStatus(key="test,a", size=5, pace_s=1_000.0, served=True)
        yield QueueStatus(key="test,b", size=90, pace_s=9_000.0, served=False)

    def next_urls(self, key: str, /) -> Iterator[object]:
        return iter(())


async def keep_for_a_moment(keeper: CourseKeeper) -> None:
    keeping = asyncio.ensure_future(keeper.keep())
    await asyncio.sleep(0.01)
    keeping.cancel()
    with suppress(asyncio.CancelledError):
        await keeping


async def test_a_crawl_that_was_stopped_keeps_its_course(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "course.json"
    stats = [STATS]
    keeper = CourseKeeper(lambda: stats[-1], lambda: stats[-1].settled, object(), path)
    await keep_for_a_moment(keeper)
    stats.append(replace(STATS, done=7, pending=3))
    await keep_for_a_moment(keeper)
    points = read_history(path).points
    assert [(each.discovered, each.finished) for each in (points[0], points[-1])] == [(10, 2), (10, 7)]


async def test_a_slow_host_decides_and_a_pause_leaves_nobody_to_tell(tmp_path: Path) -> None:
    now, settled = [0.0], [0]
    path = tmp_path / "course.json"
    keeper = CourseKeeper(lambda: STATS, lambda: settled[0], Queues(), path, monotonic=lambda: now[0])
    await keep_for_a_moment(keeper)
    assert keeper.remaining(STATS).why == "the run has just begun"
    now[0], settled[0] = 60.0, 4
    found = keeper.remaining(replace(STATS, done=6, pending=4))
    assert (found.urls, found.seconds, found.host, found.why) == (4, 5_000.0, "a.test", None)
    assert keeper.remaining(replace(STATS, paused="the disk is full")).why == "the crawl is paused"
    now[0], settled[0] = RECENT_S, 0
    assert keeper.remaining(STATS).why == "no URL was settled in the last 10 min 0 s"


async def test_urls_that_are_visited_again_count_for_the_rate(tmp_path: Path) -> None:
    now, settled = [0.0], [0]
    path = tmp_path / "course.json"
    keeper = CourseKeeper(lambda: STATS, lambda: settled[0], object(), path, monotonic=lambda: now[0])
    now[0], settled[0] = 60.0, 120
    assert keeper.remaining(replace(STATS, done=2, pending=8)).seconds == 4.0


async def test_the_rest_takes_at_least_until_the_next_url_is_tried_again(tmp_path: Path) -> None:
    now, settled = [0.0], [0]
    path = tmp_path / "course.json"
    keeper = CourseKeeper(lambda: STATS, lambda: settled[0], object(), path, monotonic=lambda: now[0])
    now[0], settled[0] = 60.0, 120
    waits = replace(STATS, done=8, pending=0, retrying=2, ready_queues=0, next_wake_s=244.0)
    assert keeper.remaining(waits).seconds == 244.0
    assert keeper.remaining(replace(waits, pending=6, ready_queues=1)).seconds == 4.0
