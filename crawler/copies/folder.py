"""The folder in which a crawl is kept as it was while it is copied: for one process at a time."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crawler.disk.directory import COPYING, CrawlDirectory
from crawler.disk.permissions import lock_now, why_not_writable
from crawler.files.folders import is_open_as, opened_folder


class CopyRefused(Exception):
    """There is no copy to make or to read. Nothing was changed. The message says why, and what to do."""


@contextmanager
def frozen_folder(directory: CrawlDirectory) -> Iterator[None]:
    """A context in which a crawl can be frozen, by this process or another. Deletes what was frozen, also what an
    earlier one has left. Raises `CopyRefused` if another process copies the crawl."""
    folder = directory.path / COPYING
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise CopyRefused(why_not_writable(directory.path) or f"{folder} can't be made: {error.strerror}") from error
    with opened_folder(folder) as descriptor:
        in_use = f"another process copies {directory.path}: wait until it has finished"
        lock_now(descriptor, folder, refused=CopyRefused, in_use=in_use)
        if not is_open_as(descriptor, folder):
            raise CopyRefused(f"another process has just copied {directory.path}: try again")
        _empty(folder)
        try:
            yield
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def check_no_file(path: Path) -> None:
    """Raise `CopyRefused` if a file is where a folder is to be."""
    if path.exists() and not path.is_dir():
        raise CopyRefused(f"expected a folder, or a new name for one; found a file: {path}")


def files_below(directory: Path) -> Iterator[Path]:
    """All files. Folders may be there, as those where other disks are mounted."""
    for folder, _, names in os.walk(directory):
        yield from (Path(folder) / name for name in names)


def delete_leftovers(directory: CrawlDirectory) -> None:
    """Delete what a process has frozen that was killed. Its links keep deleted files on the disk."""
    with suppress(CopyRefused):
        if (directory.path / COPYING).exists():
            with frozen_folder(directory):
                pass


def _empty(folder: Path) -> None:
    for path in list(folder.iterdir()):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
