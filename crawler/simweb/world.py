"""The simulated web as one pure function, from requests to replies."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import formatdate
from functools import cache
from http import HTTPStatus
from itertools import chain, islice

import brotli
import msgspec

from crawler.simweb.changes import EPOCH_S
from crawler.simweb.expected import PRIVILEGED_AGENT, Expected, expected_on
from crawler.simweb.geography import (
    MAX_SITEMAP_ENTRIES,
    Geography,
    Obstacle,
    RobotsStyle,
    Site,
    broken_status,
    dead_status,
    redirect_status,
)
from crawler.simweb.hypertext import WRITTEN_SORTS, Hypertext, error_page, trap_page
from crawler.simweb.page_facts import CONTENT_CODINGS, Declared, PageFacts
from crawler.simweb.params import WorldParams
from crawler.simweb.paths import Sort, Spot, path_of

HTML = "text/html"
_DAY_S = 86_400
_MAX_PORT_DIGITS = 5

Headers = tuple[tuple[str, str], ...]


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The reply of a server. The sender adds Content-Length or Transfer-Encoding."""

    status: int
    headers: Headers = ()
    body: bytes = b""
    """With its Content-Encoding applied."""
    delay_s: float = 0.0
    """The delay before the first byte."""
    cut_at: int | None = None
    """Close the connection after that many bytes of the body."""
    chunked: bool = False
    steady: bool = True
    """Whether every attempt gets the same reply, at any time."""

    def header(self, name: str) -> str:
        """The value of a header; empty if there is none."""
        return next((value for each, value in self.headers if each == name), "")


