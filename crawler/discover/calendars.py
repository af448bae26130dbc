"""Finds dates in URLs. Pure.

Numbers that look like years are everywhere: sizes of images, ids, versions. So a date must have the form of one: a day,
or the month of a calendar, in a path segment or parameter of its own.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Final

_YEAR: Final = "([2-9][0-9]{3})"
_MONTH: Final = "(?:0[1-9]|1[0-2])"
_DAY: Final = "(?:0[1-9]|[12][0-9]|3[01])"
_LOOSE_MONTH: Final = "(?:0?[1-9]|1[0-2])"
_LOOSE_DAY: Final = "(?:0?[1-9]|[12][0-9]|3[01])"
_END: Final = r"(?=$|[/?&;#.]|T[0-9])"
_SLASH: Final = "(?:/|%2[Ff])"

_ANY_YEAR: Final = re.compile(r"[2-9](?<![0-9].)[0-9]{3}")
"""The first digit stands before the look-behind, because Python searches for it faster so."""


find_year: Final = _ANY_YEAR.search
"""Whether a path and query have a number that may be a year, from 2000 on."""


@cache
def _date() -> re.Pattern[str]:
    return re.compile(
        # /2040/05/01, /2040-05-01, /2040_05_01, /2040/05 at the root
        rf"/{_YEAR}/{_MONTH}/{_DAY}(?=$|[/?.])|/{_YEAR}([-_]){_MONTH}\3{_DAY}{_END}|^/{_YEAR}/{_MONTH}/?(?=$|\?)"
        # =2040-05-01, =2040/05/01, =01.05.2040, =5/1/2040
        rf"|[?&;][^?=&;]*=(?:{_YEAR}([-/.]|%2[Ff]){_MONTH}\6{_DAY}(?=$|[&;T+ ]|%20)"
        rf"|(?:{_LOOSE_DAY}\.{_LOOSE_MONTH}\.|{_LOOSE_MONTH}{_SLASH}{_LOOSE_DAY}{_SLASH}){_YEAR}(?=$|[&;+ ]|%20))"
        # date=2040-05, date=204005, date=20400501
        r"|[?&;][^?=&;]{0,40}(?:date|datum|fecha|day|month|monat|mois|week|calend|kalend)[^?=&;]{0,40}="
        rf"{_YEAR}-?{_MONTH}{_DAY}?(?=$|[&;])",
        re.IGNORECASE,
    )


_PART_OF_YEAR: Final = re.compile(
    rf"[?&;](?:[\w-]*[_-])?(?:month|mon|monat|mois|mes|week|woche|kw|day)={_LOOSE_DAY}(?=$|[&;])", re.IGNORECASE
)
_YEAR_PARAMETER: Final = re.compile(rf"[?&;](?:[\w-]*[_-])?(?:year|yr|jahr|annee|ano)={_YEAR}(?=$|[&;])", re.IGNORECASE)
_CALENDAR: Final = re.compile("calend|kalend|agenda", re.IGNORECASE)


@cache
def _of_calendar() -> re.Pattern[str]:
    return re.compile(
        # At the end of the path, perhaps before a file extension or the name of a view.
        rf"(?:/{_YEAR}([-/_]){_LOOSE_MONTH}(?:\2{_LOOSE_DAY})?|(?<![0-9])[-_]{_YEAR}-{_MONTH}-{_DAY})"
        r"(?:\.[a-z]+|/(?:month|week|day|list))?/?(?=$|\?)"
        rf"|[?&;][^?=&;]*={_YEAR}[-/.]?{_MONTH}(?=$|[&;])",
        re.IGNORECASE,
    )


@cache
def _of_events() -> re.Pattern[str]:
    return re.compile(
        r"/(?:[a-z]+[-_])?(?:events?|termine?|veranstaltungen|months?|monat|mois|weeks?|days?|schedule|diary)"
        rf"(?:/list|/month|/day|/week)?/{_YEAR}[-/_]{_MONTH}(?![0-9A-Za-z])",
        re.IGNORECASE,
    )


def latest_year(path: str, /) -> int:
    """The greatest number in a path and query that may be a year, from 2000 on; 0 if there is none."""
    years = _ANY_YEAR.findall(path)
    return int(max(years)) if years else 0


def dates_in(path: str, /) -> Iterator[tuple[int, bool]]:
    """The years of the dates in a path and query, each with whether the URL names a calendar."""
    is_calendar = _CALENDAR.search(path) is not None
    patterns = [_date(), _of_calendar() if is_calendar else _of_events()]
    for found in chain.from_iterable(pattern.finditer(path) for pattern in patterns):
        yield next(int(group) for group in found.groups() if group and len(group) == 4), is_calendar
    if is_calendar or _PART_OF_YEAR.search(path):
        for found in _YEAR_PARAMETER.finditer(path):
            yield int(found[1]), True
