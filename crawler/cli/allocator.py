"""Makes the system's allocator give back what bodies took."""

import ctypes
import os
from typing import Final

LARGE_BYTES: Final = 1 << 20
_M_MMAP_THRESHOLD: Final = -3
_ENVIRONMENT: Final = "MALLOC_MMAP_THRESHOLD_"


def return_large_blocks() -> bool:
    """Have blocks of a megabyte and more go back to the system as soon as they are freed; whether that could be set.

    Otherwise glibc keeps them once the first of them has been freed, up to 32 MB each (mallopt(3), on the threshold
    that it adjusts): a crawl that has met a few large bodies would stay large, in pieces that fit nothing. Left alone
    where the environment says otherwise, and where there is no glibc.
    """
    if _ENVIRONMENT in os.environ:
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES) == 1
