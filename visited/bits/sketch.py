"""What a sketch tells that counts lost URLs: HyperLogLog registers with Cohen's estimator (HIP).

A new URL changes a register with a known probability q, a known URL never does. So each rejected URL that changes a
register is lost, and stands for 1/q lost ones (Cohen, "All-distances sketches, revisited", 2014; also Ting 2014). The
kernels count: `_kernel_sketch.h` and `numpy_kernel.count_lost`.
"""

import struct
from typing import Final

from visited.bits.memory import Memory

REGISTERS: Final = 2048
MOST_RANK: Final = 40
ALL: Final = REGISTERS << MOST_RANK
STATE: Final = struct.Struct("<Qdd")
"""The sum of 1 - 2^-register, times 2^40; the number of lost URLs; the variance of this number. Registers follow."""
SKETCH_BYTES: Final = STATE.size + REGISTERS


def change_probability(sketch: Memory) -> float:
    """Return the probability that a new URL changes a register."""
    return 1 - int(STATE.unpack_from(sketch)[0]) / ALL


def lost_and_variance(sketch: Memory) -> tuple[float, float]:
    """Return the estimated number of new URLs that the filter rejected, and the variance of this estimate."""
    _, lost, variance = STATE.unpack_from(sketch)
    return float(lost), float(variance)
