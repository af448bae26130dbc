"""What servers want to be told again: cookies, by RFC 6265.

Each site, which is a registered domain or an address, has a jar of its own, so that none is ever told what another has
set, whatever domain a cookie claims. What is kept is the Set-Cookie headers themselves, noted durably: a crawl that is
resumed is the same visitor, also for cookies that a browser would forget when it is closed.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from time import time
from typing import Final

import msgspec
from aiohttp import CookieJar
from yarl import URL

from crawler.fetch.notes import Notes
from crawler.hosts import registered_domain

MAX_BYTES: Final = 4096
"""Of one header: RFC 6265, section 6.1, wants no more to be kept."""
MAX_PER_SITE: Final = 50
"""The same."""
_REMEMBERED: Final = 10_000
"""Sites; the others are read from the notes when they are needed."""
_MAX_AGE: Final = re.compile(r";\s*max-age\s*=\s*(-?[0-9]{1,18})\s*(?=;|$)", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(r";\s*(domain|path)\s*=\s*([^;]*)", re.IGNORECASE)


class Kept(msgspec.Struct, frozen=True):
    """A Set-Cookie header, and what it depends on."""

    url: str
    header: str
    received_at: float
    """Seconds since 1970."""


class _Site:
    """The cookies of one site. The headers are the truth, and the jar knows which of them to send."""

    def __init__(self, kept: Sequence[Kept], now: float) -> None:
        self.jar = CookieJar(unsafe=True, quote_cookie=False)
        self.kept: dict[str, Kept] = {}
        for each in kept:
            if (header := _aged(each, now)) is not None:
                self.kept[_name(each.url, each.header)] = each
                self.jar.update_cookies_from_headers([header], URL(each.url, encoded=True))


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
        for header in set_cookies[:MAX_PER_SITE]:
            name = _name(str(url), header)
            if len(header) > MAX_BYTES or (name not in site.kept and len(site.kept) >= MAX_PER_SITE):
                continue
            site.kept[name] = Kept(str(url), header, now)
            site.jar.update_cookies_from_headers([header], url)
        self._notes.put(_key(url), msgspec.msgpack.encode(list(site.kept.values())))

    def _site(self, url: URL) -> _Site:
        key = _key(url)
        site = self._sites.get(key)
        if site is None:
            noted = self._notes.get(key)
            kept = msgspec.msgpack.decode(noted, type=list[Kept]) if noted else []
            site = self._sites[key] = _Site(kept, self._clock())
            if len(self._sites) > _REMEMBERED:
                self._sites.popitem(last=False)
        self._sites.move_to_end(key)
        return site


def _key(url: URL) -> str:
    host = url.raw_host or ""
    return f"cookies {registered_domain(f'[{host}]' if ':' in host else host)}"


def _name(url: str, header: str) -> str:
    """By what a cookie takes the place of another: its name, domain and path."""
    attributes = {name.lower(): value.strip().lower() for name, value in _ATTRIBUTE.findall(header)}
    host = URL(url, encoded=True).raw_host
    return f"{header.partition('=')[0].strip()};{attributes.get('domain') or host};{attributes.get('path', '')}"


def _aged(kept: Kept, now: float) -> str | None:
    """The header as it reads now: Max-Age counts from when it came. None if it has expired."""
    match = _MAX_AGE.search(kept.header)
    if match is None:
        return kept.header
    left_s = int(match[1]) - int(now - kept.received_at)
    return _MAX_AGE.sub(f"; Max-Age={left_s}", kept.header, count=1) if left_s > 0 else None
