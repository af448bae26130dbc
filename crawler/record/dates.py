"""Dates of headers and sitemaps as records write them: RFC 3339, UTC."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_MONTH_DIGITS = {name: f"{number:02}" for name, number in _MONTHS.items()}
_IMF_LENGTH = len("Sun, 06 Nov 1994 08:49:37 GMT")
_W3C_DATE = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?)?)?", re.ASCII
)
_W3C_MINIMA = (1, 1, 1, 0, 0, 0)


def http_date(text: str, /) -> datetime | None:
    """An HTTP date (RFC 9110, section 5.6.7, and the older forms) in UTC; None if `text` is no such date."""
    try:
        if len(text) == _IMF_LENGTH and text.endswith(" GMT"):
            return datetime(
                int(text[12:16]),
                _MONTHS[text[8:11]],
                int(text[5:7]),
                int(text[17:19]),
                int(text[20:22]),
                min(int(text[23:25]), 59),  # leap seconds
                tzinfo=UTC,
            )
        moment = parsedate_to_datetime(text)
    except (ValueError, KeyError, TypeError, IndexError, OverflowError):
        return None
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        return None


def header_time(text: str | None) -> str | None:
    """An HTTP date as records write it; None if `text` is no such date."""
    if not text:
        return None
    return _cached_time(text) if len(text) == _IMF_LENGTH else _time_of(text)


def _time_of(text: str) -> str | None:
    return _usual_time(text) or _unusual_time(text)


def _usual_time(text: str) -> str | None:
    """The same for the form that nearly all servers send, in a third of the time; None for others."""
    month = _MONTH_DIGITS.get(text[8:11])
    if month is None or len(text) != _IMF_LENGTH or not (text.endswith(" GMT") and text[19] == text[22] == ":"):
        return None
    written = f"{text[12:16]}-{month}-{text[5:7]}T{text[17:25]}"
    try:
        datetime.fromisoformat(written)
    except ValueError:
        return None
    return f"{written}Z"


def _unusual_time(text: str) -> str | None:
    moment = http_date(text)
    return None if moment is None else moment.isoformat()[:-6] + "Z"


_cached_time = lru_cache(maxsize=1000)(_time_of)
"""Saves 2 us a page where many pages changed at the same moment. It takes texts of one length alone, because a server
may send long ones."""


def w3c_time(text: str | None, /) -> str | None:
    """A date of a sitemap (https://www.w3.org/TR/NOTE-datetime) as records write it; None if `text` is no such date.

    A date that names only a year, a month or a day means its beginning.
    """
    match = _W3C_DATE.fullmatch(text.strip()) if text else None
    if match is None:
        return None
    year, month, day, hour, minute, second = (
        int(field or minimum) for field, minimum in zip(match.groups(), _W3C_MINIMA, strict=False)
    )
    try:
        zone = datetime.strptime(match[7].replace(":", ""), "%z").tzinfo if match[7] else UTC
        moment = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat()[:-6] + "Z"
