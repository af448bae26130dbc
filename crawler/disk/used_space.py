"""Measures the disk space that a crawl takes, and pauses the crawl when that is more than it may take."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

from crawler.background import Repeating
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.status import size

_log = logging.getLogger(__name__)

SHORTEST_S: Final = 2.0
LONGEST_S: Final = 60.0
_SHARE: Final = 0.25
"""The next look comes after this share of the time in which the limit would be reached at the present rate."""
RESUME_FACTOR: Final = 0.97
"""The crawl goes on once it takes less than this share of its limit. Otherwise it would stop again after each page."""
_BLOCK_BYTES: Final = 512


def growing_folders(directory: CrawlDirectory, /) -> list[Path]:
    """What grows while a crawl runs: its directory first, then folders in it, which may be links to other disks."""
    own = directory
    return [own.path, own.frontier, own.visited, own.records, own.warc, own.sinks, own.log.parent]


def used_bytes(directories: Sequence[Path]) -> int:
    """The disk space that directories take. A directory may be a link, or lie in another one; links in it are not
    followed. What goes away meanwhile is left out. Raises `OSError`."""
    places = {each.resolve() for each in directories}
    return sum(_used(path) for path in places if places.isdisjoint(path.parents))


def _used(directory: Path) -> int:
    total, folders, linked = 0, [str(directory)], set[tuple[int, int]]()
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except (FileNotFoundError, NotADirectoryError):
            continue
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif status.st_nlink > 1:  # as while the crawl is copied
                if (status.st_dev, status.st_ino) in linked:
                    continue
                linked.add((status.st_dev, status.st_ino))
            total += status.st_blocks * _BLOCK_BYTES
    return total


class UsedSpaceGuard:
    """Calls `pause` with a reason when directories take more than `max_bytes`, and `resume` when they take less again.

    The directories are read rarely while there is much room, and every few seconds when there is little. So a crawl may
    take as much more as it writes in `SHORTEST_S`, and what is in flight is still written.
    """

    def __init__(
        self,
        directories: Callable[[], Sequence[Path]],
        *,
        max_bytes: int | None,
        pause: Callable[[str], None],
        resume: Callable[[], None],
        measure: Callable[[Sequence[Path]], int] = used_bytes,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._directories = directories
        self._max_bytes = max_bytes
        self._pause = pause
        self._resume = resume
        self._measure = measure
        self._monotonic = monotonic
        self._last: tuple[float, int] | None = None
        self._rate = 0.0
        """The fastest growth lately, in bytes per second."""
        self._is_paused = False
        self._repeating = Repeating(self.check)

    def set_max_bytes(self, count: int | None) -> None:
        """This holds from the next check on, which comes at once."""
        self._max_bytes = count
        self._repeating.wake()

    def running(self) -> AbstractAsyncContextManager[None]:
        """It watches while this context lasts."""
        return self._repeating.running()

    async def check(self) -> float:
        """Look once. Returns after how many seconds to look again."""
        if self._max_bytes is None:
            self._go_on("there is no limit any more")
            return LONGEST_S
        try:
            used = await asyncio.to_thread(self._measure, self._directories())
        except (OSError, DirectoryRefused) as error:
            _log.warning("the disk space that the crawl takes is not known: %s", error)
            return LONGEST_S
        self._note(used)
        limit = self._max_bytes
        if used >= limit:
            reason = f"the crawl takes {size(used)}, and output.max_disk_bytes is {size(limit)}"
            if not self._is_paused:
                _log.warning("the crawl waits for disk space: %s", reason)
            self._is_paused = True
            self._pause(reason)
            return SHORTEST_S
        if used < limit * RESUME_FACTOR:
            self._go_on(f"the crawl takes {size(used)} of {size(limit)}")
        if self._last is None or self._rate <= 0:
            return SHORTEST_S
        return min(max(SHORTEST_S, (limit - used) / self._rate * _SHARE), LONGEST_S)

    def _go_on(self, why: str) -> None:
        if self._is_paused:
            self._is_paused = False
            _log.warning("there is disk space again (%s); the crawl goes on", why)
            self._resume()

    def _note(self, used: int) -> None:
        now = self._monotonic()
        if self._last is not None and now > self._last[0]:
            self._rate = max((used - self._last[1]) / (now - self._last[0]), self._rate / 2)
        self._last = now, used
