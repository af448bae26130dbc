"""Repairs the archives that a crash left open."""

import logging
import os
import re
from pathlib import Path
from typing import Final

from crawler.write.appending import sync_directory
from crawler.write.gzip_members import copy_stretches, stretches
from crawler.write.warc_records import NUMBER_FIELD, PURPOSE_FIELD

_log = logging.getLogger(__name__)
_OPEN: Final = ".open"
_SERIAL: Final = re.compile(r"-(\d{5,})\.warc\.gz(?:\.open)?$")
_MARKS: Final = tuple(f"\r\n{name}: ".encode() for name in (NUMBER_FIELD, PURPOSE_FIELD))


def finish_open_file(path: Path) -> tuple[int, int]:
    """Repair a file that a crash left open, and rename it; returns the bytes cut off, and those moved aside.

    Removes the old file last, so that the next opening repeats this if it is interrupted."""
    _log.info("%s: looking for the last intact record of a file that a crash left open", path)
    found = list(stretches(path, is_ours=is_ours))
    kept = [stretch for stretch in found if stretch.is_intact]
    damaged = [stretch for stretch in found if not stretch.is_intact and not stretch.torn]
    torn_bytes = sum(stretch.end - stretch.start for stretch in found if stretch.torn)
    final = path.with_name(path.name.removesuffix(_OPEN))
    if torn_bytes:
        _log.warning("%s: cut off %d bytes of a record that a crash left incomplete", path, torn_bytes)
    for stretch in damaged:
        aside = final.with_name(f"{final.name.removesuffix('.warc.gz')}.damaged-{stretch.start}")
        copy_stretches(path, aside, [stretch])
        _log.warning(
            "%s: %d bytes at byte %d are damaged, and moved to %s; the records before and after them are kept",
            path,
            stretch.end - stretch.start,
            stretch.start,
            aside.name,
        )
    if not kept:
        path.unlink()
    elif not damaged:
        os.truncate(path, kept[-1].end)
        path.rename(final)
    else:
        repaired = final.with_name(f"{final.name}.mended")
        copy_stretches(path, repaired, kept)
        repaired.rename(final)
        path.unlink()
    sync_directory(path.parent)
    return torn_bytes, sum(stretch.end - stretch.start for stretch in damaged)


def is_ours(head: bytes) -> bool:
    """Whether this is the head of a WARC record that we wrote. A page may contain records of other crawlers."""
    fields = head.partition(b"\r\n\r\n")[0]
    return fields.startswith(b"WARC/1.1\r\n") and any(mark in fields for mark in _MARKS)


def next_serial(directory: Path) -> int:
    """A number that no file of the directory has."""
    serials = (_SERIAL.search(path.name) for path in directory.iterdir())
    return max((int(match[1]) + 1 for match in serials if match), default=0)
