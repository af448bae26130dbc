"""A file of bounded size that holds samples.

Its first page names the columns. Behind it lie the slots of each tier. A slot has the moment of the sample, its
values as doubles and a checksum over both, so that a slot that was written halfway or damaged does not count. The
number of a slot follows from the moment.
"""

import json
import math
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Final

from crawler.serve.measure.tiers import Tier, tiers_back_to

_PAGE: Final = 4096
_MAGIC: Final = b"onceover history 1\n"
_CHECKSUM: Final = struct.Struct("<I")
_MOMENT: Final = struct.Struct("<d")

Values = tuple[float, ...]
"""The values of a sample, in the order of the columns; NaN stands for one that is not known."""


class Ring:
    """A file of samples. It is open only while it is used: a daemon may have many."""

    def __init__(self, path: Path, columns: Sequence[str], tiers: Sequence[Tier]) -> None:
        self._path = path
        self._columns = tuple(columns)
        self._tiers = tuple(tiers)
        self._layout = struct.Struct(f"<{1 + len(self._columns)}d")
        self._size = self._layout.size + _CHECKSUM.size
        self._seed = zlib.crc32(json.dumps(self._columns).encode())
        self._starts = list(accumulate((tier.slots * self._size for tier in self._tiers), initial=_PAGE))
        self._is_ready = False

    def write(self, moment: float, values: Values) -> None:
        """Keep a sample in each tier, in place of the one before in the same step. Raises `OSError`."""
        with self._open() as file:
            for number in range(len(self._tiers)):
                self._write(file, number, moment, values)

    def read(self, begin: float, now: float) -> dict[float, Values]:
        """The samples from `begin` to `now`, by moment. Raises `OSError`."""
        found: dict[float, Values] = {}
        if not self._path.exists():
            return found
        with self._open() as file:
            for number in tiers_back_to(self._tiers, begin, now):
                for moment, values in self._read(file, number, begin, now):
                    found.setdefault(moment, values)
        return found

    def last(self, now: float) -> tuple[float, Values] | None:
        """The last sample. Raises `OSError`."""
        if not self._path.exists():
            return None
        with self._open() as file:
            for number in range(len(self._tiers)):
                found = max(self._read(file, number, 0.0, now), default=None, key=lambda each: each[0])
                if found is not None:
                    return found
        return None

    @contextmanager
    def _open(self) -> Iterator[int]:
        if not self._is_ready:
            self._make_ready()
            self._is_ready = True
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield file
        finally:
            os.close(file)

    def _make_ready(self) -> None:
        """Make the file, or convert one with other columns."""
        earlier = _columns_in(self._path)
        if earlier == self._columns:
            return
        if earlier is not None:
            self._convert(earlier)
            return
        with self._path.open("ab"):
            pass
        with self._path.open("r+b") as file:
            file.write(_head(self._columns))

    def _convert(self, earlier: Sequence[str]) -> None:
        """Give the file of another version our columns. A column that it lacks has no values."""
        aside = self._path.with_name(f"{self._path.name}.new")
        aside.unlink(missing_ok=True)
        places = [earlier.index(name) if name in earlier else None for name in self._columns]
        old, new = Ring(self._path, earlier, self._tiers), Ring(aside, self._columns, self._tiers)
        with old._open() as source, new._open() as target:
            for number in range(len(self._tiers)):
                for moment, values in old._read(source, number, 0.0, math.inf):
                    new._write(target, number, moment, tuple(math.nan if at is None else values[at] for at in places))
        aside.replace(self._path)

    def _write(self, file: int, number: int, moment: float, values: Values) -> None:
        packed = self._layout.pack(moment, *values)
        record = packed + _CHECKSUM.pack(zlib.crc32(packed, self._seed))
        os.pwrite(file, record, self._starts[number] + self._tiers[number].slot(moment) * self._size)

    def _read(self, file: int, number: int, begin: float, end: float) -> Iterator[tuple[float, Values]]:
        data = os.pread(file, self._tiers[number].slots * self._size, self._starts[number])
        for slot in range(len(data) // self._size):
            at = slot * self._size
            (moment,) = _MOMENT.unpack_from(data, at)
            # A slot that was never written holds zeros. After the clock was set back, there may be later moments.
            if not max(begin, 1.0) <= moment <= end:
                continue
            behind = at + self._layout.size
            if zlib.crc32(data[at:behind], self._seed) == _CHECKSUM.unpack_from(data, behind)[0]:
                yield moment, self._layout.unpack_from(data, at)[1:]


def _head(columns: Sequence[str]) -> bytes:
    named = _MAGIC + json.dumps(list(columns)).encode() + b"\n"
    assert len(named) + _CHECKSUM.size <= _PAGE
    return (named + _CHECKSUM.pack(zlib.crc32(named))).ljust(_PAGE, b"\0")


def _columns_in(path: Path) -> tuple[str, ...] | None:
    """The columns that a file names; None if it is missing, or its first page is damaged."""
    try:
        with path.open("rb") as file:
            head = file.read(_PAGE)
    except FileNotFoundError:
        return None
    named = head[: head.find(b"\n", len(_MAGIC)) + 1]
    checksum = head[len(named) : len(named) + _CHECKSUM.size]
    if not named.startswith(_MAGIC) or checksum != _CHECKSUM.pack(zlib.crc32(named)):
        return None
    return tuple(json.loads(named.removeprefix(_MAGIC)))
