"""Watches the free space of the disk, and pauses the crawl before a write fails because the disk is full."""

import logging
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path

from crawler.background import Repeating
from crawler.status import size

log = logging.getLogger(__name__)

DISK_IS_FULL = "the disk is full"
"""Whatever ends because of that says so in these words."""
CHECK_INTERVAL_S = 5.0
"""No event announces a full disk, so it must be polled. In this time a crawl writes about 10 MB."""
RESUME_FACTOR = 1.1
"""The crawl goes on once this many times the minimum is free. Otherwise it would stop again after each page."""


def free_bytes(path: Path) -> int:
    return shutil.disk_usage(path).free


def one_on_each_disk(directories: Iterable[Path], /) -> list[Path]:
    """The first of the directories on each disk: any of them may be a link. One that is missing is on none."""
    found: dict[int, Path] = {}
    for directory in directories:
        with suppress(OSError):
            found.setdefault(directory.stat().st_dev, directory)
    return list(found.values())


class FreeSpaceGuard:
    """Calls `pause` with a reason when less than `min_free_bytes` is free in one of the directories, again when the
    reason changes, and `resume` when there is space again."""

    def __init__(
        self,
        directories: Sequence[Path],
        *,
        min_free_bytes: int,
        pause: Callable[[str], None],
        resume: Callable[[], None],
        free: Callable[[Path], int] = free_bytes,
        interval_s: float = CHECK_INTERVAL_S,
    ) -> None:
        self._directories = directories
        self.min_free_bytes = min_free_bytes
        """It may be changed, which holds from the next check on."""
        self._pause = pause
        self._resume = resume
        self._free = free
        self._interval_s = interval_s
        self._reason: str | None = None
        """Why the crawl is paused; None if it is not."""
        self._unknown: set[Path] = set()
        """Directories whose free space was not known at the last check."""
        self._repeating = Repeating(self._check)

    def running(self) -> AbstractAsyncContextManager[None]:
        """It watches while this context lasts."""
        return self._repeating.running()

    async def _check(self) -> float:
        """Look once. Returns after how many seconds to look again."""
        found = [(self._free_bytes(directory), directory) for directory in self._directories]
        free, directory = min(((free, path) for free, path in found if free is not None), default=(None, None))
        if free is None:
            return self._interval_s
        least, enough = self.min_free_bytes, self.min_free_bytes * RESUME_FACTOR
        if free < least:
            self._wait(f"{size(free)} free in {directory}, less than output.min_free_bytes ({size(least)})")
        elif self._reason is not None and not self._unknown:
            if free < enough:
                more = f"it goes on when {size(enough)} are, a tenth more than output.min_free_bytes"
                self._wait(f"{size(free)} free in {directory}; {more}")
            else:
                self._reason = None
                log.warning("there is disk space again (%s free in %s); the crawl goes on", size(free), directory)
                self._resume()
        return self._interval_s

    def _wait(self, reason: str) -> None:
        if self._reason is None:
            log.warning("the crawl waits for disk space: %s", reason)
        if self._reason != reason:
            self._reason = reason
            self._pause(reason)

    def _free_bytes(self, directory: Path) -> int | None:
        """None if the system can't tell, as for a network disk whose server is down."""
        try:
            free = self._free(directory)
        except OSError as error:
            if directory not in self._unknown:
                log.warning("the free space of %s is not known: %s", directory, error.strerror or error)
            self._unknown.add(directory)
            return None
        self._unknown.discard(directory)
        return free
