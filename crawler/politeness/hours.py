"""When a host may be asked: at certain hours of certain days, in a time zone. Pure.

Hours are written as days, a span of time and a time zone. Days and time zone may be left out. Semicolons separate
several:

    22:00-06:00                          each night, UTC
    Mon-Fri 19:00-07:00 Europe/Vienna    nights that begin on a working day
    22:00-06:00; Sat,Sun 06:00-22:00     nights and week-ends

They are local times, also on the days on which daylight saving time begins or ends.
"""

import re
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

CLOSED: Final = "its hours"
"""Why a host is not asked now."""
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_FORM: Final = re.compile(
    r"(?:(?P<days>[A-Za-z]{3}(?:[-,][A-Za-z]{3})*)\s+)?"
    r"(?P<begin>\d{1,2}:\d{2})-(?P<end>\d{1,2}:\d{2})(?:\s+(?P<zone>[A-Za-z][A-Za-z0-9_+/-]*))?"
)
_DAY_MIN: Final = 24 * 60
_EXPECTED: Final = "expected days, hours and a time zone, as 'Mon-Fri 22:00-06:00 Europe/Vienna', or hours alone"


class Hours:
    """Spans of time that recur each week."""

    def __init__(self, text: str) -> None:
        """Raises `ValueError`, which says what was expected, if `text` can't be read."""
        self._spans = [_Span(span.strip()) for span in text.split(";")]
        self._until = self._since = 0.0
        """The span that the last call found, in seconds since 1970."""

    def opens_in_s(self, now: float, /) -> float:
        """How long until one of the spans begins; 0 within one. `now` is in seconds since 1970."""
        if self._since <= now < self._until:
            return 0.0
        spans = sorted(span for each in self._spans for span in each.around(now))
        for begin, end in spans:
            if begin <= now < end:
                self._since, self._until = begin, end
                return 0.0
        return min(begin for begin, _ in spans if begin > now) - now


class _Span:
    """A span of time on some days."""

    def __init__(self, text: str) -> None:
        match = _FORM.fullmatch(text)
        if match is None:
            raise ValueError(f"{_EXPECTED}, found {text!r}")
        begin_min, end_min = _minutes(match["begin"]), _minutes(match["end"])
        self._days = _days(match["days"])
        self._begin_min = begin_min
        self._end_min = end_min if end_min > begin_min else end_min + _DAY_MIN
        try:
            self._zone = read_zone(match["zone"] or "UTC")
        except ValueError as error:
            raise ValueError(f"{_EXPECTED}; {error}") from None

    def around(self, now: float) -> list[tuple[float, float]]:
        """Begin and end of its occurrences, from the day before `now` until it has recurred. Seconds since 1970."""
        today = datetime.fromtimestamp(now, self._zone).date()
        days = (today + timedelta(days=offset) for offset in range(-1, 9))
        return [
            (self._at(day, self._begin_min), self._at(day, self._end_min))
            for day in days
            if day.weekday() in self._days
        ]

    def _at(self, day: date, minutes: int) -> float:
        """When local clocks show this many minutes after the midnight at which the day begins."""
        days, minutes = divmod(minutes, _DAY_MIN)
        shown = datetime.combine(day + timedelta(days=days), time(*divmod(minutes, 60)), self._zone)
        return shown.timestamp()


def _minutes(text: str) -> int:
    hours, minutes = (int(number) for number in text.split(":"))
    if minutes > 59 or hours * 60 + minutes > _DAY_MIN:
        raise ValueError(f"{_EXPECTED}; {text} is no time of day, which is 00:00 to 24:00")
    return hours * 60 + minutes


def _days(text: str | None) -> frozenset[int]:
    if text is None:
        return frozenset(range(7))
    found: set[int] = set()
    for days in text.lower().split(","):
        first, _, last = days.partition("-")
        begin, end = _day(first), _day(last or first)
        found.update((begin + offset) % 7 for offset in range((end - begin) % 7 + 1))
    return frozenset(found)


def _day(name: str) -> int:
    if name not in _DAYS:
        raise ValueError(f"{_EXPECTED}; {name!r} is no day, which are {', '.join(day.capitalize() for day in _DAYS)}")
    return _DAYS.index(name)


def read_zone(name: str) -> ZoneInfo:
    """A time zone. Raises `ValueError` if this machine does not know it."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"this machine knows no time zone {name!r}: check its name, or bring them all with `pip install tzdata`"
        ) from None
