"""Memory for what is large, given back to the system as soon as it is let go.

What a C library frees it mostly keeps: glibc takes pieces of up to 32 MiB from its heap once a piece of that size was
freed, and a table that grows step by step leaves holes there as large as itself. What the table tells of its size is
then half of what the process takes, or all of it, as the history of the process will have it. So whatever is large is
mapped for itself, and unmapped with the last reference to it.
"""

import contextlib
import ctypes
import mmap
import sys
from pathlib import Path

Memory = bytearray | mmap.mmap

_MAPPED_FROM_BYTES = 1 << 14
"""Below it a map's last page, half of it unused, would cost more than a hole in the heap."""
_HUGE_FROM_BYTES = 4 << 20
GRAIN_BYTES = 16
"""CPython and glibc hand out memory in multiples of it."""


def zeros(size_bytes: int) -> Memory:
    """So many bytes, all of them zero."""
    if size_bytes < _MAPPED_FROM_BYTES:
        return bytearray(size_bytes)
    try:
        found = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        # A process may have some 65,000 maps; where there is no memory either, this fails too.
        return bytearray(size_bytes)
    if size_bytes >= _HUGE_FROM_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        # Bits in random places are found twice as fast; a system without huge pages refuses.
        with contextlib.suppress(OSError):
            found.madvise(mmap.MADV_HUGEPAGE)
    return found


def held_bytes(size_bytes: int) -> int:
    """What `zeros` of this size takes."""
    if size_bytes < _MAPPED_FROM_BYTES:
        # A byte more than was asked for, where there is any.
        return object_bytes(bytearray()) + (_in_grains(size_bytes + 1) if size_bytes else 0)
    return -(-size_bytes // mmap.PAGESIZE) * mmap.PAGESIZE


def object_bytes(small: object) -> int:
    """What a small object takes of the heap, which is a little more than its size."""
    return _in_grains(sys.getsizeof(small))


def give_back() -> None:
    """Have the C library give back what is free in its heap, all of it."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except AttributeError:
        return  # only glibc has it


def mapped_files(directory: Path) -> int:
    """How many files of the directory the process has mapped; 0 where the system does not tell."""
    place = f" {directory.resolve()}/"
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return 0
    # Part of a file may be mapped apart, and a file that was deleted meanwhile is none of the directory.
    return len({name for _, _, name in (line.partition(place) for line in maps) if name and "(deleted)" not in name})


def _in_grains(size_bytes: int) -> int:
    return -(-size_bytes // GRAIN_BYTES) * GRAIN_BYTES
