"""Stores cookies, by RFC 6265 and, for `Secure` and the prefixes of names, RFC 6265bis.

Each site, which is a registered domain or an address, has a jar of its own, so that no site ever gets a cookie of
another, whatever domain the cookie claims. We store the Set-Cookie headers themselves, durably: a resumed crawl is the
same visitor, even for cookies that a browser would drop when it is closed.

Cookies are octets. The client reads and writes headers as UTF-8, so a cookie is not stored if its name or value is not
UTF-8.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from http.cookies import CookieError
from time import time
from typing import Final

import msgspec
from aiohttp import CookieJar
from yarl import URL

from crawler.notes import NoteKind, Notes, read_note
from crawler.url.hosts import registered_domain

MAX_BYTES: Final = 4096
"""Per header: RFC 6265, section 6.1, requires no more."""
MAX_PER_SITE: Final = 50
"""From the same section."""
NOTES: Final = NoteKind(word="cookies", host_of=str)
"""By registered domain, or address."""
_REMEMBERED: Final = 10_000
"""Sites in memory; others are read from the notes on demand."""
_REMEMBERED_BYTES: Final = 64_000_000
_SITE_BYTES: Final = 4_000
_COOKIE_BYTES: Final = 600
"""And twice its header. Measured by `tests.bench.memory`."""
_MAX_AGE: Final = re.compile(r";\s*max-age\s*=\s*(-?[0-9]{1,18})\s*(?=;|$)", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(r";\s*(domain|path|secure)\s*(?:=\s*([^;]*)|(?=;|$))", re.IGNORECASE)
_IN_1970: Final = re.compile(r"(;\s*expires\s*=)[^;]*\b(?:19)?70\b[^;]*", re.IGNORECASE)
_QUOTED: Final = re.compile(r'["\\]')
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""RFC 6265bis, section 5.7: a header with one of these is ignored."""


class StoredCookie(msgspec.Struct, frozen=True):
    """A Set-Cookie header, with the URL and time of its response."""

    url: str
    header: str
    received_at: float
    """Seconds since 1970."""


_DECODER: Final = msgspec.msgpack.Decoder(list[StoredCookie])
_Identity = tuple[str, str, str]
"""The domain, path and name of a cookie. A new cookie replaces one with the same identity."""


class _Site:
    """The cookies of one site. `stored` is what we save; the jar knows which cookies to send."""

    def __init__(self, stored: Sequence[StoredCookie], now: float) -> None:
        """Raises `ValueError` or `OverflowError` for damaged data."""
        self.jar = _jar()
        self.stored: dict[_Identity, StoredCookie] = {}
        for cookie in stored:
            if (header := _age(cookie, now)) is not None:
                self.add(cookie, header)

    @property
    def size_bytes(self) -> int:
        """About what it takes in memory."""
        return _SITE_BYTES + sum(_COOKIE_BYTES + 2 * len(cookie.header) for cookie in self.stored.values())

    def add(self, cookie: StoredCookie, header: str) -> None:
        """Add a cookie, if it is allowed and there is space. `header` is its header as of now."""
        url = URL(cookie.url, encoded=True)
        if not _is_allowed(url, header, _attributes(header)):
            return
        alone, header = _jar(), _for_jar(header)
        try:
            alone.update_cookies_from_headers([header], url)
        except CookieError:  # Python refuses a cookie with a tab in its value or path
            return
        key = next(iter(_held(alone)), None)  # None if the server takes a cookie back
        if key is not None and key not in self.stored:
            self._drop_ended()
            if len(self.stored) >= MAX_PER_SITE:
                return
        self.jar.update_cookies_from_headers([header], url)
        if key is None:
            self._drop_ended()
        else:
            self.stored[key] = cookie

    def _drop_ended(self) -> None:
        """Forget what the jar does not hold any more, such as cookies that have expired."""
        held = _held(self.jar)
        self.stored = {key: cookie for key, cookie in self.stored.items() if key in held}


