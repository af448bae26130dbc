"""What a kernel reads and writes, and memory for large arrays, which returns to the system as soon as it is freed.

A C library keeps most of what a program frees. Once a block of up to 32 MiB was freed, glibc serves blocks of that size
from its heap, and a table that grows step by step leaves holes there as large as itself. The process would then use up
to twice what the table reports. So each large array gets a memory map of its own, which ends with the last reference.
"""

import contextlib
import ctypes
import mmap
import sys
from pathlib import Path
from typing import Protocol


class Array(Protocol):
    """An array of NumPy, or `array.array`: numbers in one block of memory. It names no type of NumPy, so that nothing
    imports it for that."""

    @property
    def itemsize(self) -> int:
        """The bytes of a number."""
        ...


Memory = bytearray | mmap.mmap
Writable = Memory | memoryview | Array
Part = bytes | Memory | memoryview

_MAPPED_FROM_BYTES = 1 << 14
"""For smaller arrays the half-empty last page of a map would cost more than a hole in the heap."""
_HUGE_FROM_BYTES = 4 << 20
ALLOCATION_UNIT_BYTES = 16
"""CPython and glibc allocate in multiples of it."""


def zeros(size_bytes: int) -> Memory:
    """Allocate an array of zero bytes."""
    if size_bytes < _MAPPED_FROM_BYTES:
        return bytearray(size_bytes)
    try:
        memory = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        # A process may have about 65,000 maps. If memory is short, the next line fails too.
        return bytearray(size_bytes)
    if size_bytes >= _HUGE_FROM_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        # Random access to bits is twice as fast. A system without huge pages refuses.
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def allocated_bytes(size_bytes: int) -> int:
    """The bytes that `zeros` of this size uses."""
    if size_bytes < _MAPPED_FROM_BYTES:
        # A bytearray that is not empty has one byte more.
        return object_bytes(bytearray()) + (_round_up(size_bytes + 1) if size_bytes else 0)
    return -(-size_bytes // mmap.PAGESIZE) * mmap.PAGESIZE


def object_bytes(small: object) -> int:
    """The bytes that a small object uses of the heap: a little more than its size."""
    return _round_up(sys.getsizeof(small))


def trim_heap() -> None:
    """Make the C library return all free memory of its heap to the system."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except AttributeError:
        return  # only glibc has it


def count_mapped_files(directory: Path) -> int:
    """Count the files of the directory that the process has mapped; 0 where the system does not say."""
    place = f" {directory.resolve()}/"
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return 0
    # One file may have several maps. A deleted file no longer belongs to the directory.
    return len({name for _, _, name in (line.partition(place) for line in maps) if name and "(deleted)" not in name})


def _round_up(size_bytes: int) -> int:
    return -(-size_bytes // ALLOCATION_UNIT_BYTES) * ALLOCATION_UNIT_BYTES
