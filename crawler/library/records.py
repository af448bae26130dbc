"""Where a program finds the records of a crawl."""

import os
from pathlib import Path

from crawler.disk import layout
from crawler.operate.opening import has_crawl, no_crawl


def record_directories(directory: str | os.PathLike[str], part: int | None = None) -> list[Path]:
    """The directories that hold page records of a crawl, those of its parts included, or those that hold what belongs
    to one part. The oldest come first. Raises `DirectoryRefused`, also where there is no crawl."""
    found = layout.record_directories(path := Path(directory), part)
    if not found and not has_crawl(path):
        raise no_crawl(path)
    return found
