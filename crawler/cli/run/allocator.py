"""Controls which memory the allocator of the system keeps, and which it returns."""

import ctypes
import os
from typing import Final

LARGE_BYTES: Final = 1 << 20
_KEPT_BYTES: Final = 16 << 20
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_ENVIRONMENT: Final = "MALLOC_MMAP_THRESHOLD_"


def settle_allocator() -> bool:
    """Return freed blocks of a megabyte or more to the system at once, and keep smaller ones. Returns whether that
    could be set.

    By default, glibc adjusts this threshold to the blocks that were freed before (see mallopt(3)). Before the first
    large block, it returns the memory of each parsed document and requests it again page by page, which takes as long
    as the parsing. After that it keeps large bodies, up to 32 MB each, in pieces that are hard to reuse. Nothing is set
    if the environment sets the threshold, or without glibc.
    """
    if _ENVIRONMENT in os.environ:
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return (
        mallopt is not None
        and mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES) == 1
        and mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES) == 1
    )
