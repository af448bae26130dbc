"""Keeps the course of a crawl while it runs, and reads it from the directory of any crawl."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.control.replies import CrawlStatus
from crawler.course.forms import CoursePoint, Remaining
from crawler.course.history import History, Point, together
from crawler.course.remaining import RECENT_S, LongestQueue, estimate, no_estimate
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import part_directories
from crawler.files.content import read_file
from crawler.operate.actions.slices import in_slices
from crawler.page import rfc3339
from crawler.status import host_of
from frontier import FrontierStats, QueueReads, QueueStatus

log = logging.getLogger(__name__)
FIRST_S: Final = 1.0
INTERVAL_S: Final = 10.0
_SHARE_OF_TIME: Final = 0.01
"""How much of the time goes into looks for the longest queue, of which there may be millions."""


def read_history(path: Path) -> History:
    """The history in a file; an empty one if that is missing or damaged, because a crawl can do without."""
    try:
        return msgspec.json.decode(read_file(path), type=History)
    except (OSError, *UNREADABLE):
        return History()


def write_history(path: Path, history: History) -> None:
    """Replace the file as a whole. On a full disk it stays as it is."""
    new = path.with_suffix(".new")
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        try:
            new.write_bytes(msgspec.json.encode(history))
            new.replace(path)
        except OSError:
            new.unlink(missing_ok=True)


class CourseKeeper:
    """The course of a crawl that this process runs."""

    def __init__(
        self,
        stats: Callable[[], FrontierStats],
        settled: Callable[[], int],
        state: object,
        path: Path,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`settled` is how often this process has settled a URL. Reads queues from `state`, if that can tell about
        them, and keeps the history at `path`."""
        self._stats = stats
        self._settled = settled
        self._reads = state if isinstance(state, QueueReads) else None
        self._path = path
        self._monotonic = monotonic
        self._history = read_history(path)
        self._recent: deque[tuple[float, int]] = deque([(self._monotonic(), settled())])
        self._queue: QueueStatus | None = None
        self._look_at = -1.0
        self._pace = _Pace()

    async def keep(self) -> None:
        """Keep it until cancelled. A crawl goes on without."""
        interval_s = FIRST_S
        try:
            while True:
                self._observe()
                await self._find_longest()
                write_history(self._path, self._history)
                await asyncio.sleep(interval_s)
                interval_s = min(INTERVAL_S, 2 * interval_s)
        except Exception:
            log.exception("the course of the crawl can't be kept any more; the crawl goes on")
        finally:
            self._observe(is_last=True)
            write_history(self._path, self._history)

    def remaining(self, stats: FrontierStats) -> Remaining:
        if stats.paused is not None:
            return no_estimate(stats.queued, "the crawl is paused")
        at, before = self._recent[0]
        settled, over_s = self._settled() - before, self._monotonic() - at
        may_begin = stats.ready_queues or stats.in_process_queues or stats.inactive_queues
        idle_s = 0.0 if may_begin else stats.next_wake_s or 0.0
        return estimate(stats.queued, settled=settled, over_s=over_s, longest=self._longest(), idle_s=idle_s)

    def _observe(self, *, is_last: bool = False) -> None:
        stats, now = self._stats(), self._monotonic()
        self._history.add(Point(time.time(), stats.admitted, stats.settled), is_last=is_last)
        self._recent.append((now, self._settled()))
        while len(self._recent) > 2 and self._recent[1][0] <= now - RECENT_S:
            self._recent.popleft()

    async def _find_longest(self) -> None:
        began = self._monotonic()
        if self._reads is None or began < self._look_at:
            return
        longest: QueueStatus | None = None
        async for queue in in_slices(self._reads.queues()):
            if queue.served and (longest is None or queue.size > longest.size):
                longest = queue
        now = self._monotonic()
        self._look_at = now + (now - began) / _SHARE_OF_TIME
        self._queue = longest
        if longest is not None:
            self._pace.add(longest.key, longest.spent, now)

    def _longest(self) -> LongestQueue | None:
        queue = self._queue
        if queue is None:
            return None
        return LongestQueue(host_of(queue.key), queue.size, self._pace.s_per_url or queue.pace_s)


class _Pace:
    """How long each URL of a queue takes, from what was spent on it since it became the longest one."""

    def __init__(self) -> None:
        self._key = ""
        self._first = self._last = (0.0, 0)

    def add(self, key: str, spent: int, now: float) -> None:
        if key != self._key or spent < self._first[1] or now - self._first[0] > 2 * RECENT_S:
            self._key, self._first = key, (now, spent)
        self._last = now, spent

    @property
    def s_per_url(self) -> float | None:
        (since, before), (now, spent) = self._first, self._last
        return (now - since) / (spent - before) if spent > before else None


def course_of(directory: Path, status: CrawlStatus) -> list[CoursePoint]:
    """What the crawl in a directory, or its parts, had discovered and finished over time, until that status if that
    counts all of it."""
    histories = [read_history(CrawlDirectory(each).course).points for each in part_directories(directory)]
    points = together([each for each in histories if each]) if any(histories) else []
    now = Point(time.time(), status.frontier.admitted, status.frontier.settled)
    is_of_all = all(each.status is not None for each in status.parts or ())
    has_changed = bool(points) and (now.discovered, now.finished) != (points[-1].discovered, points[-1].finished)
    if points and is_of_all and (status.running or has_changed):
        points.append(now)
    return [CoursePoint(at=rfc3339(each.at), discovered=each.discovered, finished=each.finished) for each in points]
