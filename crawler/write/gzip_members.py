"""Finds the intact parts of gzip files that consist of many members."""

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from filecmp import cmp
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import BinaryIO

import msgspec
from isal import isal_zlib

from crawler.files.folders import sync_directory

_READ_BYTES = 1 << 18
_INFLATE_BYTES = 1 << 20
_PIECE_BYTES = 4096
"""Enough for most heads. One with a long URL takes several."""
HEAD_BYTES = 1 << 19
"""So much of a member tells what it is: the headers of a response may have 256 KiB."""
_GZIP = 16 + isal_zlib.MAX_WBITS
_BEGINNING = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
"""How a member without name and time begins, as this room writes them."""
_Damaged: type[Exception] = isal_zlib.error  # type: ignore[assignment] # its stub takes the class for an instance


class Stretch(msgspec.Struct, frozen=True):
    """A part of a file, in bytes from its beginning."""

    start: int
    end: int
    is_intact: bool
    """Whether it consists of intact members, checksums included. Otherwise it contains none."""
    torn: bool = False
    """Whether it ends with the file and may be the beginning of a member, such as a crash leaves."""


def bytes_text(count: int) -> str:
    """A number of bytes, for people."""
    return "1 byte" if count == 1 else f"{count} bytes"


class GzipMember(msgspec.Struct, frozen=True, gc=False):
    """An intact member of a file, in bytes from its beginning."""

    start: int
    end: int
    content: bytes


def stretches(found: Iterable[GzipMember | Stretch], /) -> Iterator[Stretch]:
    """The stretches of a file of which `members` found these parts: members that follow one another are one."""
    start = end = 0
    for part in found:
        if isinstance(part, GzipMember):
            end = part.end
            continue
        if end > start:
            yield Stretch(start, end, is_intact=True)
        yield part
        start = end = part.end
    if end > start:
        yield Stretch(start, end, is_intact=True)


def copy_stretches(path: Path, target: Path, chosen: list[Stretch], /) -> None:
    """Copy parts of a file, one after the other, to another file, and sync that. If it raises `OSError`, it removes the
    copy."""
    try:
        with path.open("rb") as file, target.open("wb") as copy:
            for stretch in chosen:
                file.seek(stretch.start)
                left = stretch.end - stretch.start
                while left and (data := file.read(min(left, _INFLATE_BYTES))):
                    copy.write(data)
                    left -= len(data)
            copy.flush()
            os.fsync(copy.fileno())
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def set_aside(path: Path, stem: str, damaged: Stretch, /) -> Path:
    """Copy a damaged part of a file to `STEM.damaged-BYTE` beside it, which is on the disk then; returns that.
    Repeated, it changes nothing. Another part that was at the same byte gets a number."""
    copy = path.with_name(f"{stem}.aside")
    copy_stretches(path, copy, [damaged])
    name = f"{stem}.damaged-{damaged.start}"
    asides = (path.with_name(each) for each in chain([name], (f"{name}-{number}" for number in count(2))))
    aside = copy.rename(next(each for each in asides if not each.exists() or cmp(copy, each, shallow=False)))
    sync_directory(path.parent)
    return aside


def members(
    file: BinaryIO,
    /,
    *,
    is_ours: Callable[[bytes], bool],
    may_follow: Callable[[bytes, bytes], bool] = lambda *_: True,
    max_bytes: int,
    start: int = 0,
) -> Iterator[GzipMember | Stretch]:
    """The intact members of a file from a byte on, with at most `max_bytes` of the content of each; and the damaged
    stretches.

    After damage, a member counts only if `is_ours` accepts the first 512 KiB of its content: damaged data may contain
    other gzip members, for example if a page is an archive itself. Behind what may be the beginning of a member that a
    crash left, it must also be one that `may_follow` the last intact one, whose beginning is given first. Reads and
    inflates the file once, in bounded memory: about 7 s for a gigabyte of compressed pages. Nobody else may move the
    position of the file meanwhile.
    """
    size = os.fstat(file.fileno()).st_size
    last = None
    while start < size:
        start, torn, found = yield from members_from(file, start, max_bytes)
        last = last if found is None else found
        if start < size:
            accepts = is_ours
            if torn and last is not None:
                accepts = partial(_is_next, _beginning_of(file, last), is_ours, may_follow)
            end_of_damage = _next_member(file, start + 1, accepts)
            yield Stretch(start, end_of_damage, is_intact=False, torn=torn and end_of_damage == size)
            start = end_of_damage


