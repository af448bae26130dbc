"""Time that does not run backwards."""

import time
from collections.abc import Callable


def steady_clock() -> Callable[[], float]:
    """Seconds since 1970 that never run backwards while the process lives, whatever is done to the system's clock."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()
