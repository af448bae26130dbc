"""Stores cookies, by RFC 6265bis.

Each site, which is a registered domain or an address, has a jar of its own, so that no site ever gets a cookie of
another, whatever domain the cookie claims. We store the Set-Cookie headers themselves, durably: a resumed crawl is the
same visitor, even for cookies that a browser would drop when it is closed. `set_cookie` reads them.

Cookies are octets. The client reads and writes headers as UTF-8, so a cookie is not stored if its name or value is not
UTF-8.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from math import isfinite
from time import time
from typing import Final

import msgspec
from yarl import URL

from crawler.fetch.set_cookie import Cookie, read_set_cookie
from crawler.notes import NoteKind, Notes, read_note
from crawler.url.hosts import registered_domain

MAX_BYTES: Final = 4096
"""Of name and value, by RFC 6265bis, section 5.7; the attributes may take as much again."""
MAX_PER_SITE: Final = 180
"""As in Chromium. Which ones make way: RFC 6265bis, section 5.7."""
MAX_SITE_BYTES: Final = 1 << 16
"""Of the stored cookies of a site. Each page that changes one writes all; without this limit, that would be 1.5 MB. A
request sends an eighth of it at most."""
MAX_SENT_BYTES: Final = 8190 - len("Cookie: ")
"""Apache and nginx take no longer header, and curl sends none. Otherwise one page could set so many cookies that its
server refuses every other page of the site."""
NOTES: Final = NoteKind(word="cookies", host_of=str)
"""By registered domain, or address."""
_REMEMBERED: Final = 10_000
"""Sites in memory; others are read from the notes on demand."""
_REMEMBERED_BYTES: Final = 64_000_000
_SITE_BYTES: Final = 700
_COOKIE_BYTES: Final = 600
"""And twice its header. Measured by `tests.bench.memory`."""


class StoredCookie(msgspec.Struct, frozen=True):
    """A Set-Cookie header, with the URL and time of its response."""

    url: str
    header: str
    received_at: float
    """Seconds since 1970."""

    @property
    def size_bytes(self) -> int:
        return len(self.url) + len(self.header.encode())


_DECODER: Final = msgspec.msgpack.Decoder(list[StoredCookie])


class _Site:
    """The cookies of one site. `stored` is what we save."""

    def __init__(self, stored: Sequence[StoredCookie], now: float) -> None:
        """Raises `ValueError` for damaged data."""
        self._cookies: dict[tuple[str, str, str], tuple[Cookie, StoredCookie]] = {}
        self._stored_bytes = 0
        for each in stored:
            if not isfinite(each.received_at):
                raise ValueError(f"a cookie of the time {each.received_at}")
            cookie = _read(each)
            if cookie is not None and not cookie.has_ended(now):
                self._put(cookie, each)

    @property
    def stored(self) -> list[StoredCookie]:
        return [stored for _, stored in self._cookies.values()]

    @property
    def size_bytes(self) -> int:
        """About what it takes in memory."""
        return _SITE_BYTES + _COOKIE_BYTES * len(self._cookies) + 2 * self._stored_bytes

    def matching(self, url: URL, now: float) -> list[Cookie]:
        """The cookies for a request: those of the longest paths first, then the oldest (RFC 6265bis, section 5.8.3)."""
        found = [cookie for cookie, _ in self._cookies.values() if cookie.is_for(url) and not cookie.has_ended(now)]
        return sorted(found, key=lambda cookie: -len(cookie.path))

    def add(self, stored: StoredCookie, now: float) -> bool:
        """Add a cookie, if it is allowed. If there is no space, the oldest one makes way, `Secure` ones last. Returns
        whether anything has changed."""
        cookie = _read(stored)
        if cookie is None or self._is_under_secure(cookie, stored):
            return False
        known = self._cookies.get(cookie.identity)
        if cookie.has_ended(now):  # the server takes it back
            if known is not None:
                self._remove(cookie.identity)
            return known is not None
        if (known is not None and known[0] == cookie) or stored.size_bytes > MAX_SITE_BYTES:  # with a very long URL
            return False
        self._put(cookie, stored)
        if self._is_too_large:
            for identity in [key for key, (each, _) in self._cookies.items() if each.has_ended(now)]:
                self._remove(identity)
        while self._is_too_large:
            others = [each for each, _ in self._cookies.values() if each is not cookie]
            self._remove(next((each for each in others if not each.is_secure), others[0]).identity)
        return True

    @property
    def _is_too_large(self) -> bool:
        return len(self._cookies) > MAX_PER_SITE or self._stored_bytes > MAX_SITE_BYTES

    def _put(self, cookie: Cookie, stored: StoredCookie) -> None:
        known = self._cookies.get(cookie.identity)
        self._stored_bytes += stored.size_bytes - (0 if known is None else known[1].size_bytes)
        self._cookies[cookie.identity] = cookie, stored

    def _remove(self, identity: tuple[str, str, str]) -> None:
        self._stored_bytes -= self._cookies.pop(identity)[1].size_bytes

    def _is_under_secure(self, cookie: Cookie, stored: StoredCookie) -> bool:
        """Whether it came over http, and would replace or hide a `Secure` cookie, which came over https."""
        return not stored.url.startswith("https:") and any(
            known.is_secure and cookie.overlays(known) for known, _ in self._cookies.values()
        )


class Cookies:
    """The cookies of a crawl."""

    def __init__(self, notes: Notes, *, clock: Callable[[], float] = time) -> None:
        self._notes = notes
        self._clock = clock
        self._sites: OrderedDict[str, _Site] = OrderedDict()
        self._size_bytes = 0

    def header(self, url: URL, /, *, own: str | None = None) -> str | None:
        """The value of the header Cookie for a request; None if there are no cookies. The `own` ones of the crawl come
        first. Those that do not fit beside the ones before them are left out."""
        sent = [] if own is None else [own]
        left = MAX_SENT_BYTES - (0 if own is None else len(own.encode()))
        for cookie in self._site(url).matching(url, self._clock()):
            size = len(cookie.sent.encode()) + (2 if sent else 0)
            if size <= left:
                sent.append(cookie.sent)
                left -= size
        return "; ".join(sent) or None

    def learn(self, url: URL, set_cookies: Sequence[str], /) -> None:
        """Store the cookies that a response from the URL sets."""
        if not set_cookies:
            return
        site = self._site(url)
        now, before = self._clock(), site.size_bytes
        has_changed = False
        for each in set_cookies[-MAX_PER_SITE:]:
            header = _text(each)
            if header is not None and _fits(header):
                has_changed |= site.add(StoredCookie(str(url), header, now), now)
        if not has_changed:
            return
        self._size_bytes += site.size_bytes - before
        self._notes.put(_key(url), msgspec.msgpack.encode(site.stored))
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


def _key(url: URL) -> str:
    host = url.raw_host or ""
    return NOTES.key(registered_domain(f"[{host}]" if ":" in host else host))


def _read(stored: StoredCookie) -> Cookie | None:
    return read_set_cookie(stored.header, URL(stored.url, encoded=True), stored.received_at)


def _fits(header: str) -> bool:
    pair, _, attributes = header.partition(";")
    return len(pair.encode()) - ("=" in pair) <= MAX_BYTES >= len(attributes.encode())


def _text(header: str) -> str | None:
    """The header as text; None if its name or value is not UTF-8. Attributes that are not are ignored."""
    try:
        header.partition(";")[0].encode()
    except UnicodeEncodeError:  # aiohttp decodes with surrogates for such octets
        return None
    return header.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
