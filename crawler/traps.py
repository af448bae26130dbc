"""Places where a crawl would never end, known by a URL alone. Pure.

Nobody makes these on purpose: a relative link that adds a directory each time it is followed, a filter that adds itself
to the query, a calendar whose next month is always a link away. A URL is refused, with a name, when it shows more of
that than any page that people read. What a URL alone does not show, `quota` ends by number.
"""

import re
from collections import Counter
from enum import StrEnum
from typing import Final

import msgspec

from crawler.hrefs import may_repeat
from crawler.urls import Target

_LONGEST_SEQUENCE: Final = 4
"""Segments; longer ones come back too seldom before a path has too many segments."""

_DATE: Final = re.compile(r"(?<![0-9])([1-9][0-9]{3})[-/_](?:0?[1-9]|1[0-2])(?![0-9])")
_YEAR: Final = re.compile(r"[?&;](?:\w{0,12}[_-])?(?:year|yr|jahr|annee)=([0-9]{4})(?![0-9])", re.IGNORECASE)
_CALENDAR: Final = re.compile(
    r"calend|kalend|[?&;](?:\w{0,12}[_-])?(?:month|date|day|week|monat|datum|tag)=", re.IGNORECASE
)
_NEAR_YEARS: Final = 50
"""A calendar is walked step by step: years beyond this are numbers of something else."""


class Trap(StrEnum):
    """Why a URL is not crawled. The words are what users read in records."""

    REPEATED_SEGMENTS = "repeated-segments"
    TOO_MANY_SEGMENTS = "too-many-segments"
    QUERY_GROWTH = "query-growth"
    CALENDAR = "calendar"


class Traps(msgspec.Struct, frozen=True, kw_only=True):
    """Limits; None means no limit."""

    max_segments: int | None = 20
    """Of a path."""
    max_repeats: int | None = 2
    """How often a segment, or a sequence of up to four, may stand in a row; numbers of one or two digits, as dates have
    them, twice as often."""
    max_parameters: int | None = 30
    """Of a query; the same name with the same value may stand there `max_repeats` times."""
    calendar_years: int | None = None
    """How far from `year` a date may lie ahead, and in calendars also back."""
    year: int = 0
    """That it is now."""

    def refusal(self, target: Target, /) -> Trap | None:
        """Which trap the URL shows; None if none."""
        path, query = target.path, None
        if "?" in path:
            path, _, query = path.partition("?")
        # Few paths need a closer look: they have many segments, or some that stand there more than once.
        count = path.count("/")
        if self.max_segments is not None and count - path.endswith("/") > self.max_segments:
            return Trap.TOO_MANY_SEGMENTS
        if self.max_repeats is not None and count > self.max_repeats and may_repeat(path, self.max_repeats):
            segments = path.split("/")[1:]
            if _repeats(segments, self.max_repeats):
                return Trap.REPEATED_SEGMENTS
        if query is not None and self._grows(query):
            return Trap.QUERY_GROWTH
        return Trap.CALENDAR if self.calendar_years is not None and self._is_far(target.path) else None

    def _grows(self, query: str) -> bool:
        count = query.count("&") + 1
        if self.max_parameters is not None and count > self.max_parameters:
            return True
        if self.max_repeats is None or count <= self.max_repeats:
            return False
        parameters = query.split("&")
        return count - len(set(parameters)) >= self.max_repeats and max(Counter(parameters).values()) > self.max_repeats

    def _is_far(self, path: str) -> bool:
        assert self.calendar_years is not None
        years = [int(found[1]) for pattern in (_DATE, _YEAR) for found in pattern.finditer(path)]
        first, last = self.year - self.calendar_years, self.year + self.calendar_years
        if any(last < year <= last + _NEAR_YEARS for year in years):
            return True
        return any(year < first or year > last for year in years) and _CALENDAR.search(path) is not None


def _repeats(segments: list[str], limit: int) -> bool:
    """Whether a sequence of segments stands more than `limit` times in a row."""
    count = len(segments)
    for length in range(1, min(_LONGEST_SEQUENCE, count // (limit + 1)) + 1):
        same = 0
        for index in range(length, count):
            same = same + 1 if segments[index] == segments[index - length] and segments[index] else 0
            if same >= limit * length:
                short = length == 1 and len(segments[index]) <= 2 and segments[index].isdigit()
                if not short or same >= 2 * limit:
                    return True
    return False