class Cookies:
    """The cookies of a crawl. To be made inside the running event loop."""

    def __init__(self, notes: Notes, *, clock: Callable[[], float] = time) -> None:
        self._notes = notes
        self._clock = clock
        self._sites: OrderedDict[str, _Site] = OrderedDict()
        self._size_bytes = 0

    def header(self, url: URL, /) -> str | None:
        """The value of the header Cookie for a request; None if there are no cookies."""
        found = self._site(url).jar.filter_cookies(url)
        return "; ".join(f"{name}={morsel.coded_value}" for name, morsel in found.items()) or None

    def learn(self, url: URL, set_cookies: Sequence[str], /) -> None:
        """Store the cookies that a response from the URL sets."""
        if not set_cookies:
            return
        site = self._site(url)
        now, before = self._clock(), site.size_bytes
        for each in set_cookies[:MAX_PER_SITE]:
            header = _text(each)
            if header is not None and len(header.encode()) <= MAX_BYTES:
                site.add(StoredCookie(str(url), header, now), header)
        self._size_bytes += site.size_bytes - before
        self._notes.put(_key(url), msgspec.msgpack.encode(list(site.stored.values())))
        self._drop_oldest()

    def _site(self, url: URL) -> _Site:
        key = _key(url)
        site = self._sites.get(key)
        if site is None:
            now = self._clock()
            noted_site = read_note(self._notes, key, lambda note: _Site(_DECODER.decode(note), now))
            site = self._sites[key] = noted_site or _Site((), now)
            self._size_bytes += site.size_bytes
            self._drop_oldest()
        self._sites.move_to_end(key)
        return site

    def _drop_oldest(self) -> None:
        """Their notes stay."""
        while len(self._sites) > 1 and (len(self._sites) > _REMEMBERED or self._size_bytes > _REMEMBERED_BYTES):
            self._size_bytes -= self._sites.popitem(last=False)[1].size_bytes


def _jar() -> CookieJar:
    return CookieJar(unsafe=True, quote_cookie=False)


def _held(jar: CookieJar) -> set[_Identity]:
    return {(each["domain"], each["path"].rstrip("/"), each.key) for each in jar}


def _key(url: URL) -> str:
    host = url.raw_host or ""
    return NOTES.key(registered_domain(f"[{host}]" if ":" in host else host))


def _text(header: str) -> str | None:
    """The header as text; None if its name or value is not UTF-8. The jar ignores an attribute that is not."""
    try:
        header.partition(";")[0].encode()
    except UnicodeEncodeError:  # aiohttp decodes with surrogates for such octets
        return None
    return header.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _attributes(header: str) -> dict[str, str]:
    return {name.lower(): value.strip() for name, value in _ATTRIBUTE.findall(header)}


def _is_allowed(url: URL, header: str, attributes: Mapping[str, str]) -> bool:
    """By RFC 6265bis, sections 4.1.3 and 5.7: a `Secure` cookie comes over https, and name prefixes have conditions."""
    if _CONTROL.search(header):
        return False
    name = header.lstrip().lower()
    secure = "secure" in attributes
    if secure and url.scheme != "https":
        return False
    if name.startswith("__host-"):
        return secure and attributes.get("path") == "/" and not attributes.get("domain")
    return secure or not name.startswith("__secure-")


def _for_jar(header: str) -> str:
    """The header with what the jar would misread.

    We quote a quoted value once more: the jar removes quotes, as in RFC 2109. In RFC 6265 they are part of the value,
    which ends at the first semicolon. A cookie that expired in 1970 expired in its first second: the jar takes the
    moment 0, with which most servers take a cookie back, for none.
    """
    pair, semicolon, attributes = header.partition(";")
    attributes = _IN_1970.sub(r"\1Thu, 01 Jan 1970 00:00:01 GMT", f"{semicolon}{attributes}")
    name, equals, value = pair.partition("=")
    value = value.strip(" \t")
    if value.startswith('"'):
        escaped = _QUOTED.sub(lambda match: f"\\{match[0]}", value)
        pair = f'{name}{equals}"{escaped}"'
    return pair + attributes


def _age(cookie: StoredCookie, now: float) -> str | None:
    """The header with Max-Age reduced by the time since it was received; None if it has expired."""
    match = _MAX_AGE.search(cookie.header)
    if match is None:
        return cookie.header
    left_s = int(match[1]) - int(now - cookie.received_at)
    return _MAX_AGE.sub(f"; Max-Age={left_s}", cookie.header, count=1) if left_s > 0 else None
