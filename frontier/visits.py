"""What is remembered of the visits to a URL, in bounded space."""

import math

import msgspec

MAX_HISTORY = 12
"""Visits in a history. Each takes five bytes at most."""
_MAX_INTERVAL_S = 1 << 31

History = tuple[int, ...]
"""Visits, the oldest first: the seconds since the visit before, negative if nothing had changed since."""


class LastVisit(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """What the last visit to a URL has found, which is now fetched again."""

    visits: int
    """How often it was fetched."""
    status: int | None = None
    fetched_at: float | None = None
    """Seconds since 1970."""
    digest: bytes | None = None
    history: History = ()
    interval_s: int | None = None
    """How long after the last visit this one was planned."""
    number: int | None = None
    """The record number of the last visit; None if the frontier does not tell."""


class VisitsSince(msgspec.Struct, frozen=True, kw_only=True):
    """The visits since something happened. Numbers tell it also if a clock was set back."""

    number: int = 0
    """The lowest number of such a visit, unless the page waited already; 0 if that is not known."""
    at: float = 0.0
    """Seconds since 1970."""
    latest_at: float = math.inf
    """No visit before was later, in seconds since 1970; infinity if that is not known."""

    def has(self, last_visit: LastVisit) -> bool:
        """Whether the last visit was since then, or nobody knows when it was."""
        if last_visit.number is not None and last_visit.number < self.number:
            # It may have had its number since before, if it waited then.
            return last_visit.fetched_at is not None and last_visit.fetched_at > max(self.at, self.latest_at)
        return last_visit.fetched_at is None or last_visit.fetched_at > self.at


def add_visit(last_visit: LastVisit, *, fetched_at: float, changed: bool) -> History:
    """The history with one more visit. One whose clock ran backwards is left out."""
    if last_visit.fetched_at is None:
        return last_visit.history
    interval_s = min(round(fetched_at - last_visit.fetched_at), _MAX_INTERVAL_S)
    if interval_s <= 0:
        return last_visit.history
    return (*last_visit.history, interval_s if changed else -interval_s)[-MAX_HISTORY:]
