"""Repairs files of records: the end that a crash tore, and lines that a disk damaged."""

import logging
import os
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.files.folders import sync_directory
from crawler.page import PageRecord
from crawler.write.gzip_members import Stretch, bytes_text, copy_stretches, set_aside

_log = logging.getLogger(__name__)
_BLOCK_BYTES: Final = 1 << 16
_TRUNCATED: Final = "Input data was truncated"


def repair_tail(path: Path) -> None:
    """Cut the file after its last complete line. What is damaged behind that is moved aside."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        end = _last_line_end(file, size)
        if end == size:
            return
        file.seek(end)
        tail = file.read()
        for length in (len(tail), len(tail) - 1):
            if _is_record(tail[:length]):  # only its line end is missing or damaged
                file.seek(end + length)
                file.write(b"\n")
                return
        if _is_beginning(tail):
            file.truncate(end)
            _log.warning("%s: cut off %s of a record that a crash left incomplete", path, bytes_text(size - end))
            return
        aside = set_aside(path, path.name, Stretch(end, size, is_intact=False))
        file.truncate(end)
        _log.warning("%s: damage of %s at byte %d was moved to %s", path, bytes_text(size - end), end, aside.name)


def mend_records(path: Path, *, is_newest: bool) -> list[Path]:
    """Move the lines of a file that can't be decoded aside; returns the files that hold them now. The next start of the
    crawl repairs the end of its newest file, so this leaves that. Raises `OSError`."""
    found: list[Stretch] = []
    at = 0
    with path.open("rb") as lines:
        for line in lines:
            is_intact = _is_record(line) or (is_newest and not line.endswith(b"\n"))
            is_more = bool(found) and found[-1].is_intact == is_intact
            start = found.pop().start if is_more else at
            at += len(line)
            found.append(Stretch(start, at, is_intact))
    damaged = [stretch for stretch in found if not stretch.is_intact]
    asides = [set_aside(path, path.name, stretch) for stretch in damaged]
    if damaged:
        mended = path.with_name(f"{path.name}.mended")
        copy_stretches(path, mended, [stretch for stretch in found if stretch.is_intact])
        mended.rename(path)
        sync_directory(path.parent)
    return asides


def _last_line_end(file: BinaryIO, size: int) -> int:
    end = size
    while end > 0:
        start = max(0, end - _BLOCK_BYTES)
        file.seek(start)
        newline = file.read(end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def _is_record(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=PageRecord)
    except UNREADABLE:
        return False
    return True


def _is_beginning(tail: bytes) -> bool:
    """Whether this is the beginning of a line: then msgspec reports it as truncated, otherwise as wrong."""
    try:
        msgspec.json.decode(tail)
    except UNREADABLE as error:
        return str(error) == _TRUNCATED
    return False
