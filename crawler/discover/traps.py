"""Recognises crawler traps, which are endless sites, by the URL alone. Pure.

Most traps are mistakes: a relative link that adds a directory each time it is followed, a filter that adds itself to
the query, a calendar with a link to the next month on every page. A URL is refused if it shows more of this than pages
for people ever do. `quota` ends the traps that no URL shows.

Embedded resources lead nowhere else, so their limits are looser: image resizers and combined scripts have long paths
and many parameters.
"""

from collections import Counter
from enum import StrEnum
from functools import cache
from sys import maxsize
from typing import Final

import msgspec

from crawler.discover.calendars import dates_in, find_year, latest_year
from crawler.page import EMBEDDED, SITEMAP, LinkKind
from crawler.url.hrefs import may_repeat
from crawler.url.urls import Target

_LONGEST_SEQUENCE: Final = 4
"""Segments. Before a longer sequence repeats, the path has too many segments."""
_LOOSER_FOR_EMBEDS: Final = 4
"""The factor for all limits."""
_NEAR_YEARS: Final = 100
"""A crawl goes through a calendar step by step. So a number beyond this is a year only if the URL names a calendar."""
_KNOWN: Final = frozenset({LinkKind.SEED, LinkKind.LISTED, SITEMAP})
"""These come from a list, which has an end."""


class Trap(StrEnum):
    """Why a URL is not crawled. Users read these words in records."""

    REPEATED_SEGMENTS = "repeated-segments"
    TOO_MANY_SEGMENTS = "too-many-segments"
    QUERY_GROWTH = "query-growth"
    CALENDAR = "calendar"


class Traps(msgspec.Struct, frozen=True, kw_only=True):
    """Limits; None means no limit."""

    max_segments: int | None = 20
    """Per path."""
    max_repeats: int | None = 2
    """How often a sequence of two to four segments may occur in a row. A single segment may occur once more. Numbers of
    one or two digits, which occur in dates, and placeholders such as `-` may occur twice as often."""
    max_parameters: int | None = 30
    """Per query, without empty ones. The same name with the same value may occur `max_repeats` times."""
    calendar_years: int | None = None
    """How many years after `year` a date may lie."""
    year: int = 0
    """The current year."""

    def refusal(self, target: Target, /, *, kind: LinkKind = LinkKind.LINK) -> Trap | None:
        """The trap that a URL from a link of that kind shows; None if it shows none."""
        path = target.path
        if (
            path.count("/") <= _few_slashes(self.max_segments, self.max_repeats)
            and "?" not in path
            and not find_year(path)
        ):
            return None  # as for many URLs, without looking for each trap
        if kind in EMBEDDED:
            return self._trap_by_shape(path, times=_LOOSER_FOR_EMBEDS)
        if trap := self._trap_by_shape(path, times=1):
            return trap
        if self.calendar_years is None or kind in _KNOWN:
            return None
        return Trap.CALENDAR if self._is_far(path, last=self.year + self.calendar_years) else None

    def _trap_by_shape(self, path: str, *, times: int) -> Trap | None:
        """The trap that the segments and parameters show. `times` multiplies the limits."""
        query = None
        if "?" in path:
            path, _, query = path.partition("?")
        # Few paths need a closer look: those with many segments, or with a segment that occurs more than once.
        count = path.count("/")
        if self.max_segments is not None and count - path.endswith("/") > times * self.max_segments:
            return Trap.TOO_MANY_SEGMENTS
        if self.max_repeats is not None:
            limit = times * self.max_repeats
            if count > limit and may_repeat(path, limit) and _repeats(path.split("/")[1:], limit):
                return Trap.REPEATED_SEGMENTS
        return Trap.QUERY_GROWTH if query is not None and self._grows(query, times=times) else None

    def _grows(self, query: str, *, times: int) -> bool:
        count = query.count("&") + 1
        limit = None if self.max_repeats is None else times * self.max_repeats
        most = None if self.max_parameters is None else times * self.max_parameters
        if (most is None or count <= most) and (limit is None or count <= limit):
            return False
        parameters = [each for each in query.split("&") if not _is_empty(each)]
        count = len(parameters)
        if most is not None and count > most:
            return True
        if limit is None or count - len(set(parameters)) < limit:
            return False
        return max(Counter(parameters).values(), default=0) > limit

    def _is_far(self, path: str, *, last: int) -> bool:
        if latest_year(path) <= last:
            return False
        near = self.year + _NEAR_YEARS
        return any(year > last and (is_sure or year <= near) for year, is_sure in dates_in(path))


@cache
def _few_slashes(max_segments: int | None, max_repeats: int | None) -> int:
    """How many slashes show neither too many segments nor one too often."""
    return min(maxsize if most is None else most for most in (max_segments, max_repeats))


def _is_empty(parameter: str) -> bool:
    """Whether a parameter has no value, or is the rest of an `&amp;`."""
    return not parameter or parameter.endswith("=") or parameter == "amp;"


def _repeats(segments: list[str], limit: int) -> bool:
    """Whether a sequence of segments occurs more than `limit` times in a row, or a single segment too often."""
    count = len(segments)
    for length in range(1, min(_LONGEST_SEQUENCE, count // (limit + 1)) + 1):
        same = 0
        for index in range(length, count):
            segment = segments[index]
            same = same + 1 if segment == segments[index - length] and segment else 0
            if same >= limit * length and (length > 1 or same >= _most_alone(segment, limit)):
                return True
    return False


def _most_alone(segment: str, limit: int) -> int:
    """How often a single segment may occur in a row."""
    says_little = (len(segment) <= 2 and segment.isdigit()) or not any(map(str.isalnum, segment))
    return 2 * limit if says_little else limit + 1
