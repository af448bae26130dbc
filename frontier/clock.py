"""A clock that never runs backwards, and the times that a frontier tells by the system's clock."""

import time
from collections.abc import Callable

import msgspec

from frontier.values import Health, LedgerEntry


def steady_clock() -> Callable[[], float]:
    """A clock in seconds since 1970. It never runs backwards while the process lives, even if the system's clock
    does."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


# What callers see. A frontier's own clock is ahead of the system's by `ahead_s` after that was set back.


def told_time(at: float, *, ahead_s: float) -> float:
    """A time in seconds since 1970; 0 for none."""
    return max(0.0, at - ahead_s) if at else 0.0


def told_health(health: Health, *, ahead_s: float) -> Health:
    if not ahead_s or not health.probe_at:
        return health
    return msgspec.structs.replace(health, probe_at=told_time(health.probe_at, ahead_s=ahead_s))


def told_entry(entry: LedgerEntry, *, links: int, ahead_s: float) -> LedgerEntry:
    """An entry with so many more links to it."""
    if ahead_s and entry.due_ms is not None:
        entry = msgspec.structs.replace(entry, due_ms=max(0, entry.due_ms - round(1000 * ahead_s)))
    return msgspec.structs.replace(entry, hit_count=entry.hit_count + links) if links else entry
