"""How long it is from a visit to the next one, by what the visit has found."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

import msgspec

_SHORTER: Final = 0.8
_LONGER: Final = 1.2
_DAY_S: Final = 86_400.0
_FREQUENCIES_S: Final[Mapping[str, float]] = {
    "always": 0.0,
    "hourly": 3600.0,
    "daily": _DAY_S,
    "weekly": 7 * _DAY_S,
    "monthly": 30 * _DAY_S,
    "yearly": 365 * _DAY_S,
    "never": math.inf,
}
"""How long after each other changes of a page are, by its <changefreq>."""


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


class Fixed:
    """The same interval always."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s

    def interval_s(self, _visit: Visit, /) -> float:
        return self._interval_s


class ByCache:
    """When the server says that its answer is stale."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds

    def interval_s(self, visit: Visit, /) -> float:
        return self._bounds.clamp(self._bounds.first_s if visit.fresh_for_s is None else visit.fresh_for_s)


class BySitemap:
    """Sitemaps often; pages when a sitemap says that they have changed, or as often as it says that they change, or
    else seldom."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds

    def interval_s(self, visit: Visit, /) -> float:
        if visit.is_sitemap:
            return self._bounds.first_s
        return self._interval_s(visit.change_frequency)

    def is_due(self, *, since_s: float, has_changed: bool, change_frequency: str | None) -> bool:
        """Whether a sitemap that is read `since_s` after the last visit of a page is a reason to visit it."""
        return since_s >= (self._bounds.min_s if has_changed else self._interval_s(change_frequency))

    def _interval_s(self, change_frequency: str | None) -> float:
        return self._bounds.clamp(_FREQUENCIES_S.get(change_frequency or "", math.inf))


class Adaptive:
    """Sooner after a change, later without one."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds

    def interval_s(self, visit: Visit, /) -> float:
        interval_s = self._bounds.first_s if visit.interval_s is None else visit.interval_s
        if visit.changed is not None:
            interval_s *= _SHORTER if visit.changed else _LONGER
        return self._bounds.clamp(interval_s)


class ByPattern:
    """An interval for the URLs in which a pattern is found; the first one counts. Others have a schedule. A page that
    is gone has an interval of its own."""

    def __init__(
        self, patterns: Sequence[tuple[Callable[[str], object], float]], others: Schedule, *, gone_s: float
    ) -> None:
        self._patterns = patterns
        self._others = others
        self._gone_s = gone_s

    def interval_s(self, url: str, visit: Visit, /) -> float:
        if visit.gone:
            return self._gone_s
        for search, interval_s in self._patterns:
            if search(url):
                return interval_s
        return self._others.interval_s(visit)
