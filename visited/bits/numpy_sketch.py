"""How the NumPy kernel counts lost URLs in a sketch."""

import numpy as np
from numpy.typing import NDArray

from visited.bits.memory import Writable
from visited.bits.sketch import ALL, MOST_RANK, SKETCH_BYTES, STATE

_INDEX_BITS = 11
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def count_lost(sketch: Writable | None, hashes: NDArray[np.uint64], absent: NDArray[np.bool_]) -> None:
    """Count the lost URLs of a batch, given one hash of each URL and whether it was absent from the filter."""
    if sketch is None:
        return
    view = np.asarray(sketch).reshape(-1).view(np.uint8)
    if len(view) != SKETCH_BYTES:
        raise ValueError(f"expected a sketch of {SKETCH_BYTES} bytes, found {len(view)}")
    used, lost, variance = STATE.unpack_from(view.data)
    registers = view[STATE.size :]
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
            weight = ALL / (ALL - used)
            lost += weight
            variance += weight * (weight - 1)
        used += (1 << MOST_RANK - before) - (1 << MOST_RANK - rank)
        registers[index] = rank
    STATE.pack_into(view.data, 0, used, lost, variance)


def _ranks(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return one more than the number of leading zeros of each word, at most 40."""
    # Only the upper 40 bits are converted: a double would round a full word up to the next power of two.
    exponents = np.frexp((words >> np.uint64(64 - MOST_RANK)).astype(np.float64))[1]
    ranks: NDArray[np.int64] = np.minimum(MOST_RANK + 1 - exponents, MOST_RANK).astype(np.int64)
    return ranks
