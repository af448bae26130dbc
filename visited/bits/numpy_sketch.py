"""The sketch of distinct URLs in the NumPy kernel: HyperLogLog registers, counted by what changes them.

A new URL changes a register with a known probability q, a repeat never does. So each rejected URL that changes a
register is a lost one, and stands for 1/q of them (Cohen 2014; Ting 2014: "historic inverse probability").
"""

import struct

import numpy as np
from numpy.typing import NDArray

REGISTERS = 2048

_INDEX_BITS = 11
_MOST_RANK = 40
_ALL = REGISTERS << _MOST_RANK
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_STATE = struct.Struct("<Qdd")
"""The sum of 1 - 2^-register times 2^40, the lost URLs, and the variance of this number."""

SKETCH_BYTES = _STATE.size + REGISTERS


def change_probability(sketch: NDArray[np.uint8]) -> float:
    """The probability that a new URL changes a register."""
    return 1 - int(_STATE.unpack_from(sketch.data)[0]) / _ALL


def lost_and_variance(sketch: NDArray[np.uint8]) -> tuple[float, float]:
    """The number of new URLs that were rejected, and the variance of this estimate."""
    _, lost, variance = _STATE.unpack_from(sketch.data)
    return float(lost), float(variance)


def observe(sketch: NDArray[np.uint8] | None, hashes: NDArray[np.uint64], absent: NDArray[np.bool_]) -> None:
    """Count URLs, given one hash of each and whether the filter accepted it."""
    if sketch is None:
        return
    if len(sketch) != SKETCH_BYTES:
        raise ValueError(f"expected a sketch of {SKETCH_BYTES} bytes, found {len(sketch)}")
    used, lost, variance = _STATE.unpack_from(sketch.data)
    registers = sketch[_STATE.size :]
    words = hashes * _FACTOR
    indices = words >> np.uint64(64 - _INDEX_BITS)
    ranks = _ranks(words << np.uint64(_INDEX_BITS))
    for row in np.flatnonzero(ranks > registers[indices]).tolist():
        index, rank = int(indices[row]), int(ranks[row])
        before = int(registers[index])
        # An earlier URL of the batch may have raised it.
        if rank <= before:
            continue
        if not absent[row]:
            weight = _ALL / (_ALL - used)
            lost += weight
            variance += weight * (weight - 1)
        used += (1 << _MOST_RANK - before) - (1 << _MOST_RANK - rank)
        registers[index] = rank
    _STATE.pack_into(sketch.data, 0, used, lost, variance)


def _ranks(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """One more than the leading zeros of each word, at most 40."""
    # A double keeps 53 bits: the upper 40 are cut off, so that none is rounded up to the next power of two.
    exponents = np.frexp((words >> np.uint64(64 - _MOST_RANK)).astype(np.float64))[1]
    ranks: NDArray[np.int64] = np.minimum(_MOST_RANK + 1 - exponents, _MOST_RANK).astype(np.int64)
    return ranks
