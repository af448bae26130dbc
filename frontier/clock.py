"""A clock that never runs backwards."""

import time
from collections.abc import Callable


def steady_clock() -> Callable[[], float]:
    """A clock in seconds since 1970. It never runs backwards while the process lives, even if the system's clock
    does."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()
