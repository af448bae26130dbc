"""The classic Bloom filter, bit-compatible with Guava's 64-bit murmur scheme."""

from collections.abc import Sequence
from typing import BinaryIO, NoReturn

import numpy as np

from visited import sizing
from visited.batch import in_pieces
from visited.kernel import ADD, TEST, Kernel, best_kernel
from visited.memory import held_bytes, zeros
from visited.protocol import CannotForget, SnapshotRefused, VisitedStats
from visited.snapshot import Value, read_snapshot, write_snapshot
from visited.tally import Tally

BACKEND = "bloom"

_MOST_AT_ONCE = 8192


class BloomSet:
    """m bits, of which each URL sets k: m = -n·ln e/(ln 2)², k = log2(1/e).

    Same seed, same bits and same URLs as UTF-8 give the bits of Guava's `BloomFilter` with MURMUR128_MITZ_64: the
    positions are (h1 + i·h2 without its sign bit) mod m, (h1, h2) = MurmurHash3 x64 128. Such an even walk may come
    to few bits again and again. That adds 0.1/m to 0.2/m to the rate, as measured: of all URLs that the filter is made
    for, some thousandths of one.
    """

    def __init__(
        self,
        *,
        capacity: int,
        error_rate: float,
        seed: int = 0,
        bits: int | None = None,
        kernel: Kernel | None = None,
    ) -> None:
        """`bits` overrides the formula's m; too few for capacity and rate raise ValueError, which says how many."""
        sizing.check_capacity(capacity)
        sizing.check_error_rate(error_rate)
        sizing.check_seed(seed)
        if bits is not None:
            sizing.check_bits(bits, capacity, error_rate)
        wanted = sizing.bits_for(capacity, error_rate) if bits is None else bits
        self._words = max(1, -(-wanted // 64))
        self._bits = self._words * 64
        self._hashes = sizing.hashes_for(error_rate) if bits is None else sizing.hashes_for_bits(bits, capacity)
        # The rate is taken once for each piece, so that a huge batch is accounted for as it fills the filter.
        self._piece = min(_MOST_AT_ONCE, max(64, self._words // 8))
        self._capacity = capacity
        self._error_rate = error_rate
        self._seed = seed
        self._kernel = kernel or best_kernel()
        self._tally = Tally(backend=BACKEND, capacity=capacity, error_rate=error_rate)
        self._empty()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        return in_pieces(urls, self._piece, self._add_piece)

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Tell for each URL whether it is known, without remembering it; for inspection and comparison."""
        absent, _, _ = self._kernel.bloom_probe(urls, self._array, self._hashes, self._seed, TEST)
        return [not verdict for verdict in absent]

    async def forget_many(self, _urls: Sequence[str], /) -> NoReturn:
        raise CannotForget("a Bloom filter can't forget: its bits are shared; use counting or exact")

    def describe(self) -> VisitedStats:
        return VisitedStats(
            backend=BACKEND,
            count=self._tally.count,
            capacity=self._capacity,
            memory_bytes=held_bytes(self._array.nbytes),
            fill=self._ones / self._bits,
            false_positive_rate=sizing.rate_from_fill(self._ones, self._bits, self._hashes),
            expected_lost=self._tally.expected_lost,
            lost_sigma=self._tally.lost_sigma,
            details={"bits": self._bits, "bits_set": self._ones, "hashes": self._hashes, "kernel": self._kernel.name},
        )

    def dump(self, file: BinaryIO, /) -> None:
        write_snapshot(
            file,
            backend=BACKEND,
            parameters=self._parameters(),
            state={**self._tally.state(), "ones": self._ones},
            parts=[self._array.data],
        )

    def load(self, file: BinaryIO, /) -> None:
        self._empty()
        snapshot = read_snapshot(file, backend=BACKEND, parameters=self._parameters())
        if [len(part) for part in snapshot.parts] != [self._words * 8]:
            raise SnapshotRefused(f"expected {self._words * 8:,} bytes of bits, found {list(map(len, snapshot.parts))}")
        ones = snapshot.integer("ones")
        self._tally.load(snapshot)
        self._array = np.frombuffer(snapshot.parts[0], dtype=np.uint64)
        self._ones = ones

    def __len__(self) -> int:
        return self._tally.count

    async def aclose(self) -> None:
        """Nothing to close."""

    def _empty(self) -> None:
        self._array = np.frombuffer(zeros(self._words * 8), dtype=np.uint64)
        self._ones = 0
        self._tally.empty()

    def _add_piece(self, urls: Sequence[str]) -> list[bool]:
        fresh, new, ones = self._kernel.bloom_probe(urls, self._array, self._hashes, self._seed, ADD)
        if new:
            tally = self._tally
            tally.accept(new, float(((self._ones + ones / 2) / self._bits) ** self._hashes))
            self._ones += ones
            if tally.count > tally.limit:
                tally.warn(sizing.rate_from_fill(self._ones, self._bits, self._hashes))
        return fresh

    def _parameters(self) -> dict[str, Value]:
        return {
            "capacity": self._capacity,
            "error_rate": self._error_rate,
            "bits": self._bits,
            "hashes": self._hashes,
            "hash": "murmur3_x64_128",
            "positions": "guava_mitz_64",
            "seed": self._seed,
        }
