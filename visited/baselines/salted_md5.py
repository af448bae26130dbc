"""The counting filter of the crawling literature: k hashes from salted MD5, and 32-bit counters."""

import hashlib
from collections.abc import Sequence
from functools import partial

import numpy as np

from visited import sizing
from visited.baselines.numpy_filter import NumpyFilter
from visited.bits.numpy_kernel import Words, encode
from visited.descriptor import Descriptor
from visited.filters.cells import FilterCells, optimal_cost

BACKEND = "salted-md5"

_MOST_COUNTERS = 1 << 32


def salted_hashes(data: bytes, count: int) -> list[int]:
    """Take four 32-bit numbers, big-endian and unsigned, from each MD5(salt byte + data), salt = 0, 1, 2 …

    The original reads them as signed, so half of its indices are negative.
    """
    digests = b"".join(
        hashlib.md5(bytes([salt]) + data, usedforsecurity=False).digest() for salt in range(-(-count // 4))
    )
    return [int.from_bytes(digests[at : at + 4], "big") for at in range(0, count * 4, 4)]


def salted_md5(*, capacity: int, error_rate: float) -> NumpyFilter:
    """A baseline for comparison. It needs 32 times the memory of a Bloom filter, and k/4 MD5 digests for each URL."""
    sizing.check(capacity, error_rate)
    counters = max(1, sizing.bits_for(capacity, error_rate))
    if counters > _MOST_COUNTERS:
        raise ValueError(f"32-bit hashes reach {_MOST_COUNTERS:,} counters; {capacity:,} URLs need {counters:,}")
    hashes = sizing.hashes_for(error_rate)
    cells = FilterCells(
        backend=BACKEND,
        capacity=capacity,
        error_rate=error_rate,
        cells=counters,
        hashes=hashes,
        cell_bits=32,
        parameters={"hash": "salted md5"},
    )
    positions = partial(_positions, hashes=hashes, counters=counters)
    return NumpyFilter(cells, positions, piece=max(64, counters // 512), has_counters=True)


def _positions(urls: Sequence[str], *, hashes: int, counters: int) -> Words:
    rows = [salted_hashes(data, hashes) for data in encode(urls)]
    return np.array(rows, dtype=np.uint64).reshape(len(urls), hashes) % np.uint64(counters)


DESCRIPTOR = Descriptor(
    name=BACKEND,
    make=lambda parameters, _options: salted_md5(capacity=parameters.capacity, error_rate=parameters.error_rate),
    needs=frozenset({"capacity"}),
    cost=lambda count, error_rate, _options: optimal_cost(count, error_rate, cell_bits=32),
    can_forget=True,
)