class World:
    """A simulated web. Pure: equal arguments give equal replies. It stores only bounded caches of computed values."""

    def __init__(self, params: WorldParams) -> None:
        self.params = params
        self.geography = Geography(params)
        self._hypertext = Hypertext(self.geography)

    def seeds(self, *, port: int | None = None) -> list[str]:
        """The one URL from which everything is reachable."""
        return [self.url(0, 0, port=port)]

    def origin(self, host: int, *, port: int | None = None) -> str:
        """Scheme and authority of a host, such as `http://h00017.sim.test:8080`, without the default port."""
        return self.geography.origin(host, port=port)

    def url(self, host: int, number: int, *, port: int | None = None) -> str:
        """The canonical URL of a page."""
        return self.geography.url(host, Spot(Sort.PAGE, number), port=port)

    def facts(self, host: int, number: int, *, now: float = 0.0) -> PageFacts:
        """Title, author, encoding and faults of a page at that time."""
        return self._hypertext.facts(self.geography.site(host), Spot(Sort.PAGE, number), now=now)

    def expected(
        self, *, robots: bool = True, agent: str = "onceover", sitemaps: bool = False, port: int | None = None
    ) -> Iterator[Expected]:
        """Every URL that a complete crawl of all hosts settles, host by host, each once; see `expected.expected_on`."""
        for index in range(self.geography.host_count + self.geography.barred_count):
            yield from expected_on(self.geography, index, robots=robots, agent=agent, sitemaps=sitemaps, port=port)

    def respond(
        self, authority: str, target: str, *, attempt: int = 1, accept_encoding: str = "", now: float = 0.0
    ) -> Reply:
        """The reply to the n-th request (`attempt`, from 1) for a target (path and query) of a host (`name[:port]`), at
        that time (seconds since 1970).

        Absolute links repeat the port of the authority, so a web can be served on any port.
        """
        name, _, digits = authority.partition(":")
        is_port = digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_PORT_DIGITS
        port = int(digits) if is_port and digits != "80" else None
        index = self.geography.host_index(name)
        if index is None:
            return _error(HTTPStatus.MISDIRECTED_REQUEST)
        site = self.geography.site(index)
        spot = self.geography.locate(site, target)
        if spot is None:
            return _error(HTTPStatus.NOT_FOUND)
        if spot.sort in WRITTEN_SORTS:
            facts = self._hypertext.facts(site, spot, now=now)
            return self._page(site, spot, port, facts, attempt=attempt, accept_encoding=accept_encoding)
        if spot.sort is Sort.SITEMAP:
            body = self._sitemap(site, spot.number, port, now=now)
            typed = (("Content-Type", "application/xml"),)
            return Reply(status=200, headers=typed, body=body, steady=not self.params.change_every_s)
        return self._other(site, spot, port)

    def _page(
        self, site: Site, spot: Spot, port: int | None, facts: PageFacts, *, attempt: int, accept_encoding: str
    ) -> Reply:
        p = self.params
        if facts.missing:
            return _error(dead_status(spot), steady=False)
        if facts.obstacle is Obstacle.FLAKY and attempt <= p.flaky_failures:
            return _error(HTTPStatus.INTERNAL_SERVER_ERROR, steady=False)
        if facts.obstacle is Obstacle.THROTTLED and attempt <= p.throttled_answers:
            retry_after = ("Retry-After", str(p.retry_after_s))
            return _error(HTTPStatus.TOO_MANY_REQUESTS, (retry_after,), steady=False)
        body = self._hypertext.body(site, spot, facts, port=port)
        content_type = f"{HTML}; charset={facts.encoding.label}" if facts.declared is Declared.HEADER else HTML
        headers: Headers = (
            ("Content-Type", content_type),
            ("Last-Modified", last_modified(facts)),
            ("ETag", f'"{facts.noise:016x}"'),
        )
        if facts.content_coding:
            headers = (*headers, ("Vary", "Accept-Encoding"))
            coding = _agree(facts.content_coding, accept_encoding)
            if coding:
                body = _COMPRESS[coding](body)
                headers = (*headers, ("Content-Encoding", coding))
        is_cut = spot.sort is Sort.CUT or (facts.obstacle is Obstacle.CUT and attempt <= p.cut_answers)
        return Reply(
            status=200,
            headers=headers,
            body=body,
            delay_s=p.delay_s if facts.obstacle is Obstacle.SLOW else 0.0,
            cut_at=len(body) // 2 if is_cut else None,
            chunked=facts.chunked,
            steady=facts.obstacle in (None, Obstacle.SLOW) and not p.change_every_s,
        )

    def _other(self, site: Site, spot: Spot, port: int | None) -> Reply:
        index = site.index
        match spot.sort:
            case Sort.REDIRECT | Sort.LOOP:
                return _redirect(redirect_status(spot), self._location(site, spot, port))
            case Sort.DEAD:
                return _error(dead_status(spot))
            case Sort.BROKEN:
                return _error(broken_status(spot))
            case Sort.CALENDAR:
                onward = path_of(index, Spot(Sort.CALENDAR, 0, spot.step + 1))
                return Reply(status=200, headers=_TYPED, body=trap_page(f"Month {spot.step + 1}", onward))
            case Sort.MAZE:
                onward = "b/" if spot.step % 2 else "a/"
                return Reply(status=200, headers=_TYPED, body=trap_page(f"Room {spot.step}", onward))
            case Sort.ROBOTS if site.robots is RobotsStyle.REDIRECT:
                return _redirect(HTTPStatus.MOVED_PERMANENTLY, path_of(index, Spot(Sort.ROBOTS_MOVED)))
            case Sort.ROBOTS if site.robots is RobotsStyle.MISSING:
                return _error(HTTPStatus.NOT_FOUND)
            case Sort.ROBOTS if site.robots is RobotsStyle.BROKEN:
                return _error(HTTPStatus.SERVICE_UNAVAILABLE)
            case Sort.ROBOTS | Sort.ROBOTS_MOVED:
                return Reply(status=200, headers=(("Content-Type", "text/plain"),), body=self._robots(site, port))
        raise AssertionError(f"no answer is written for {spot.sort}")

    def _location(self, site: Site, spot: Spot, port: int | None) -> str:
        host, onward = self.geography.onward(site, spot)
        is_relative = host == site.index and spot.number % 2 == 0
        return path_of(host, onward) if is_relative else self.geography.url(host, onward, port=port)

    def _robots(self, site: Site, port: int | None) -> bytes:
        delay = [] if site.crawl_delay_s is None else [f"Crawl-delay: {site.crawl_delay_s:g}"]
        if site.has_rules:
            never = ["Disallow: /*.cgi"]
            if self.params.traps_disallowed:
                never += ["Disallow: /calendar/", "Disallow: /maze/"]
            general = ["User-agent: *", "Disallow: /private/", "Allow: /private/open-", *never, *delay]
            lines = [*general, "", f"User-agent: {PRIVILEGED_AGENT}", *never, *delay]
        else:
            lines = ["User-agent: *", "Disallow:", *delay]
        sitemap = self.geography.url(site.index, Spot(Sort.SITEMAP), port=port)
        return "\n".join([f"# {site.name}", *lines, "", f"Sitemap: {sitemap}", ""]).encode()

    def _sitemap(self, site: Site, part: int, port: int | None, *, now: float) -> bytes:
        parts = self.geography.sitemap_parts(site)
        spots = (
            (Spot(Sort.SITEMAP, n) for n in range(1, parts + 1))
            if parts and not part
            else islice(
                chain(
                    (Spot(Sort.PAGE, n) for n in range(site.page_count)),
                    (Spot(Sort.HIDDEN, n) for n in range(site.counts[Sort.HIDDEN])),
                ),
                max(0, part - 1) * MAX_SITEMAP_ENTRIES,
                max(1, part) * MAX_SITEMAP_ENTRIES,
            )
        )
        outer, inner = ("sitemapindex", "sitemap") if parts and not part else ("urlset", "url")
        lines = (
            f"<{inner}><loc>{self.geography.url(site.index, spot, port=port)}</loc>"
            f"{self._lastmod(site, spot, now) if inner == 'url' else ''}</{inner}>"
            for spot in spots
        )
        opening = (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<{outer} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        )
        return "\n".join([opening, *lines, f"</{outer}>", ""]).encode()

    def _lastmod(self, site: Site, spot: Spot, now: float) -> str:
        """Nothing if pages never change: then a sitemap is as short as most."""
        if not self.params.change_every_s:
            return ""
        changed_at = self._hypertext.facts(site, spot, now=now).changed_at
        return "" if changed_at is None else f"<lastmod>{datetime.fromtimestamp(changed_at, UTC).isoformat()}</lastmod>"


