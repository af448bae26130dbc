"""Gzip files of many members: which of them are whole."""

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
from isal import isal_zlib

_READ_BYTES = 1 << 18
_INFLATE_BYTES = 1 << 20
_HEAD_BYTES = 1 << 16
_GZIP = 16 + isal_zlib.MAX_WBITS
_BEGINNING = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
"""Of a member that has neither a name nor a time, as those that are written here."""
_Damaged: type[Exception] = isal_zlib.error  # type: ignore[assignment] # its stub takes the class for an instance


class Stretch(msgspec.Struct, frozen=True):
    """A part of a file, in bytes from its beginning."""

    start: int
    end: int
    whole: bool
    """It consists of whole members, checksums included; or it has none."""
    torn: bool = False
    """It ends with the file and may be the beginning of a member: that is what a crash leaves."""


def stretches(path: Path, /, *, is_ours: Callable[[bytes], bool]) -> Iterator[Stretch]:
    """The file from its beginning to its end.

    Behind damage, a member counts if `is_ours` says so of the first 64 KiB of its content: what is damaged may hold
    members of others, as a page that is an archive itself. Reads and inflates the file once, in bounded memory: about
    7 s for a gigabyte of packed pages.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = 0
        while start < size:
            end, torn = _whole_from(file, start)
            if end > start:
                yield Stretch(start, end, whole=True)
            if end == size:
                return
            start = _next_member(file, end + 1, is_ours)
            torn = torn and start == size
            yield Stretch(end, start, whole=False, torn=torn)


def copy_stretches(path: Path, target: Path, chosen: list[Stretch], /) -> None:
    """Write these parts of a file, one after the other, to another file, and make that safe. Raises `OSError`, and
    leaves no half of it."""
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


def contents(path: Path, /, *, is_ours: Callable[[bytes], bool], most_bytes: int) -> Iterator[bytes | Stretch]:
    """What the members of a file hold, `most_bytes` of each at most; and of what is not whole, where it is.

    As `stretches` in all else.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = 0
        while start < size:
            members = _members(file, start, most_bytes)
            torn = False
            while True:
                try:
                    start, content = next(members)
                except StopIteration as end:
                    torn = end.value
                    break
                yield content
            if start < size:
                behind = _next_member(file, start + 1, is_ours)
                yield Stretch(start, behind, whole=False, torn=torn and behind == size)
                start = behind


def _whole_from(file: BinaryIO, start: int) -> tuple[int, bool]:
    """How far members are whole from there on, and whether the rest may be the beginning of one more."""
    members = _members(file, start, 0)
    while True:
        try:
            start, _ = next(members)
        except StopIteration as end:
            return start, end.value


def _members(file: BinaryIO, start: int, most_bytes: int) -> Generator[tuple[int, bytes], None, bool]:
    """Where each whole member from there on ends, and what it holds; returns whether the rest may be the beginning of
    one more."""
    file.seek(start)
    consumed = start  # bytes taken from the file by members so far, the current one included
    inflater, content = isal_zlib.decompressobj(wbits=_GZIP), bytearray()
    while data := file.read(_READ_BYTES):
        while data:
            before = len(data)
            try:
                piece = inflater.decompress(data, _INFLATE_BYTES)
            except _Damaged:
                return False
            if len(content) < most_bytes:
                content += piece[: most_bytes - len(content)]
            data = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
            consumed += before - len(data)
            if inflater.eof:
                yield consumed, bytes(content)
                inflater, content = isal_zlib.decompressobj(wbits=_GZIP), bytearray()
    return True


def _next_member(file: BinaryIO, start: int, is_ours: Callable[[bytes], bool]) -> int:
    """Where the next whole member of ours begins; the end of the file if there is none."""
    at = start
    while True:
        file.seek(at)
        data = file.read(_READ_BYTES + len(_BEGINNING) - 1)
        if len(data) < len(_BEGINNING):
            return at + len(data)
        found = data.find(_BEGINNING)
        if found < 0:
            at += len(data) - len(_BEGINNING) + 1
        elif _is_whole(file, at + found, is_ours):
            return at + found
        else:
            at += found + 1


def _is_whole(file: BinaryIO, start: int, is_ours: Callable[[bytes], bool]) -> bool:
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
                head += content[: _HEAD_BYTES - len(head)]
                if inflater.eof or len(head) == _HEAD_BYTES:
                    if not is_ours(head):
                        return False
                    head = None
            if inflater.eof:
                return True
            data = inflater.unconsumed_tail
    return False
