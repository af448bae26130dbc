"""The sketch that counts lost URLs, in the NumPy kernel: HyperLogLog registers with Cohen's estimator (HIP).

A new URL changes a register with a known probability q, a known URL never does. So each rejected URL that changes a
register is lost, and stands for 1/q lost ones (Cohen, "All-distances sketches, revisited", 2014; also Ting 2014).
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
"""The sum of 1 - 2^-register, times 2^40; the number of lost URLs; the variance of this number."""

SKETCH_BYTES = _STATE.size + REGISTERS


def change_probability(sketch: NDArray[np.uint8]) -> float:
    """Return the probability that a new URL changes a register."""
    return 1 - int(_STATE.unpack_from(sketch.data)[0]) / _ALL


def lost_and_variance(sketch: NDArray[np.uint8]) -> tuple[float, float]:
    """Return the estimated number of new URLs that the filter rejected, and the variance of this estimate."""
    _, lost, variance = _STATE.unpack_from(sketch.data)
    return float(lost), float(variance)


def count_lost(sketch: NDArray[np.uint8] | None, hashes: NDArray[np.uint64], absent: NDArray[np.bool_]) -> None:
    """Count the lost URLs of a batch, given one hash of each URL and whether it was absent from the filter."""
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
        # An earlier URL of the batch may have raised the register.
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
    """Return one more than the number of leading zeros of each word, at most 40."""
    # Only the upper 40 bits are converted: a double would round a full word up to the next power of two.
    exponents = np.frexp((words >> np.uint64(64 - _MOST_RANK)).astype(np.float64))[1]
    ranks: NDArray[np.int64] = np.minimum(_MOST_RANK + 1 - exponents, _MOST_RANK).astype(np.int64)
    return ranks
