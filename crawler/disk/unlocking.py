"""Waits until the directory of a crawl is free."""

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
