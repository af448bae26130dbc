"""The counting filter of the crawling literature: k hashes from salted MD5, and 32-bit counters."""

import hashlib
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np

from visited import sizing
from visited.batch import add_in_pieces
from visited.bits.kernel import ADD, FORGET, TEST
from visited.bits.numpy_counting import Cells, count_positions
from visited.bits.numpy_kernel import Words, byte_view, encode
from visited.descriptor import Cost, Descriptor, NoOptions, Parameters
from visited.filters.cells import FilterCells
from visited.filters.cost import optimal_cost
from visited.protocol import VisitedStats

BACKEND = "salted-md5"


def salted_hashes(data: bytes, count: int) -> list[int]:
    """Take four 32-bit numbers, big-endian and unsigned, from each MD5(salt byte + data), salt = 0, 1, 2 …

    The original reads them as signed, so half of its indices are negative.
    """
    digests = b"".join(
        hashlib.md5(bytes([salt]) + data, usedforsecurity=False).digest() for salt in range(-(-count // 4))
    )
    return [int.from_bytes(digests[at : at + 4], "big") for at in range(0, count * 4, 4)]


class SaltedMd5Set:
    """A baseline for comparison. It needs 32 times the memory of a Bloom filter, and k/4 MD5 digests for each URL."""

    def __init__(self, *, capacity: int, error_rate: float) -> None:
        sizing.check_capacity(capacity)
        sizing.check_error_rate(error_rate)
        self._counters = max(1, sizing.bits_for(capacity, error_rate))
        if self._counters > 1 << 32:
            raise ValueError(f"32-bit hashes reach 4,294,967,296 counters; {capacity:,} URLs need {self._counters:,}")
        self._hashes = sizing.hashes_for(error_rate)
        # A huge batch changes the rate while it fills the filter, so the rate is computed for each piece.
        self._piece = max(64, self._counters // 512)
        self._cells = FilterCells(
            backend=BACKEND,
            capacity=capacity,
            error_rate=error_rate,
            cells=self._counters,
            hashes=self._hashes,
            size_bytes=self._counters * 4,
            dtype=np.uint32,
            parameters={"hash": "salted md5"},
        )

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        return add_in_pieces(urls, self._piece, self._add_piece)

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Return for each URL whether it is known, without remembering it. For inspection and comparison."""
        return [not absent for absent in self._probe(urls, TEST)[0]]

    async def forget_many(self, urls: Sequence[str], /) -> int:
        _, refused, ones, _ = self._probe(urls, FORGET)
        self._cells.ones += ones
        self._cells.losses.count -= len(urls) - refused
        return len(urls) - refused

    def describe(self) -> VisitedStats:
        return self._cells.describe({"counters": self._counters, "counters_in_use": self._cells.ones})

    def dump(self, file: BinaryIO, /) -> None:
        self._cells.dump(file)

    def load(self, file: BinaryIO, /) -> None:
        self._cells.restore(self._cells.read(file))

    def __len__(self) -> int:
        return self._cells.losses.count

    async def aclose(self) -> None:
        """Nothing to close."""

    def _probe(self, urls: Sequence[str], mode: int) -> tuple[list[bool], int, int, int]:
        return count_positions(Cells(byte_view(self._cells.array), 32), self._positions(urls), mode)

    def _add_piece(self, urls: Sequence[str]) -> list[bool]:
        absent, new, ones, _ = self._probe(urls, ADD)
        self._cells.count_lost(urls, absent)
        if new or self._cells.uses_sketch:
            self._cells.count_batch(new, ones)
        return absent

    def _positions(self, urls: Sequence[str]) -> Words:
        rows = [salted_hashes(data, self._hashes) for data in encode(urls)]
        return np.array(rows, dtype=np.uint64).reshape(len(urls), self._hashes) % np.uint64(self._counters)


def _make(parameters: Parameters, _options: NoOptions) -> SaltedMd5Set:
    return SaltedMd5Set(capacity=parameters.capacity, error_rate=parameters.error_rate)


def _cost(count: int, error_rate: float, _options: NoOptions) -> Cost:
    return optimal_cost(count, error_rate, cell_bits=32)


DESCRIPTOR = Descriptor(name=BACKEND, make=_make, needs=frozenset({"capacity"}), cost=_cost, can_forget=True)
