"""What a visit to a page has found, and what decides when the next one is due."""

from typing import Protocol

import msgspec


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """What a visit to a page has found."""

    changed: bool | None = None
    """Whether the page had changed since the visit before; None if that is not known, as at the first one."""
    gone: bool = False
    """Whether the server had nothing there, the second time in a row."""
    is_sitemap: bool = False
    interval_s: float | None = None
    """How long after the last visit this one was to be; None if it was not planned."""
    history: tuple[int, ...] = ()
    """The last visits, with this one: the seconds since the visit before, negative if nothing had changed since."""
    change_frequency: str | None = None
    """How often the page changes, according to a sitemap."""
    fresh_for_s: float | None = None
    """For how long the server says that its answer is fresh; None if it says nothing."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The intervals between visits: the first one, the shortest and the longest."""

    first_s: float
    min_s: float
    max_s: float

    def clamp(self, interval_s: float) -> float:
        return min(max(interval_s, self.min_s), self.max_s)


class Schedule(Protocol):
    """Decides how long after a visit the next one is due."""

    def interval_s(self, visit: Visit, /) -> float: ...
