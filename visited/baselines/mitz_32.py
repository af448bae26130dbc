"""The Bloom filter as the published listing computes it: double hashing in 32 bits, Guava's MURMUR128_MITZ_32."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from visited import sizing
from visited.baselines.numpy_filter import NumpyFilter
from visited.bits.numpy_kernel import Words, hash_words
from visited.descriptor import Descriptor, Parameters, SeedOption
from visited.filters.cells import FilterCells, optimal_cost

BACKEND = "mitz-32"

_MOST_BITS = 1 << 31
_MAX_PIECE = 4096
_SIGN = np.uint32(1 << 31)


def mitz_32(*, capacity: int, error_rate: float, seed: int = 0) -> NumpyFilter:
    """A baseline for comparison. The positions are (h1 + i·h2) mod m for i = 1..k.

    h1 and h2 are the lower and the upper half of the first word of MurmurHash3 x64 128. The sum is a signed number of
    32 bits, which wraps; `~` makes a negative one positive. So the filter can't use more than 2^31 bits.
    """
    sizing.check(capacity, error_rate, seed)
    bits = -(-sizing.bits_for(capacity, error_rate) // 64) * 64 or 64
    if bits > _MOST_BITS:
        raise ValueError(f"32-bit hashes reach {_MOST_BITS:,} bits; {capacity:,} URLs need {bits:,}")
    hashes = sizing.hashes_for(error_rate)
    cells = FilterCells(
        backend=BACKEND,
        capacity=capacity,
        error_rate=error_rate,
        cells=bits,
        hashes=hashes,
        parameters={"hash": "murmur3_x64_128", "positions": "guava_mitz_32", "seed": seed},
    )
    positions = partial(_positions, seed=seed, hashes=hashes, bits=bits)
    return NumpyFilter(cells, positions, piece=min(_MAX_PIECE, max(64, bits // 512)))


def _positions(urls: Sequence[str], *, seed: int, hashes: int, bits: int) -> Words:
    halves = np.ascontiguousarray(hash_words(urls, seed)[:, 0]).view("<u4").reshape(-1, 2)
    combined = halves[:, :1] + np.arange(1, hashes + 1, dtype=np.uint32) * halves[:, 1:]
    combined = np.where(combined >= _SIGN, ~combined, combined)
    positions: Words = combined.astype(np.uint64) % np.uint64(bits)
    return positions


def _make(parameters: Parameters, options: SeedOption) -> NumpyFilter:
    return mitz_32(capacity=parameters.capacity, error_rate=parameters.error_rate, seed=options.seed)


DESCRIPTOR = Descriptor(
    name=BACKEND,
    make=_make,
    options=SeedOption,
    needs=frozenset({"capacity"}),
    cost=lambda count, error_rate, _options: optimal_cost(count, error_rate),
)
