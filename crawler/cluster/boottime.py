"""The clock of leases."""

import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # macOS has no other that is never set


def boottime() -> float:
    """The time in seconds, by a clock that goes on while the machine sleeps, is never set, and is the same for all its
    processes."""
    return time.clock_gettime(_CLOCK)
