"""What the headers of a response say about it."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from crawler.page import Response, rfc3339, wanted_headers
from crawler.record.dates import http_date

_KEPT = (b"content-type", b"last-modified", b"etag", b"cache-control", b"expires", b"date", b"age")
_MAX_AGE_S = 2**31
_MAX_VALIDATOR_CHARACTERS = 1000
"""The frontier keeps the validators of each URL, and servers refuse requests with headers of more than 8 KB."""


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
