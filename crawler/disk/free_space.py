"""Watches the free disk, and has the crawl wait before something fails for want of room."""

import asyncio
import logging
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from crawler.status import size

log = logging.getLogger(__name__)

LOOK_EVERY_S = 5.0
"""Nothing tells when a disk gets full; a crawl writes some 10 MB in that time."""
ENOUGH = 1.1
"""Times the least: so much must be free again before the crawl goes on, or it would stop with every page."""


def free_bytes(path: Path) -> int:
    return shutil.disk_usage(path).free


class FreeSpaceGuard:
    """Calls `hold` with a reason while less than `min_free_bytes` is free in one of the directories, and `let_go` when
    there is room again. Looks from `start` until `close`."""

    def __init__(
        self,
        directories: Sequence[Path],
        *,
        min_free_bytes: int,
        hold: Callable[[str], None],
        let_go: Callable[[], None],
        free: Callable[[Path], int] = free_bytes,
        every_s: float = LOOK_EVERY_S,
    ) -> None:
        self._directories = directories
        self._min_free_bytes = min_free_bytes
        self._hold = hold
        self._let_go = let_go
        self._free = free
        self._every_s = every_s
        self._holds = False
        self._unknown: set[Path] = set()
        """Directories that could not be asked when they were looked at last."""
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._look()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        # First, so that whatever happens here is not the last look.
        self._timer = asyncio.get_running_loop().call_later(self._every_s, self._look)
        found = [(self._ask(directory), directory) for directory in self._directories]
        free, directory = min(((free, path) for free, path in found if free is not None), default=(None, None))
        if free is None:
            return
        if free < self._min_free_bytes and not self._holds:
            self._holds = True
            reason = f"{size(free)} free in {directory}, less than output.min_free_bytes ({size(self._min_free_bytes)})"
            log.warning("the crawl waits for room: %s", reason)
            self._hold(reason)
        elif self._holds and not self._unknown and free >= self._min_free_bytes * ENOUGH:
            self._holds = False
            log.warning("there is room again (%s free in %s); the crawl goes on", size(free), directory)
            self._let_go()

    def _ask(self, directory: Path) -> int | None:
        """None where nothing is known, as of a network disk whose server is away."""
        try:
            free = self._free(directory)
        except OSError as error:
            if directory not in self._unknown:
                log.warning("the free room of %s can't be asked for: %s", directory, error.strerror or error)
            self._unknown.add(directory)
            return None
        self._unknown.discard(directory)
        return free