def _beginning_of(file: BinaryIO, start: int) -> bytes:
    """How the content of an intact member begins."""
    file.seek(start)
    return isal_zlib.decompressobj(wbits=_GZIP).decompress(file.read(_READ_BYTES), HEAD_BYTES)


def read_until(mark: bytes, file: BinaryIO, start: int, length: int, /) -> bytes:
    """The content of a member up to the mark, and what comes with it; or its first 512 KiB. Nothing if that is damaged.
    `length` is that of the member in the file."""
    inflater, content, at = isal_zlib.decompressobj(wbits=_GZIP), b"", 0
    try:
        while at < length and mark not in content and len(content) < HEAD_BYTES and not inflater.eof:
            content += inflater.decompress(os.pread(file.fileno(), min(_PIECE_BYTES, length - at), start + at))
            at += _PIECE_BYTES
    except _Damaged:
        return b""
    return content


def _is_next(
    before: bytes, is_ours: Callable[[bytes], bool], may_follow: Callable[[bytes, bytes], bool], head: bytes
) -> bool:
    return is_ours(head) and may_follow(before, head)


def _taken(content: bytearray) -> bytes:
    """What was collected. Nothing here keeps it, because it may take much of the memory."""
    taken = bytes(content)
    content.clear()
    return taken


def members_from(
    file: BinaryIO, start: int, max_bytes: int
) -> Generator[GzipMember, None, tuple[int, bool, int | None]]:
    """Each intact member from `start` on. Returns where the last one ends, whether the rest may be the beginning of
    another, and where the last one begins, if there is any."""
    last = None
    file.seek(start)
    consumed = start  # the position in the file, after the input of all members so far
    inflater, content = isal_zlib.decompressobj(wbits=_GZIP), bytearray()
    while data := file.read(_READ_BYTES):
        while data:
            before = len(data)
            try:
                piece = inflater.decompress(data, _INFLATE_BYTES)
            except _Damaged:
                return start, False, last
            if len(content) < max_bytes:
                content += piece[: max_bytes - len(content)]
            data = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
            consumed += before - len(data)
            if inflater.eof:
                yield GzipMember(start, consumed, _taken(content))
                last, start, inflater = start, consumed, isal_zlib.decompressobj(wbits=_GZIP)
    return start, True, last


def _next_member(file: BinaryIO, start: int, is_ours: Callable[[bytes], bool]) -> int:
    """Where the next intact member of ours begins; the end of the file if there is none."""
    at = start
    while True:
        file.seek(at)
        data = file.read(_READ_BYTES + len(_BEGINNING) - 1)
        if len(data) < len(_BEGINNING):
            return at + len(data)
        found = data.find(_BEGINNING)
        if found < 0:
            at += len(data) - len(_BEGINNING) + 1
        elif _is_intact(file, at + found, is_ours):
            return at + found
        else:
            at += found + 1


def _is_intact(file: BinaryIO, start: int, is_ours: Callable[[bytes], bool]) -> bool:
    file.seek(start)
    inflater = isal_zlib.decompressobj(wbits=_GZIP)
    head: bytes | None = b""
    while data := file.read(_READ_BYTES):
        while data:
            try:
                content = inflater.decompress(data, _INFLATE_BYTES)
            except _Damaged:
                return False
            if head is not None:
                head += content[: HEAD_BYTES - len(head)]
                if inflater.eof or len(head) == HEAD_BYTES:
                    if not is_ours(head):
                        return False
                    head = None
            if inflater.eof:
                return True
            data = inflater.unconsumed_tail
    return False
