"""The index of an archive that is being written."""

import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from crawler.write.cdxj.lines import CaptureFacts, line_of
from crawler.write.cdxj.making import OPEN, SUFFIX, index_of, make_index, write_index
from crawler.write.cdxj.sorting import lines_in

_log = logging.getLogger(__name__)
_LINES_AT_ONCE: Final = 256
"""Made one after the other, lines take a third of the time that each takes between other steps of the crawl."""


class OpenIndex:
    """Takes what the records of an archive capture, as they are written. If the disk was full, the archive alone
    counts, and the index is made from it in the end."""

    def __init__(self, archive: Path) -> None:
        """`archive` has its final name."""
        self.archive = archive
        self._path = open_index_of(archive)
        self._fd: int | None = None
        self._waiting: list[tuple[CaptureFacts, int, int]] = []
        self._is_whole = True

    def add(self, capture: CaptureFacts, *, offset: int, length: int) -> None:
        """`offset` and `length` are those of its record, compressed."""
        self._waiting.append((capture, offset, length))
        if self._fd is None or len(self._waiting) >= _LINES_AT_ONCE:
            self._write()

    def _write(self) -> None:
        name = self.archive.name
        lines = b"".join(
            line_of(capture, offset=offset, length=length, filename=name) + b"\n"
            for capture, offset, length in self._waiting
        )
        self._waiting.clear()
        try:
            if self._fd is None:
                self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
            if os.write(self._fd, lines) < len(lines):
                self._is_whole = False
        except OSError:
            self._is_whole = False

    def note_loss(self) -> None:
        """The archive has lost records that were added."""
        self._is_whole = False

    def finish(self) -> bool:
        """Sort the index, when the archive is complete. It blocks. If that fails, it returns false and may be repeated:
        the index stays open, and the next start makes it at the latest."""
        try:
            self.close()
            if not self._is_whole:
                make_index(self.archive)
            elif self._path.exists():
                with self._path.open("rb") as file:
                    write_index(self.archive, lines_in(file))
            self._path.unlink(missing_ok=True)
        except OSError as error:
            _tell_failure(self.archive, error)
            return False
        return True

    def close(self) -> None:
        """Leave the index open, because its archive is in doubt: the next opening makes it anew."""
        if self._fd is not None:
            self._write()
            os.close(self._fd)
            self._fd = None

    def remove(self) -> None:
        """There is no archive after all."""
        self.close()
        self._path.unlink(missing_ok=True)


def open_index_of(archive: Path) -> Path:
    index = index_of(archive)
    return index.with_name(index.name + OPEN)


def finish_open_indexes(directory: Path, completed: Iterable[Path] = ()) -> None:
    """Make the indexes that a crash left open, and those that lack of archives that were `completed` just now. The
    archive alone counts: if the disk is full, the next opening makes them."""
    opened = {path.with_name(path.name.removesuffix(SUFFIX + OPEN)) for path in directory.glob(f"*{SUFFIX}{OPEN}")}
    for archive in sorted(opened.union(completed)):
        try:
            if archive.exists() and (archive in opened or not index_of(archive).exists()):
                make_index(archive)
            open_index_of(archive).unlink(missing_ok=True)
        except OSError as error:
            _tell_failure(archive, error)


def _tell_failure(archive: Path, error: OSError) -> None:
    """The next opening looks for open indexes."""
    advice = "the next start makes it at the latest"
    try:
        open_index_of(archive).touch()
    except OSError:
        advice = f"to have it made at the next start, free some space and make an empty file {open_index_of(archive)}"
    _log.warning("the index of %s could not be written (%s); %s", archive, error, advice)
