"""The blocked Bloom filter: all bits of a URL in one cache line."""

from collections.abc import Sequence
from typing import BinaryIO, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from visited import sizing
from visited.batch import add_in_pieces
from visited.bits.kernel import ADD, TEST, Kernel, best_kernel
from visited.descriptor import Cost, Descriptor, Parameters, SeedOption
from visited.filters.cells import CANNOT_FORGET, FilterCells
from visited.protocol import CannotForget, VisitedStats

BACKEND = "blocked"

_MAX_PIECE = 8192
_LOW_RATE = 0.05


class BlockedSet:
    """A Bloom filter in blocks of 512 bits. It needs one memory access for each URL (Putze, Sanders and Singler 2007).

    Blocks fill unevenly, so it takes 3.5 % (at a rate of 1 %) to 15 % (at 0.01 %) more bits than a classic filter. Its
    rate is the mean of (ones/512)^k over the blocks, which is higher than the rate from the mean fill.
    """

    is_prompt: Final = True

    def __init__(self, *, capacity: int, error_rate: float, seed: int = 0, kernel: Kernel | None = None) -> None:
        sizing.check(capacity, error_rate, seed)
        bits, self._hashes = sizing.blocked_for(capacity, error_rate)
        self._blocks = bits // sizing.BLOCK_BITS
        # A huge batch changes the rate while it fills the filter, so the rate is computed for each piece.
        self._piece = min(_MAX_PIECE, max(1, self._blocks // 8))
        self._seed = seed
        self._kernel = kernel or best_kernel()
        self._powers = (np.arange(sizing.BLOCK_BITS + 1) / sizing.BLOCK_BITS) ** self._hashes
        self._cells = FilterCells(
            backend=BACKEND,
            capacity=capacity,
            error_rate=error_rate,
            cells=bits,
            hashes=self._hashes,
            parameters={"hash": "murmur3_x64_128", "positions": "h1 block, h2 by nines", "seed": seed},
        )
        self._blocks_by_ones: NDArray[np.int64]
        self._reset_blocks()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        return add_in_pieces(urls, self._piece, self._add_piece)

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        return [not absent for absent in self._probe(urls, TEST)[0]]

    async def forget_many(self, _urls: Sequence[str], /) -> NoReturn:
        raise CannotForget(CANNOT_FORGET)

    def describe(self) -> VisitedStats:
        details: dict[str, float | int | str] = {
            "bits": self._blocks * sizing.BLOCK_BITS,
            "bits_set": self._cells.ones,
            "blocks": self._blocks,
            "fullest_block": int(np.flatnonzero(self._blocks_by_ones)[-1]) / sizing.BLOCK_BITS,
            "kernel": self._kernel.name,
        }
        tables_bytes = self._blocks_by_ones.nbytes + self._powers.nbytes
        return self._cells.describe(details, rate=self._rate_of(self._blocks_by_ones), tables_bytes=tables_bytes)

    def dump(self, file: BinaryIO, /) -> None:
        self._cells.dump(file, tables=[self._blocks_by_ones.data])

    def load(self, file: BinaryIO, /) -> None:
        self._reset_blocks()
        snapshot = self._cells.read(file, tables_bytes=[self._blocks_by_ones.nbytes])
        blocks_by_ones = np.frombuffer(snapshot.parts[1], dtype=np.int64)
        rate = self._rate_of(blocks_by_ones)
        self._cells.restore(snapshot, rate=rate)
        self._blocks_by_ones = blocks_by_ones
        self._last_rate = rate
        self._count_at_rate = self._cells.losses.count

    def __len__(self) -> int:
        return self._cells.losses.count

    async def aclose(self) -> None:
        """Nothing to close."""

    def _reset_blocks(self) -> None:
        self._blocks_by_ones = np.zeros(sizing.BLOCK_BITS + 1, dtype=np.int64)
        self._blocks_by_ones[0] = self._blocks
        self._last_rate = 0.0
        self._count_at_rate = 0

    def _probe(self, urls: Sequence[str], mode: int) -> tuple[list[bool], int, int]:
        cells = self._cells
        return self._kernel.blocked_probe(
            urls, cells.array, self._blocks_by_ones, self._hashes, self._seed, mode, cells.sketch
        )

    def _rate_of(self, blocks_by_ones: NDArray[np.int64]) -> float:
        return float(self._powers @ blocks_by_ones) / self._blocks

    def _add_piece(self, urls: Sequence[str]) -> list[bool]:
        before = self._last_rate
        fresh, new, ones = self._probe(urls, ADD)
        if new or self._cells.uses_sketch:
            after = self._rate_now()
            self._cells.count_batch_at(new, ones, mean_rate=(before + after) / 2, rate=after)
        return fresh

    def _rate_now(self) -> float:
        """The current rate. While it is low it may be up to a 512th of the URLs old, because computing it takes longer
        than a small batch. At a high rate each accepted URL stands for many lost ones, so it is exact there."""
        count = self._cells.losses.count
        if (count - self._count_at_rate) * 512 >= count or self._last_rate > _LOW_RATE:
            self._last_rate = self._rate_of(self._blocks_by_ones)
            self._count_at_rate = count
        return self._last_rate


def _make(parameters: Parameters, options: SeedOption) -> BlockedSet:
    return BlockedSet(capacity=parameters.capacity, error_rate=parameters.error_rate, seed=options.seed)


def _cost(count: int, error_rate: float, _options: SeedOption) -> Cost:
    bits, hashes = sizing.blocked_for(count, error_rate)
    return Cost(
        memory_bytes=bits / 8,
        false_positive_rate=sizing.blocked_rate_after(bits, hashes, count),
        # About that of a classic filter, because its size was chosen for the same rate.
        expected_lost=sizing.expected_lost(sizing.bits_for(count, error_rate), sizing.hashes_for(error_rate), count),
    )


DESCRIPTOR = Descriptor(
    name=BACKEND, make=_make, options=SeedOption, needs=frozenset({"capacity"}), cost=_cost, is_advised=True
)
