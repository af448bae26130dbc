"""Repairs the archives that a crash left open, and those that were damaged later."""

import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from crawler.files.folders import sync_directory
from crawler.write.cdxj.heads import capture_of, may_follow
from crawler.write.cdxj.making import final_path, index_of, serial_of
from crawler.write.cdxj.open_index import OpenIndex, finish_open_indexes, open_index_of
from crawler.write.gzip_members import (
    HEAD_BYTES,
    GzipMember,
    Stretch,
    bytes_text,
    copy_stretches,
    members,
    set_aside,
    stretches,
)
from crawler.write.warc_records import NUMBER_FIELD, PURPOSE_FIELD

_log = logging.getLogger(__name__)
_COMPARED_BYTES: Final = 1 << 20
_MARKS: Final = tuple(f"\r\n{name}: ".encode() for name in (NUMBER_FIELD, PURPOSE_FIELD))


def finish_open_file(path: Path, *, with_index: bool) -> None:
    """Repair a file that a crash left open, and rename it.

    With `with_index`, the same reading makes the file's index, unless parts of the file are damaged: `make_index` does
    it then. (For 257 MB, two readings took 6.9 s of processor time, one takes 4.5.)

    Removes the old file last, so that the next opening repeats this if it is interrupted. Never replaces a complete
    file: whoever copies a directory twice while a crawl writes it may have both."""
    _log.info("%s: looking for the last intact record of a file that a crash left open", path)
    final = final_path(path)
    if final.exists():
        _remove_leftover(path, final)
        return
    index = OpenIndex(final) if with_index else None
    if index is not None:
        index.remove()  # its last lines may be lost, or of records that are torn
    with path.open("rb") as file:
        found = list(
            stretches(_indexed(members(file, is_ours=is_ours, may_follow=may_follow, max_bytes=HEAD_BYTES), index))
        )
    kept = [stretch for stretch in found if stretch.is_intact]
    damaged = [stretch for stretch in found if not stretch.is_intact and not stretch.torn]
    torn_bytes = sum(stretch.end - stretch.start for stretch in found if stretch.torn)
    if torn_bytes:
        _log.warning("%s: cut off %s of a record that a crash left incomplete", path, bytes_text(torn_bytes))
    for stretch, aside in zip(damaged, _copy_aside(path, final, damaged), strict=True):
        _log.warning(
            "%s: damage of %s at byte %d was moved to %s; the records before and after it are kept",
            path,
            bytes_text(stretch.end - stretch.start),
            stretch.start,
            aside.name,
        )
    if not kept:
        path.unlink()
    elif not damaged:
        with path.open("r+b") as file:
            file.truncate(kept[-1].end)
            os.fsync(file.fileno())  # records that follow may refer to those that the crash left unsynced
        path.rename(final)
    else:
        _keep(path, final, kept)
        path.unlink()
    sync_directory(path.parent)
    if index is not None and kept and not damaged:
        index.finish()
    elif index is not None:
        index.close()


def _remove_leftover(path: Path, final: Path) -> None:
    """Remove an open file of which there is a complete one. What that lacks is moved aside."""
    with path.open("rb") as file:
        found = list(stretches(members(file, is_ours=is_ours, may_follow=may_follow, max_bytes=HEAD_BYTES)))
    lost = [stretch for stretch in found if not stretch.is_intact and not stretch.torn]
    if not _begins_with(final, path, [stretch for stretch in found if stretch.is_intact]):
        lost = [Stretch(0, path.stat().st_size, is_intact=False)]
    asides = [aside.name for aside in _copy_aside(path, final, lost)]
    path.unlink()
    sync_directory(path.parent)
    rest = f"what it lacks was moved to {', '.join(asides)}" if asides else "it has all of that"
    _log.warning("%s was removed: %s is complete, and %s", path, final.name, rest)


def _begins_with(archive: Path, path: Path, kept: Iterable[Stretch]) -> bool:
    """Whether an archive begins with these parts of another file."""
    with archive.open("rb") as whole, path.open("rb") as file:
        for stretch in kept:
            file.seek(stretch.start)
            for at in range(stretch.start, stretch.end, _COMPARED_BYTES):
                size = min(_COMPARED_BYTES, stretch.end - at)
                if whole.read(size) != file.read(size):
                    return False
    return True


def mend_archive(path: Path) -> list[Path]:
    """Move the damaged bytes of a complete archive aside, and make its index anew, if it has one.

    Returns the files that hold these bytes now. If it is interrupted, repeat it; if the archive is intact by then, the
    next start makes the index. Raises `OSError`."""
    with path.open("rb") as file:
        found = list(stretches(members(file, is_ours=is_ours, may_follow=may_follow, max_bytes=HEAD_BYTES)))
    kept = [stretch for stretch in found if stretch.is_intact]
    asides = _copy_aside(path, path, [stretch for stretch in found if not stretch.is_intact])
    if not asides:
        return []
    index = index_of(path)
    if index.exists():
        index.rename(open_index_of(path))  # from now on it is wrong
    if kept:
        _keep(path, path, kept)
    else:
        path.unlink()
    sync_directory(path.parent)
    finish_open_indexes(path.parent)
    return asides


def _copy_aside(path: Path, final: Path, damaged: Iterable[Stretch]) -> list[Path]:
    """Copy damaged bytes to files beside the archive; returns these."""
    stem = final.name.removesuffix(".warc.gz")
    return [set_aside(path, stem, stretch) for stretch in damaged]


def _keep(path: Path, final: Path, kept: list[Stretch]) -> None:
    """Put the intact parts of a file in the place of `final`."""
    # No reader takes it for an archive.
    repaired = final.with_name(f"{final.name.removesuffix('.warc.gz')}.mended")
    copy_stretches(path, repaired, kept)
    repaired.rename(final)


def _indexed(parts: Iterable[GzipMember | Stretch], index: OpenIndex | None) -> Iterator[GzipMember | Stretch]:
    """The same parts; their captures are added to the index."""
    for part in parts:
        if index is not None and isinstance(part, GzipMember):
            capture = capture_of(part.content)
            if capture is not None:
                index.add(capture, offset=part.start, length=part.end - part.start)
        yield part


def is_ours(head: bytes) -> bool:
    """Whether this is the head of a WARC record that we wrote. A page may contain records of other crawlers."""
    fields = head.partition(b"\r\n\r\n")[0]
    return fields.startswith(b"WARC/1.1\r\n") and any(mark in fields for mark in _MARKS)


def next_serial(directory: Path) -> int:
    return 1 + max(map(serial_of, directory.iterdir()), default=-1)
