"""The one door to the code that touches bits, and the choice between its two forms.

`_kernel` is compiled C and takes a batch from strings to verdicts in one call; `numpy_kernel`, `numpy_counting` and
`numpy_table` do the same in NumPy, for where the package could not be compiled. They agree bit for bit.
`ONCEOVER_KERNEL=numpy` or `=c` forces one.
"""

import os
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from visited.bits import numpy_counting, numpy_kernel, numpy_table
from visited.bits.memory import Memory, zeros
from visited.bits.numpy_kernel import (
    ADD,
    FORGET,
    TEST,
    Writable,
)
from visited.protocol import KernelRefused

try:
    from visited.bits import _kernel as compiled
except ImportError:
    # The extension is optional.
    _COMPILED_VERSION = 0
else:
    _COMPILED_VERSION = getattr(compiled, "VERSION", 0)

IS_COMPILED = _COMPILED_VERSION == 2
"""False too where an older build is still in place, whose functions take other parameters."""

__all__ = ["ADD", "FORGET", "TEST", "Kernel", "Writable", "best_kernel", "kernels"]

_VARIABLE = "ONCEOVER_KERNEL"
_NAMES = ("c", "numpy")


class Kernel(Protocol):
    """Each call takes a whole batch, and answers as if its URLs came one after the other.

    `mode` is TEST, ADD or FORGET. Verdicts say whether a URL was absent. Raises TypeError, having changed nothing, for
    what is not a sequence of str.
    """

    @property
    def name(self) -> str: ...

    @property
    def quick_fill(self) -> int:
        """How many fingerprints `leaves_fill` takes in some five milliseconds."""
        ...

    def hash_many(self, urls: Sequence[str], seed: int, out: Writable, /) -> None:
        """Write the MurmurHash3 x64 128 of each URL to `out`: 16 bytes each, h1 then h2, little-endian."""
        ...

    def digest_many(self, urls: Sequence[str], /) -> bytes:
        """The MD5 digests of the URLs, 16 bytes each."""
        ...

    def bloom_probe(
        self,
        urls: Sequence[str],
        bits: Writable,
        hashes: int,
        seed: int,
        mode: int,
        sketch: NDArray[np.uint8] | None = None,
        /,
    ) -> tuple[list[bool], int, int]:
        """Verdicts, how many were absent, and how many bits were set. ADD counts lost URLs in the sketch."""
        ...

    def blocked_probe(
        self,
        urls: Sequence[str],
        bits: Writable,
        blocks_by_ones: NDArray[np.int64],
        hashes: int,
        seed: int,
        mode: int,
        sketch: NDArray[np.uint8] | None = None,
        /,
    ) -> tuple[list[bool], int, int]:
        """The same, for blocks of 64 bytes; keeps the count of blocks by bits set, 513 numbers."""
        ...

    def counting_probe(
        self,
        urls: Sequence[str],
        counters: Writable,
        width: int,
        hashes: int,
        seed: int,
        mode: int,
        sketch: NDArray[np.uint8] | None = None,
        /,
    ) -> tuple[list[bool], int, int, int]:
        """Verdicts, how many were absent, and the change in counters that are not zero and in full ones. ADD counts
        lost URLs in the sketch."""
        ...

    def leaf_probe(
        self,
        urls: Sequence[str],
        routes: NDArray[np.int32],
        leaves: list[Memory],
        ones: NDArray[np.int64],
        hashes: int,
        seed: int,
        fingerprints: NDArray[np.uint64],
        mode: int,
        /,
    ) -> tuple[list[bool], int]:
        """Verdicts, and how many were absent; counts bits into `ones`. ADD writes the fingerprints of all: of
        what is new from the front of `fingerprints`, of the known from the place of the last URL back."""
        ...

    def leaves_fill(
        self,
        runs: Iterable[NDArray[np.uint64]],
        lows: NDArray[np.uint64],
        last: int,
        leaves: list[Memory],
        ones: NDArray[np.int64],
        hashes: int,
        /,
    ) -> None:
        """Set the bits of fingerprints, each run in ascending order, in neighbouring leaves, and count them.

        Leaf i takes those from `lows[i]` on, up to the next one's; those below the first or above `last` are left out.
        """
        ...

    def table_probe(
        self, urls: Sequence[str], shards: list[Memory], counts: NDArray[np.int64], mode: int, /
    ) -> tuple[list[bool], int]:
        """Verdicts, and by how much the number of digests has changed."""
        ...


class NumpyKernel:
    """The kernel in NumPy."""

    name = "numpy"
    quick_fill = 8_192
    hash_many = staticmethod(numpy_kernel.hash_many)
    digest_many = staticmethod(numpy_table.digest_many)
    bloom_probe = staticmethod(numpy_kernel.bloom_probe)
    blocked_probe = staticmethod(numpy_kernel.blocked_probe)
    counting_probe = staticmethod(numpy_counting.counting_probe)
    leaf_probe = staticmethod(numpy_kernel.leaf_probe)
    leaves_fill = staticmethod(numpy_kernel.leaves_fill)
    table_probe = staticmethod(numpy_table.table_probe)


class CompiledKernel:
    """The kernel in C, where it could be compiled."""

    name = "c"
    quick_fill = 65_536

    def __init__(self) -> None:
        self.hash_many = compiled.hash_many
        self.digest_many = compiled.digest_many
        self.bloom_probe = compiled.bloom_probe
        self.blocked_probe = compiled.blocked_probe
        self.counting_probe = compiled.counting_probe
        self.leaf_probe = compiled.leaf_probe
        self.table_probe = partial(compiled.table_probe, zeros)

    def leaves_fill(
        self,
        runs: Iterable[NDArray[np.uint64]],
        lows: NDArray[np.uint64],
        last: int,
        leaves: list[Memory],
        ones: NDArray[np.int64],
        hashes: int,
    ) -> None:
        for run in runs:
            compiled.leaves_fill(run, lows, last, leaves, ones, hashes)


def kernels() -> list[Kernel]:
    """The kernels that work here, the best one first."""
    return [CompiledKernel(), NumpyKernel()] if IS_COMPILED else [NumpyKernel()]


def best_kernel() -> Kernel:
    """The compiled kernel where there is one, unless the environment asks for the other. Raises `KernelRefused`."""
    wanted = os.environ.get(_VARIABLE)
    for kernel in kernels():
        if wanted in (None, "", kernel.name):
            return kernel
    if wanted in _NAMES:
        raise KernelRefused(
            f"{_VARIABLE}={wanted} asks for the compiled kernel, which was not built here; unset it, or install again"
            " where there are a C compiler and Python.h"
        )
    raise KernelRefused(f"{_VARIABLE} must be c, numpy or unset, got {wanted!r}")
