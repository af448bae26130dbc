"""What servers want to be told again: cookies, by RFC 6265 and, for `Secure` and the prefixes of names, RFC 6265bis.

Each site, which is a registered domain or an address, has a jar of its own, so that none is ever told what another has
set, whatever domain a cookie claims. What is kept is the Set-Cookie headers themselves, noted durably: a crawl that is
resumed is the same visitor, also for cookies that a browser would forget when it is closed.

Cookies are octets. The client reads and writes headers as UTF-8, so a cookie whose name or value is none is not kept.
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

from crawler.notes import Notes, read_note
from crawler.url.hosts import registered_domain

MAX_BYTES: Final = 4096
"""Of one header: RFC 6265, section 6.1, wants no more to be kept."""
MAX_PER_SITE: Final = 50
"""The same."""
_REMEMBERED: Final = 10_000
"""Sites; the others are read from the notes when they are needed."""
_MAX_AGE: Final = re.compile(r";\s*max-age\s*=\s*(-?[0-9]{1,18})\s*(?=;|$)", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(r";\s*(domain|path|secure)\s*(?:=\s*([^;]*)|(?=;|$))", re.IGNORECASE)
_QUOTED: Final = re.compile(r'["\\]')
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""RFC 6265bis, section 5.7: a header with one of these is ignored."""


class Kept(msgspec.Struct, frozen=True):
    """A Set-Cookie header, and what it depends on."""

    url: str
    header: str
    received_at: float
    """Seconds since 1970."""


_DECODER: Final = msgspec.msgpack.Decoder(list[Kept])


class _Site:
    """The cookies of one site. The headers are the truth, and the jar knows which of them to send."""

    def __init__(self, kept: Sequence[Kept], now: float) -> None:
        """Raises `ValueError` or `OverflowError` for what was never kept so."""
        self.jar = CookieJar(unsafe=True, quote_cookie=False)
        self.kept: dict[str, Kept] = {}
        for each in kept:
            if (header := _aged(each, now)) is not None:
                self.keep(each, header)

    def keep(self, kept: Kept, header: str) -> None:
        """Keep a cookie, which counts as `header` now; if it may be kept, and there is room."""
        url = URL(kept.url, encoded=True)
        attributes = _attributes(header)
        name = _name(url, header, attributes)
        if _is_allowed(url, header, attributes) and (name in self.kept or len(self.kept) < MAX_PER_SITE):
            try:
                self.jar.update_cookies_from_headers([_for_jar(header)], url)
            except CookieError:  # a tab within a value or a path, for which Python keeps no cookie
                return
            self.kept[name] = kept


class Cookies:
    """Cookies of a crawl; to be made inside the running event loop."""

    def __init__(self, notes: Notes, *, clock: Callable[[], float] = time) -> None:
        self._notes = notes
        self._clock = clock
        self._sites: OrderedDict[str, _Site] = OrderedDict()

    def header(self, url: URL, /) -> str | None:
        """What to send as Cookie; None for nothing."""
        found = self._site(url).jar.filter_cookies(url)
        return "; ".join(f"{name}={morsel.coded_value}" for name, morsel in found.items()) or None

    def learn(self, url: URL, set_cookies: Sequence[str], /) -> None:
        """Take note of what a response from there sets."""
        if not set_cookies:
            return
        site = self._site(url)
        now = self._clock()
        for each in set_cookies[:MAX_PER_SITE]:
            header = _text(each)
            if header is not None and len(header.encode()) <= MAX_BYTES:
                site.keep(Kept(str(url), header, now), header)
        self._notes.put(_key(url), msgspec.msgpack.encode(list(site.kept.values())))

    def _site(self, url: URL) -> _Site:
        key = _key(url)
        site = self._sites.get(key)
        if site is None:
            now = self._clock()
            noted = read_note(self._notes, key, lambda note: _Site(_DECODER.decode(note), now))
            site = self._sites[key] = noted or _Site((), now)
            if len(self._sites) > _REMEMBERED:
                self._sites.popitem(last=False)
        self._sites.move_to_end(key)
        return site


def _key(url: URL) -> str:
    host = url.raw_host or ""
    return f"cookies {registered_domain(f'[{host}]' if ':' in host else host)}"


def _text(header: str) -> str | None:
    """The header as text; None if its name or value is none. The jar ignores an attribute that is none."""
    try:
        header.partition(";")[0].encode()
    except UnicodeEncodeError:  # aiohttp decodes with surrogates for such octets
        return None
    return header.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _attributes(header: str) -> dict[str, str]:
    return {name.lower(): value.strip() for name, value in _ATTRIBUTE.findall(header)}


def _name(url: URL, header: str, attributes: Mapping[str, str]) -> str:
    """By what a cookie takes the place of another: its name, domain and path."""
    domain = attributes.get("domain", "").lower() or url.raw_host
    return f"{header.partition('=')[0].strip()};{domain};{attributes.get('path', '')}"


def _is_allowed(url: URL, header: str, attributes: Mapping[str, str]) -> bool:
    """RFC 6265bis, sections 4.1.3 and 5.7: what is `Secure` comes over https, and a prefix of the name is a promise."""
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
    """The header with a quoted value quoted once more: the jar takes quotes for those of RFC 2109, and would undo them.
    For RFC 6265 they are part of the value, which ends at the first semicolon."""
    pair, semicolon, attributes = header.partition(";")
    name, equals, value = pair.partition("=")
    value = value.strip(" \t")
    if not value.startswith('"'):
        return header
    escaped = _QUOTED.sub(lambda match: f"\\{match[0]}", value)
    return f'{name}{equals}"{escaped}"{semicolon}{attributes}'


def _aged(kept: Kept, now: float) -> str | None:
    """The header as it reads now: Max-Age counts from when it came. None if it has expired."""
    match = _MAX_AGE.search(kept.header)
    if match is None:
        return kept.header
    left_s = int(match[1]) - int(now - kept.received_at)
    return _MAX_AGE.sub(f"; Max-Age={left_s}", kept.header, count=1) if left_s > 0 else None
