"""The blocked Bloom filter: all bits of a URL in one cache line."""

from collections.abc import Sequence
from typing import BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from visited import sizing
from visited.batch import in_pieces
from visited.bits.kernel import (
    ADD,
    TEST,
    Kernel,
    best_kernel,
)
from visited.filters.fixed_size import FixedSize
from visited.protocol import CannotForget, VisitedStats

BACKEND = "blocked"

_MOST_AT_ONCE = 8192
_LOW_RATE = 0.05
_BLOCK_BYTES = sizing.BLOCK_BITS // 8


class BlockedSet:
    """A Bloom filter in blocks of 512 bits: one memory access for each URL, for 3.5 % (at 1 %) to 15 % (at 0.01 %)
    more bits, because blocks fill unevenly (Putze, Sanders and Singler 2007).

    The rate is the mean of (ones/512)^k over the blocks; the share of set bits alone would tell too little.
    """

    def __init__(self, *, capacity: int, error_rate: float, seed: int = 0, kernel: Kernel | None = None) -> None:
        sizing.check_capacity(capacity)
        sizing.check_error_rate(error_rate)
        sizing.check_seed(seed)
        bits, self._hashes = sizing.blocked_for(capacity, error_rate)
        self._blocks = bits // sizing.BLOCK_BITS
        # The rate is taken once for each piece, so that a huge batch is accounted for as it fills the filter.
        self._piece = min(_MOST_AT_ONCE, max(64, self._blocks // 8))
        self._seed = seed
        self._kernel = kernel or best_kernel()
        self._powers = (np.arange(sizing.BLOCK_BITS + 1) / sizing.BLOCK_BITS) ** self._hashes
        self._filling = FixedSize(
            backend=BACKEND,
            capacity=capacity,
            error_rate=error_rate,
            cells=bits,
            hashes=self._hashes,
            size_bytes=bits // 8,
            parameters={"hash": "murmur3_x64_128", "positions": "h1 block, h2 by nines", "seed": seed},
        )
        self._blocks_by_ones: NDArray[np.int64]
        self._empty()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        return in_pieces(urls, self._piece, self._add_piece)

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Tell for each URL whether it is known, without remembering it; for inspection and comparison."""
        return [not absent for absent in self._probe(urls, TEST)[0]]

    async def forget_many(self, _urls: Sequence[str], /) -> NoReturn:
        raise CannotForget("a Bloom filter can't forget: its bits are shared; use counting or exact")

    def describe(self) -> VisitedStats:
        details: dict[str, float | int | str] = {
            "bits": self._blocks * sizing.BLOCK_BITS,
            "bits_set": self._filling.ones,
            "blocks": self._blocks,
            "fullest_block": int(np.flatnonzero(self._blocks_by_ones)[-1]) / sizing.BLOCK_BITS,
            "kernel": self._kernel.name,
        }
        tables_bytes = self._blocks_by_ones.nbytes + self._powers.nbytes
        return self._filling.describe(details, rate=self._rate(), tables_bytes=tables_bytes)

    def dump(self, file: BinaryIO, /) -> None:
        self._filling.dump(file, tables=[self._blocks_by_ones.data])

    def load(self, file: BinaryIO, /) -> None:
        self._empty()
        snapshot = self._filling.read(file, tables_bytes=[self._blocks_by_ones.nbytes])
        blocks_by_ones = np.frombuffer(snapshot.parts[1], dtype=np.int64)
        self._filling.take(snapshot, tables=1, rate=self._rate_of(blocks_by_ones))
        self._blocks_by_ones = blocks_by_ones
        self._last_rate = self._rate()
        self._count_at_rate = self._filling.tally.count

    def __len__(self) -> int:
        return self._filling.tally.count

    async def aclose(self) -> None:
        """Nothing to close."""

    def _empty(self) -> None:
        self._blocks_by_ones = np.zeros(sizing.BLOCK_BITS + 1, dtype=np.int64)
        self._blocks_by_ones[0] = self._blocks
        self._last_rate = 0.0
        self._count_at_rate = 0

    def _probe(self, urls: Sequence[str], mode: int) -> tuple[list[bool], int, int]:
        filling = self._filling
        return self._kernel.blocked_probe(
            urls, filling.array, self._blocks_by_ones, self._hashes, self._seed, mode, filling.sketch
        )

    def _rate(self) -> float:
        return self._rate_of(self._blocks_by_ones)

    def _rate_of(self, blocks_by_ones: NDArray[np.int64]) -> float:
        return float(self._powers @ blocks_by_ones) / self._blocks

    def _add_piece(self, urls: Sequence[str]) -> list[bool]:
        before = self._last_rate
        fresh, new, ones = self._probe(urls, ADD)
        if new or self._filling.is_sampled:
            after = self._rate_now()
            self._filling.accept_at(new, ones, mean_rate=(before + after) / 2, rate=after)
        return fresh

    def _rate_now(self) -> float:
        """The rate as it was some additions ago, while it is low: adding it up over the blocks takes longer than a
        small batch. A filter that is overrun loses many for each that it accepts, so there it is exact."""
        count = self._filling.tally.count
        if (count - self._count_at_rate) * 512 >= count or self._last_rate > _LOW_RATE:
            self._last_rate = self._rate()
            self._count_at_rate = count
        return self._last_rate
