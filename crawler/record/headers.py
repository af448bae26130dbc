"""What the headers of a response say about it, and dates of headers and sitemaps as records write them: RFC 3339."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache

from crawler.page import Response, rfc3339, wanted_headers

_KEPT = (b"content-type", b"last-modified", b"etag", b"cache-control", b"expires", b"date", b"age")
_MAX_AGE_S = 2**31
_MAX_VALIDATOR_CHARACTERS = 1000
"""The frontier keeps the validators of each URL, and servers refuse requests with headers of more than 8 KB."""
_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_IMF_LENGTH = len("Sun, 06 Nov 1994 08:49:37 GMT")
_W3C_DATE = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?)?)?", re.ASCII
)
_W3C_MINIMA = (1, 1, 1, 0, 0, 0)


def record_headers(response: Response) -> dict[bytes, str]:
    """The headers that a record needs, by lower-case name: the first of each name, but all of Cache-Control."""
    found: dict[bytes, str] = {}
    for key, value in wanted_headers(response.headers, _KEPT):
        text = value.decode("latin-1").strip()
        if key not in found:
            found[key] = text
        elif key == b"cache-control":
            found[key] = f"{found[key]}, {text}"
    return found


def validator(header: str | None) -> str | None:
    """An ETag or Last-Modified that can be sent back; None if it is too long for that."""
    return header if header is None or len(header) <= _MAX_VALIDATOR_CHARACTERS else None


def media_type(content_type: str | None) -> str | None:
    """The media type that a Content-Type header names, in lower case."""
    return (content_type.partition(";")[0].strip().lower() or None) if content_type else None


def expires_at(headers: Mapping[bytes, str], fetched_at: float) -> str | None:
    """When the response becomes stale (RFC 9111, section 4.2), by max-age or else by Expires; None if neither is
    given."""
    lifetime_s = _lifetime_s(headers, fetched_at)
    if lifetime_s is None:
        return None
    age = headers.get(b"age", "0")
    age_s = min(int(age[:11]), _MAX_AGE_S) if age.isdecimal() and age.isascii() else 0
    return rfc3339(fetched_at + max(0, lifetime_s - age_s))


def _lifetime_s(headers: Mapping[bytes, str], fetched_at: float) -> int | None:
    cache_control = headers.get(b"cache-control")
    if cache_control:
        directives = dict(_directive(text) for text in cache_control.lower().split(","))
        if "no-store" in directives or "no-cache" in directives:
            return 0
        max_age = directives.get("max-age", "")
        if max_age.isdecimal() and max_age.isascii():
            return min(int(max_age[:11]), _MAX_AGE_S)
    expires = headers.get(b"expires")
    if expires is None:
        return None
    until = http_date(expires)
    if until is None:  # "0" or "-1", for example, which mean that it is stale already
        return 0
    since = http_date(headers.get(b"date", "")) or datetime.fromtimestamp(fetched_at, UTC)
    return min(max(0, (until - since) // timedelta(seconds=1)), _MAX_AGE_S)


def _directive(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip(), value.strip(' \t"')


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