_TYPED: Headers = (("Content-Type", f"{HTML}; charset=utf-8"),)
_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "br": lambda body: bytes(brotli.compress(body, quality=1)),
    "gzip": lambda body: gzip.compress(body, compresslevel=1, mtime=0),
    "deflate": lambda body: zlib.compress(body, level=1),
}


def last_modified(facts: PageFacts) -> str:
    if facts.changed_at is not None:
        return formatdate(int(facts.changed_at), usegmt=True)
    return _date_of_day(facts.noise % 2000)


@cache
def _date_of_day(day: int) -> str:
    return formatdate(EPOCH_S + day * _DAY_S, usegmt=True)


def _redirect(status: int, location: str) -> Reply:
    return Reply(status=status, headers=(*_TYPED, ("Location", location)), body=error_page(status, "Moved"))


def _error(status: int, headers: Headers = (), *, steady: bool = True) -> Reply:
    body = error_page(status, HTTPStatus(status).phrase)
    return Reply(status=status, headers=(*_TYPED, *headers), body=body, steady=steady)


def _agree(wanted: str, accept_encoding: str) -> str | None:
    """The wanted content coding if the client accepts it, otherwise another that it accepts, otherwise None."""
    accepted = set()
    for entry in accept_encoding.lower().split(","):
        coding, _, weight = entry.partition(";")
        if weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            accepted.add(coding.strip())
    return next((coding for coding in (wanted, *CONTENT_CODINGS) if coding in accepted), None)
