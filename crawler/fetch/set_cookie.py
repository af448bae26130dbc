"""Reads Set-Cookie headers as browsers do, by RFC 6265bis, and says to which requests a cookie belongs. Pure.

Unlike the RFC, we ignore a cookie with a tab in it, and an attribute beyond ASCII.
"""

import re
from datetime import UTC, datetime
from typing import Final

import msgspec
from yarl import URL

from crawler.url.hosts import is_address

_MAX_ATTRIBUTE_CHARACTERS: Final = 1024
"""Section 5.6: a longer attribute is ignored."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""Section 5.7: a header with one of these is ignored."""
_SPACE: Final = " \t"
_AGE: Final = re.compile(r"-?[0-9]+")
_LONGEST_S: Final = 10 * 366 * 86_400
"""A longer Max-Age counts as this."""
_DATE_TOKEN: Final = re.compile(r"[^\x09\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+")
_TIME: Final = re.compile(r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?![0-9])")
_DAY: Final = re.compile(r"([0-9]{1,2})(?![0-9])")
_MONTH: Final = re.compile(r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE)
_YEAR: Final = re.compile(r"([0-9]{2,4})(?![0-9])")
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_FIRST_YEAR: Final = 1601


class Cookie(msgspec.Struct, frozen=True):
    """One cookie."""

    name: str
    """Empty if the header named only a value."""
    value: str
    domain: str
    """Where it came from, or what its Domain says."""
    is_for_host_alone: bool
    """Whether names below `domain` do not get it."""
    path: str
    is_secure: bool
    expires_at: float | None
    """Seconds since 1970; None for a session cookie."""

    @property
    def sent(self) -> str:
        """What stands in a request: section 5.8.3."""
        return f"{self.name}={self.value}" if self.name else self.value

    @property
    def identity(self) -> tuple[str, str, str]:
        """A new cookie replaces one with the same identity."""
        return self.domain, self.path, self.name

    def has_ended(self, now: float) -> bool:
        return self.expires_at is not None and self.expires_at <= now

    def is_for(self, url: URL) -> bool:
        """Whether a request for the URL gets it, while it has not ended: section 5.8.3."""
        host = url.raw_host or ""
        if host != self.domain and (self.is_for_host_alone or not _is_below(host, self.domain)):
            return False
        return (url.scheme == "https" or not self.is_secure) and _is_path_below(url.raw_path, self.path)

    def overlays(self, other: "Cookie") -> bool:
        """Whether a server may get this one in place of the other: section 5.7, step 16, about `Secure`."""
        return (
            self.name == other.name
            and (
                self.domain == other.domain
                or _is_below(self.domain, other.domain)
                or _is_below(other.domain, self.domain)
            )
            and _is_path_below(self.path, other.path)
        )


def read_set_cookie(header: str, url: URL, received_at: float) -> Cookie | None:
    """The cookie that a response from the URL sets; None if the header is none, or may not set it. `received_at` is in
    seconds since 1970. A cookie that has ended takes back the one with its identity."""
    if _CONTROL.search(header):
        return None
    pair, _, rest = header.partition(";")
    name, equals, value = (part.strip(_SPACE) for part in pair.partition("="))
    if not equals:
        name, value = "", name
    if not (name or value) or "\t" in f"{name}{value}":
        return None
    attributes = _attributes(rest)
    host = url.raw_host or ""
    domain = attributes.get("domain", "").removeprefix(".").lower()
    if domain not in ("", host) and not _is_below(host, domain):
        return None
    path = attributes.get("path", "")
    is_secure = "secure" in attributes
    # A nameless cookie is sent as its value, so a server would take the beginning of that for its name.
    if not _may_be_named((name or value).lower(), is_secure, path, domain) or (is_secure and url.scheme != "https"):
        return None
    return Cookie(
        name,
        value,
        domain or host,
        not domain,
        path if path.startswith("/") else _default_path(url),
        is_secure,
        _expiry(attributes, received_at),
    )


def _attributes(text: str) -> dict[str, str]:
    """By their names in lower case; the last of each name counts."""
    found = {}
    for attribute in text.split(";"):
        name, _, value = (part.strip(_SPACE) for part in attribute.partition("="))
        if value.isascii() and len(value) <= _MAX_ATTRIBUTE_CHARACTERS:
            found[name.lower()] = value
    return found


def _may_be_named(name: str, is_secure: bool, path: str, domain: str) -> bool:
    """Whether a cookie has what the prefix of its name promises: section 4.1.3. `path` and `domain` as in the
    header."""
    if name.startswith("__host-"):
        return is_secure and path == "/" and not domain
    return is_secure or not name.startswith("__secure-")


def _default_path(url: URL) -> str:
    """Section 5.1.4."""
    return url.raw_path.rpartition("/")[0] or "/"


def _expiry(attributes: dict[str, str], received_at: float) -> float | None:
    age = attributes.get("max-age", "")
    if _AGE.fullmatch(age):
        return received_at + min(max(int(age), 0), _LONGEST_S)
    return read_cookie_date(attributes.get("expires", ""))


def read_cookie_date(text: str, /) -> float | None:
    """Seconds since 1970, by section 5.1.1: in any order, and with anything in between; None if it is no date."""
    time = day = month = year = None
    for token in _DATE_TOKEN.findall(text):
        if time is None and (time := _TIME.match(token)) is not None:
            continue
        if day is None and (day := _DAY.match(token)) is not None:
            continue
        if month is None and (month := _MONTH.match(token)) is not None:
            continue
        if year is None:
            year = _YEAR.match(token)
    if time is None or day is None or month is None or year is None:
        return None
    number = int(year[1])
    if number < 100:
        number += 2000 if number < 70 else 1900
    month_number = _MONTHS.index(month[1].lower()) + 1
    try:
        date = datetime(number, month_number, int(day[1]), int(time[1]), int(time[2]), int(time[3]), tzinfo=UTC)
    except ValueError:
        return None
    return date.timestamp() if number >= _FIRST_YEAR else None


def _is_below(host: str, domain: str) -> bool:
    return host.endswith(f".{domain}") and not is_address(f"[{host}]" if ":" in host else host)


def _is_path_below(path: str, cookie_path: str) -> bool:
    """Section 5.1.4."""
    return path == cookie_path or (
        path.startswith(cookie_path) and (cookie_path.endswith("/") or path[len(cookie_path)] == "/")
    )
