"""The counting filter of the crawling literature: k hashes from salted MD5, a 32-bit counter for each."""

import hashlib
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from visited import sizing
from visited.kernel import ADD, FORGET, TEST
from visited.memory import held_bytes, zeros
from visited.numpy_counting import Cells, count_positions
from visited.numpy_kernel import Words, byte_view, encode
from visited.protocol import SnapshotRefused, VisitedStats
from visited.snapshot import Value, read_snapshot, write_snapshot
from visited.tally import Tally

BACKEND = "salted-md5"


def salted_hashes(data: bytes, count: int) -> list[int]:
    """Four 32-bit numbers, big-endian and unsigned, from each MD5(salt byte + data), salt = 0, 1, 2 …

    The original reads them as signed, which makes half of the indices negative; here they are not.
    """
    digests = b"".join(
        hashlib.md5(bytes([salt]) + data, usedforsecurity=False).digest() for salt in range(-(-count // 4))
    )
    return [int.from_bytes(digests[at : at + 4], "big") for at in range(0, count * 4, 4)]


class SaltedMd5Set:
    """A baseline for comparison: 32 times the memory of a Bloom filter, and k/4 MD5 digests for each URL."""

    def __init__(self, *, capacity: int, error_rate: float) -> None:
        sizing.check_capacity(capacity)
        sizing.check_error_rate(error_rate)
        self._counters = max(1, sizing.bits_for(capacity, error_rate))
        if self._counters > 1 << 32:
            raise ValueError(f"32-bit hashes reach 4,294,967,296 counters; {capacity:,} URLs need {self._counters:,}")
        self._hashes = sizing.hashes_for(error_rate)
        self._capacity = capacity
        self._error_rate = error_rate
        self._tally = Tally(backend=BACKEND, capacity=capacity, error_rate=error_rate)
        self._array: NDArray[np.uint32]
        self._ones: int
        self._empty()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        absent, new, ones, _ = self._probe(urls, ADD)
        before, self._ones = self._ones, self._ones + ones
        self._tally.accept(new, sizing.mean_rate_between(before, self._ones, self._counters, self._hashes))
        if self._tally.count > self._tally.limit:
            self._tally.warn(self._rate())
        return absent

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Tell for each URL whether it is known, without remembering it; for inspection and comparison."""
        return [not absent for absent in self._probe(urls, TEST)[0]]

    async def forget_many(self, urls: Sequence[str], /) -> int:
        _, refused, ones, _ = self._probe(urls, FORGET)
        self._ones += ones
        self._tally.count -= len(urls) - refused
        return len(urls) - refused

    def describe(self) -> VisitedStats:
        return VisitedStats(
            backend=BACKEND,
            count=self._tally.count,
            capacity=self._capacity,
            memory_bytes=held_bytes(self._array.nbytes),
            fill=self._ones / self._counters,
            false_positive_rate=self._rate(),
            expected_lost=self._tally.expected_lost,
            lost_sigma=self._tally.lost_sigma,
            details={"counters": self._counters, "counters_in_use": self._ones, "hashes": self._hashes},
        )

    def dump(self, file: BinaryIO, /) -> None:
        state: dict[str, Value] = {**self._tally.state(), "ones": self._ones}
        parts = [self._array.data]
        write_snapshot(file, backend=BACKEND, parameters=self._parameters(), state=state, parts=parts)

    def load(self, file: BinaryIO, /) -> None:
        self._empty()
        snapshot = read_snapshot(file, backend=BACKEND, parameters=self._parameters())
        if [len(part) for part in snapshot.parts] != [self._array.nbytes]:
            raise SnapshotRefused(f"expected {self._array.nbytes:,} bytes of counters")
        ones = snapshot.integer("ones")
        self._tally.load(snapshot)
        self._array = np.frombuffer(snapshot.parts[0], dtype=np.uint32)
        self._ones = ones

    def __len__(self) -> int:
        return self._tally.count

    async def aclose(self) -> None:
        """Nothing to close."""

    def _empty(self) -> None:
        self._array = np.frombuffer(zeros(self._counters * 4), dtype=np.uint32)
        self._ones = 0
        self._tally.empty()

    def _rate(self) -> float:
        return sizing.rate_from_fill(self._ones, self._counters, self._hashes)

    def _probe(self, urls: Sequence[str], mode: int) -> tuple[list[bool], int, int, int]:
        return count_positions(Cells(byte_view(self._array), 32), self._positions(urls), mode)

    def _positions(self, urls: Sequence[str]) -> Words:
        rows = [salted_hashes(data, self._hashes) for data in encode(urls)]
        return np.array(rows, dtype=np.uint64).reshape(len(urls), self._hashes) % np.uint64(self._counters)

    def _parameters(self) -> dict[str, Value]:
        return {
            "capacity": self._capacity,
            "error_rate": self._error_rate,
            "counters": self._counters,
            "hashes": self._hashes,
            "hash": "salted md5",
        }
