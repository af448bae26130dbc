"""Brings the files of a crawl onto the disk, so that they survive a power failure."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from crawler.disk.directory import CrawlDirectory

_OUTPUT: Final = (".jsonl", ".warc.gz", ".warc.gz.open")


class SyncFailed(OSError):
    """A file could not be synced."""


class FileSync:
    """Syncs the files of a crawl. One that has not changed since is left out the next time.

    A system may forget what it failed to write, so that another sync would succeed and prove nothing. So after a
    failure there is none.
    """

    def __init__(self, directory: CrawlDirectory) -> None:
        self._directory = directory
        self._synced: dict[tuple[int, int], tuple[int, int]] = {}
        """The size and the time of files that are on the disk, by device and inode."""
        self._failure: str | None = None

    def newest_files(self) -> dict[str, int]:
        """The newest files of records and archive, as named below the directory, and their sizes."""
        found = {}
        for folder in (self._directory.records, self._directory.warc):
            written = []
            for entry in _files_in(folder) if folder.is_dir() else ():
                with suppress(FileNotFoundError):  # pruned meanwhile
                    if entry.name.endswith(_OUTPUT):
                        written.append((entry.stat().st_mtime_ns, entry.name, entry.stat().st_size))
            if written:
                _, name, size = max(written)
                found[f"{folder.name}/{name}"] = size
        return found

    def sync(self) -> None:
        """Bring everything onto the disk that is written now. Blocks. Raises `SyncFailed`."""
        if self._failure is not None:
            raise SyncFailed(
                f"an earlier sync failed, so that nobody can tell what is on the disk: {self._failure}; stop the "
                "crawl, check the disk, and start it again"
            )
        try:
            # What is gone before it is opened may have got another name.
            while not self._sync_changed():
                pass
        except OSError as error:
            self._failure = f"{error.filename}: {error.strerror}"
            raise SyncFailed(f"can't bring everything onto the disk: {self._failure}") from error

    def _sync_changed(self) -> bool:
        """Sync what has changed. Returns whether all was still there."""
        kept: dict[tuple[int, int], tuple[int, int]] = {}
        try:
            for folder in self._folders():
                for entry in _files_in(folder):
                    status = entry.stat()
                    identity, form = (status.st_dev, status.st_ino), (status.st_size, status.st_mtime_ns)
                    if self._synced.get(identity) != form:
                        _sync(entry.path)
                    kept[identity] = form
                _sync(folder)
        except FileNotFoundError:
            self._synced |= kept
            return False
        self._synced = kept
        return True

    def _folders(self) -> Iterator[Path]:
        """All folders of the crawl. A link leads to another disk."""
        top = self._directory.path
        yield top
        for entry in sorted(top.iterdir()):
            if entry.is_dir() and entry != self._directory.browsers:
                yield from (Path(path) for path, _, _ in os.walk(entry))


def _files_in(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return [each for each in entries if each.is_file(follow_symlinks=False)]


def _sync(path: str | Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        os.close(descriptor)
