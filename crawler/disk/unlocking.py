"""When the directory of a crawl becomes free, whether somebody has had its lock meanwhile, and whether that is gone."""

import fcntl
from pathlib import Path
from typing import Final

from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import part_directories

CHECK_INTERVAL_S: Final = 5.0
"""No event announces that a directory was deleted on another machine, so it must be polled."""


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
    return tuple(_lock_change(path) for path in dict.fromkeys((directory, *part_directories(directory))))


def _lock_change(directory: Path) -> int | None:
    try:
        return CrawlDirectory(directory).lock.stat().st_mtime_ns
    except OSError:
        return None
