"""When the directory of a crawl becomes free, whether somebody has had its lock meanwhile, and whether that is gone."""

import asyncio
import fcntl
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from crawler.disk.directory import CrawlDirectory, DirectoryInUse
from crawler.disk.layout import part_directories

log = logging.getLogger(__name__)

CHECK_INTERVAL_S: Final = 5.0
"""No event announces that a directory was deleted on another machine, so it must be polled."""

COMMANDS_S: Final = 10.0
"""For how long a crawl waits for commands that read or change it. Most take less than a second."""
_LOOK_AGAIN_S: Final = 0.05


class LockCheck:
    """Finds out whether a directory that this process has locked was deleted, moved or replaced. What a crawl writes
    after that belongs to no crawl, and another process may lock the place."""

    def __init__(self, directory: CrawlDirectory) -> None:
        self._directory = directory
        self._lock = self._found()

    async def check(self) -> float:
        """Look once. Returns after how many seconds to look again. Raises `OSError` if the lock is gone."""
        try:
            found = self._found()
        except OSError:  # as of a network disk whose server is down
            return CHECK_INTERVAL_S
        if found != self._lock:
            raise OSError(
                f"the directory of the crawl, {self._directory.path}, was deleted, moved or replaced while the crawl "
                "ran, so the crawl ends"
            )
        return CHECK_INTERVAL_S

    def _found(self) -> tuple[int, int] | None:
        try:
            status = self._directory.lock.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return status.st_dev, status.st_ino


@contextmanager
def locked_to_run(path: Path) -> Iterator[CrawlDirectory]:
    """The directory of a crawl that is to run, locked in this context. A command that reads or changes the crawl is
    waited for. Raises `DirectoryRefused`."""
    directory = CrawlDirectory(path)
    with ExitStack() as stack:
        for pause_s in _attempts(directory, stack):
            time.sleep(pause_s)
        yield directory


@asynccontextmanager
async def locked_to_run_in_loop(path: Path) -> AsyncIterator[CrawlDirectory]:
    """The same as `locked_to_run`. The event loop goes on while it waits."""
    directory = CrawlDirectory(path)
    with ExitStack() as stack:
        for pause_s in _attempts(directory, stack):
            await asyncio.sleep(pause_s)
        yield directory


def _attempts(directory: CrawlDirectory, stack: ExitStack) -> Iterator[float]:
    """Try to lock a directory until it is locked, in the context of a stack. Yields after how many seconds it tries
    again. Raises `DirectoryRefused`."""
    give_up_at, told = time.monotonic() + COMMANDS_S, 0
    while True:
        try:
            stack.enter_context(directory)
            return
        except DirectoryInUse as error:
            if not error.is_command or time.monotonic() >= give_up_at:
                raise
            if error.pid not in (None, told):
                told = error.pid
                log.warning("waiting for process %s, a command that uses the crawl in %s", told, directory.path)
        yield _LOOK_AGAIN_S


def wait_until_unlocked(path: Path) -> None:
    """Wait until no process uses the directory of a crawl, or those of its parts."""
    for directory in dict.fromkeys((path, *part_directories(path))):
        try:
            lock = CrawlDirectory(directory).lock.open("rb")
        except FileNotFoundError:
            continue
        with lock:
            fcntl.flock(lock, fcntl.LOCK_SH)


def lock_changes(directory: Path) -> tuple[int | None, ...]:
    """Differs whenever a process has taken or left a lock of the crawl in a directory meanwhile, to change it. Nobody
    changes a crawl without its lock. Raises `DirectoryRefused`."""
    return tuple(lock_change(path) for path in dict.fromkeys((directory, *part_directories(directory))))


def lock_change(directory: Path) -> int | None:
    """The same for the lock of one directory; None if that can't be told."""
    try:
        return CrawlDirectory(directory).lock.stat().st_mtime_ns
    except OSError:
        return None
