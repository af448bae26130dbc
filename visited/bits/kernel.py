"""The interface of the kernel, and the choice between its two implementations.

`_kernel` is compiled C: one call turns a batch of URLs into verdicts. The `numpy_*` modules do the same in NumPy, where
the package could not be compiled. Both give the same bits. `ONCEOVER_KERNEL=numpy` or `=c` forces one.

NumPy is imported only with the kernel that needs it: it takes as long as several empty Pythons, and 13 MB.
"""

import logging
import os
from collections.abc import Iterable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any, Protocol, cast

from visited.bits.memory import Array, Memory, Part, Writable, zeros
from visited.protocol import KernelRefused

try:
    from visited.bits import _kernel as compiled
except ImportError:
    # The extension is optional.
    _COMPILED_VERSION = 0
else:
    _COMPILED_VERSION = getattr(compiled, "VERSION", 0)

_VERSION = 6
IS_COMPILED = _COMPILED_VERSION == _VERSION
"""False also for another build, whose functions have other parameters."""

TEST, ADD, FORGET = 0, 1, 2

_VARIABLE = "ONCEOVER_KERNEL"
_LOG = logging.getLogger("visited")
_NAMES = ("c", "numpy")


class Kernel(Protocol):
    """Each call processes a whole batch, with the same result as for one URL after the other.

    `mode` is TEST, ADD or FORGET. A verdict is True where the URL was absent. Anything but a sequence of str raises
    TypeError, and changes nothing.
    """

    @property
    def name(self) -> str: ...

    @property
    def fill_budget(self) -> int:
        """The number of fingerprints that `leaves_fill` inserts in about five milliseconds."""
        ...

    def hash_many(self, urls: Sequence[str], seed: int, out: Writable, /) -> None:
        """Write the MurmurHash3 x64 128 of each URL to `out`: 16 bytes each, h1 then h2, little-endian."""
        ...

    def digest_many(self, urls: Sequence[str], /) -> bytes:
        """Return the MD5 digests of the URLs, 16 bytes each."""
        ...

    def bloom_probe(
        self,
        urls: Sequence[str],
        bits: Writable,
        hashes: int,
        seed: int,
        mode: int,
        sketch: Writable | None = None,
        /,
    ) -> tuple[list[bool], int, int]:
        """Return the verdicts, the number of absent URLs, and the number of bits set. ADD counts lost URLs in the
        sketch."""
        ...

    def blocked_probe(
        self,
        urls: Sequence[str],
        bits: Writable,
        blocks_by_ones: Writable,
        hashes: int,
        seed: int,
        mode: int,
        sketch: Writable | None = None,
        /,
    ) -> tuple[list[bool], int, int]:
        """Do the same for blocks of 64 bytes. Updates the 513 numbers of blocks with so many bits set."""
        ...

    def counting_probe(
        self,
        urls: Sequence[str],
        counters: Writable,
        width: int,
        hashes: int,
        seed: int,
        mode: int,
        sketch: Writable | None = None,
        /,
    ) -> tuple[list[bool], int, int, int]:
        """Return the verdicts, the number of absent URLs, and by how much the numbers of nonzero and of full counters
        have changed. ADD counts lost URLs in the sketch."""
        ...

    def leaf_probe(
        self,
        urls: Sequence[str],
        routes: Array,
        leaves: list[Memory],
        counts: Writable,
        hashes: int,
        seed: int,
        fingerprints: Array,
        mode: int,
        /,
    ) -> tuple[list[bool], int]:
        """Return the verdicts and the number of absent URLs. `counts` has two numbers for each leaf, its set bits and
        its URLs; ADD updates them.

        ADD writes all fingerprints: those of new URLs from the front of `fingerprints`, those of known URLs backwards
        from the place of the last URL.
        """
        ...

    def leaves_fill(
        self,
        runs: Iterable[Array],
        lows: Array,
        last: int,
        leaves: list[Memory],
        counts: Writable,
        hashes: int,
        /,
    ) -> None:
        """Set the bits of fingerprints in neighbouring leaves, and count bits and URLs. Each run is in ascending order.

        Leaf i takes the fingerprints from `lows[i]` up to the next leaf's. Those below `lows[0]` or above `last` are
        skipped.
        """
        ...

    def table_probe(
        self, urls: Sequence[str], shards: list[Memory], counts: Writable, mode: int, factor: int = 1, /
    ) -> tuple[list[bool], int]:
        """Return the verdicts, and by how much the number of digests has changed. The table has the first 64 bits of
        each digest times the factor, an odd number, modulo 2^64. Its order is then unknown to those who do not know the
        factor."""
        ...

    def table_spread(self, shards: list[Memory], index: int, slots: int, /) -> None:
        """Replace a shard by one of at least so many slots, with the same digests."""
        ...

    def block_sums(self, data: Part, /) -> bytes:
        """Return the sum of the 64-bit words of each whole block of 32 KiB: 8 bytes each, all little-endian."""
        ...


class CompiledKernel:
    """The kernel in C. Works only where it was compiled."""

    name = "c"
    fill_budget = 65_536

    def __init__(self) -> None:
        self.hash_many = compiled.hash_many
        self.digest_many = compiled.digest_many
        self.bloom_probe = compiled.bloom_probe
        self.blocked_probe = compiled.blocked_probe
        self.counting_probe = compiled.counting_probe
        self.leaf_probe = compiled.leaf_probe
        self.table_probe = partial(compiled.table_probe, zeros)
        self.table_spread = partial(compiled.table_spread, zeros)
        self.block_sums = compiled.block_sums

    def leaves_fill(self, runs: Iterable[Array], /, *others: Any) -> None:
        for run in runs:
            compiled.leaves_fill(run, *others)


def best_kernel() -> Kernel:
    """Return the kernel that the environment asks for, else the fastest. Raises `KernelRefused` if it is missing."""
    wanted = os.environ.get(_VARIABLE) or None
    if wanted not in (None, *_NAMES):
        raise KernelRefused(f"{_VARIABLE} must be c, numpy or unset, got {wanted!r}")
    if IS_COMPILED and wanted in (None, CompiledKernel.name):
        return CompiledKernel()
    if wanted == CompiledKernel.name:
        raise KernelRefused(
            f"{_VARIABLE}={wanted} asks for the compiled kernel, which was not built here; unset it, or install again"
            " on a machine with a C compiler and Python.h"
        )
    if _COMPILED_VERSION and not IS_COMPILED and wanted is None:
        _warn_of_another_build()
    return cast("Kernel", import_module("visited.bits.numpy_whole").NumpyKernel())


@cache
def _warn_of_another_build() -> None:
    """Warn once: the fallback is ten to twenty times slower, and gives the same results."""
    _LOG.warning(
        "the compiled kernel of the visited sets is of version %d, and this code needs version %d; the slower one in"
        " NumPy is used. Install the package again, or run `python setup.py build_ext --inplace` in a checkout",
        _COMPILED_VERSION,
        _VERSION,
    )
