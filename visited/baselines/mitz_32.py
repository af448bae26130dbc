"""The Bloom filter as the published listing computes it: double hashing in 32 bits, Guava's MURMUR128_MITZ_32."""

from collections.abc import Sequence
from typing import BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from visited import sizing
from visited.batch import add_in_pieces
from visited.bits.kernel import ADD, TEST
from visited.bits.numpy_kernel import Words, hash_words, test_and_set
from visited.descriptor import Cost, Descriptor, Parameters, SeedOption
from visited.filters.cells import FilterCells
from visited.filters.cost import optimal_cost
from visited.protocol import CannotForget, VisitedStats

BACKEND = "mitz-32"

_MOST_BITS = 1 << 31
_MAX_PIECE = 4096
_SIGN = np.uint32(1 << 31)


class Mitz32Set:
    """A baseline for comparison. The positions are (h1 + i·h2) mod m for i = 1..k.

    h1 and h2 are the lower and the upper half of the first word of MurmurHash3 x64 128. The sum is a signed number of
    32 bits, which wraps; `~` makes a negative one positive. So the filter can't use more than 2^31 bits.
    """

    def __init__(self, *, capacity: int, error_rate: float, seed: int = 0) -> None:
        sizing.check_capacity(capacity)
        sizing.check_error_rate(error_rate)
        sizing.check_seed(seed)
        self._bits = -(-sizing.bits_for(capacity, error_rate) // 64) * 64 or 64
        if self._bits > _MOST_BITS:
            raise ValueError(f"32-bit hashes reach {_MOST_BITS:,} bits; {capacity:,} URLs need {self._bits:,}")
        self._seed = seed
        self._steps = np.arange(1, sizing.hashes_for(error_rate) + 1, dtype=np.uint32)
        # A huge batch changes the rate while it fills the filter, so the rate is computed for each piece.
        self._piece = min(_MAX_PIECE, max(64, self._bits // 512))
        self._cells = FilterCells(
            backend=BACKEND,
            capacity=capacity,
            error_rate=error_rate,
            cells=self._bits,
            hashes=len(self._steps),
            size_bytes=self._bits // 8,
            dtype=np.uint8,
            parameters={"hash": "murmur3_x64_128", "positions": "guava_mitz_32", "seed": seed},
        )

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        return add_in_pieces(urls, self._piece, self._add_piece)

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Return for each URL whether it is known, without remembering it. For inspection and comparison."""
        known: list[bool] = (~self._probe(urls, TEST)[0]).tolist()
        return known

    async def forget_many(self, _urls: Sequence[str], /) -> NoReturn:
        raise CannotForget("a Bloom filter can't forget: its bits are shared; use counting or exact")

    def describe(self) -> VisitedStats:
        return self._cells.describe({"bits": self._bits, "bits_set": self._cells.ones})

    def dump(self, file: BinaryIO, /) -> None:
        self._cells.dump(file)

    def load(self, file: BinaryIO, /) -> None:
        self._cells.restore(self._cells.read(file))

    def __len__(self) -> int:
        return self._cells.losses.count

    async def aclose(self) -> None:
        """Nothing to close."""

    def _probe(self, urls: Sequence[str], mode: int) -> tuple[NDArray[np.bool_], int]:
        return test_and_set(self._cells.array, self._positions(urls), mode)

    def _add_piece(self, urls: Sequence[str]) -> list[bool]:
        absent, ones = self._probe(urls, ADD)
        self._cells.count_lost(urls, absent)
        if absent.any() or self._cells.uses_sketch:
            self._cells.count_batch(int(absent.sum()), ones)
        verdicts: list[bool] = absent.tolist()
        return verdicts

    def _positions(self, urls: Sequence[str]) -> Words:
        halves = np.ascontiguousarray(hash_words(urls, self._seed)[:, 0]).view("<u4").reshape(-1, 2)
        combined = halves[:, :1] + self._steps * halves[:, 1:]
        combined = np.where(combined >= _SIGN, ~combined, combined)
        positions: Words = combined.astype(np.uint64) % np.uint64(self._bits)
        return positions


def _make(parameters: Parameters, options: SeedOption) -> Mitz32Set:
    return Mitz32Set(capacity=parameters.capacity, error_rate=parameters.error_rate, seed=options.seed)


def _cost(count: int, error_rate: float, _options: SeedOption) -> Cost:
    return optimal_cost(count, error_rate)


DESCRIPTOR = Descriptor(name=BACKEND, make=_make, options=SeedOption, needs=frozenset({"capacity"}), cost=_cost)
