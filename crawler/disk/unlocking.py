"""When the directory of a crawl becomes free, and whether somebody has had its lock meanwhile."""

import fcntl
from pathlib import Path

from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import part_directories


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
