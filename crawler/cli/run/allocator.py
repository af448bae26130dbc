"""What the system's allocator keeps, and what it gives back."""

import ctypes
import os
from typing import Final

LARGE_BYTES: Final = 1 << 20
_KEPT_BYTES: Final = 16 << 20
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_ENVIRONMENT: Final = "MALLOC_MMAP_THRESHOLD_"


def settle_allocator() -> bool:
    """Have blocks of a megabyte and more go back to the system as soon as they are freed, and smaller ones stay;
    whether that could be set.

    Left to itself, glibc does one or the other, by what was freed before (mallopt(3), on the threshold that it
    adjusts). Until a large block was, it gives back the memory of each parsed document and asks for it again page by
    page, which takes as long as the parsing. After that it keeps large bodies, up to 32 MB each, in pieces that fit
    nothing. Left alone where the environment says otherwise, and where there is no glibc.
    """
    if _ENVIRONMENT in os.environ:
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return (
        mallopt is not None
        and mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES) == 1
        and mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES) == 1
    )
