"""Fetches robots.txt, and says what it allows.

`status` decides what a response means, `rules` what a file says, and `cache` stores it. If the crawl refuses to ask an
origin, such as one with a private address, everything on it is disallowed for that reason.

A robots.txt may redirect, up to five times. Each request counts as a request of its host, which then must rest. So
`allows` sends at most one, and returns a verdict that is not `known`; the caller lets the host rest, and asks again. If
the next request goes to another host, `prerequisite` returns its URL, so that the caller can wait for that host's
turn.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from time import time
from typing import Final

import msgspec

from crawler.fetch.robots.cache import MAX_ORIGINS, CachedRobots, RobotsCache
from crawler.fetch.robots.rules import MAX_ROBOTS_BYTES, RobotsRules
from crawler.fetch.robots.status import (
    NONE,
    RobotsLifetimes,
    RobotsStatus,
    is_fresh,
    judge_url,
    status_after,
)
from crawler.fetch.singleflight import SingleFlight
from crawler.page import REFUSALS, SITEMAP, Answer, Failure, Fetched, Link, Page, Redirect, Request, Verdict
from crawler.seams import Fetches, Robots
from crawler.url.hosts import name_of_site
from crawler.url.urls import Target, UrlReader, origin_of, site_of

MAX_REDIRECTS: Final = 5
LONG_CHARACTERS: Final = 64 * 1024
"""Longer files are parsed in a thread, one at a time: more threads than that would hold up the event loop."""

_SITEMAP_TEXT: Final = "Sitemap"
"""How robots.txt names one. Records show by it which dead sitemaps a site names, and which the crawl has guessed."""
_URLS: Final = UrlReader()

ReadRetryAfter = Callable[[str | None, float], float | None]
"""Returns the seconds that a Retry-After header asks to wait; None if it is invalid. Takes the header and the time."""


class Hop(msgspec.Struct, frozen=True, kw_only=True):
    """The state of following the redirects of a robots.txt. A restart begins again with the first."""

    url: str
    """The next URL to fetch."""
    redirects: int = 0
    verdict: Verdict = Verdict(allowed=False, reason="redirected", known=False)
    """For the callers that waited for the last request."""


def sitemap_links(rules: RobotsRules | None, paths: Sequence[str], /) -> list[Link]:
    """The sitemaps that a robots.txt names, or else those that may be at these `paths`. `rules` are None if there is no
    robots.txt."""
    if rules is not None and rules.sitemaps:
        return [Link(href, SITEMAP, _SITEMAP_TEXT) for href in rules.sitemaps]
    return [Link(href, SITEMAP) for href in paths]


class RobotsTxt:
    """Fetches the robots.txt of each origin through `fetcher`, and answers from the `cache`; a `Robots`.

    All callers that waited for a request get a verdict with `asked`, not only the one that sent it: the host must rest
    before any of them continues.
    """

    def __init__(
        self,
        fetcher: Fetches,
        cache: RobotsCache,
        *,
        lifetimes: RobotsLifetimes | None = None,
        read_retry_after: ReadRetryAfter,
        is_obeyed: Callable[[str], bool] | None = None,
        sitemap_paths: Sequence[str] = (),
        archive: Callable[[Fetched], Awaitable[None]] | None = None,
        clock: Callable[[], float] = time,
    ) -> None:
        """URLs for which `is_obeyed` is False are allowed without a request. `sitemap_paths`: where sitemaps may lie if
        a robots.txt names none or does not exist. `archive` gets what came of each request, before it counts."""
        self._fetcher = fetcher
        self._cache = cache
        self.lifetimes = lifetimes or RobotsLifetimes()
        """May be replaced; they hold for files that are fetched from then on."""
        self._read_retry_after = read_retry_after
        self._is_obeyed = is_obeyed or (lambda _: True)
        self.sitemap_paths = tuple(sitemap_paths)
        self._archive = archive
        self._clock = clock
        self._single_flight = SingleFlight()
        self._long_file = asyncio.Lock()
        """Held while a long file is parsed."""
        self._hops: OrderedDict[str, Hop] = OrderedDict()
        """By origin, for each robots.txt that redirects, until we have reached the file."""
        self._reported: set[str] = set()
        """The origins whose sitemaps `new_sitemaps` has returned since their robots.txt was last fetched."""

    def prerequisite(self, url: str, /) -> str | None:
        if not self._hops or not self._is_obeyed(url) or (hop := self._hops.get(origin_of(url))) is None:
            return None
        return None if host_name(hop.url) == host_name(url) else hop.url

    def is_known(self, url: str, /) -> bool:
        if not self._is_obeyed(url):
            return True
        status = self._cache.status(origin_of(url))
        return status is not None and is_fresh(status, self._clock())

    async def allows(self, url: str, /, *, prerequisite: str | None = None) -> Verdict:
        if not self._is_obeyed(url):
            return NONE
        origin = origin_of(url)
        if origin not in self._cache:
            await self._recall(origin)
        known = self._fresh(origin)
        if known is not None:
            return judge_url(known.status, known.rules, url, self._clock())
        before = self._hops.get(origin)
        while known is None:
            if await self._single_flight.wait_for_leader(origin):
                known = self._fresh(origin)
                hop = self._hops.get(origin)
                if known is None and hop is not None and hop is not before:
                    return hop.verdict
                continue
            hop = self._hops.get(origin) or Hop(url=_own_url(origin))
            if self.prerequisite(url) != prerequisite:
                # The request would go to a host for which the caller has not waited.
                return msgspec.structs.replace(hop.verdict, asked=False)
            async with self._single_flight.lead(origin):
                result = await self._ask(origin, hop)
            if isinstance(result, Verdict):
                return result
            known = result
        answer = judge_url(known.status, known.rules, url, self._clock())
        if not known.reached:
            return answer
        return msgspec.structs.replace(answer, asked=True, duration_s=known.duration_s, pause_s=known.pause_s)

    def crawl_delay(self, url: str, /) -> float | None:
        return self._cache.crawl_delay(url) if self._is_obeyed(url) else None

    def new_sitemaps(self, url: str, /) -> Sequence[Link]:
        origin = origin_of(url)
        if origin in self._reported:
            return ()
        known = self._cache.find(origin) if self._is_obeyed(url) else None
        if known is None or known.status.failures or known.status.refused is not None:
            return ()
        if len(self._reported) >= MAX_ORIGINS:
            self._reported.clear()
        self._reported.add(origin)
        return sitemap_links(known.rules, self.sitemap_paths)

    async def _recall(self, origin: str) -> None:
        """Parse a long file from the notes, without blocking the event loop."""
        if not _is_long(self._cache.read_status(origin)):
            return
        async with self._long_file:
            status = self._cache.read_status(origin)
            if status is not None:  # no other caller has loaded it meanwhile
                self._cache.put(origin, status, rules=await asyncio.to_thread(self._cache.parse, status))

    def _fresh(self, origin: str) -> CachedRobots | None:
        """What we know about an origin, unless it has expired."""
        known = self._cache.find(origin)
        return known if known is not None and is_fresh(known.status, self._clock()) else None

    async def _ask(self, origin: str, hop: Hop) -> CachedRobots | Verdict:
        """Send one request. Returns a verdict if another request must follow."""
        response = await self._fetcher.fetch(Request(url=hop.url, max_body_bytes=MAX_ROBOTS_BYTES))
        if self._archive is not None:
            await self._archive(response)
        is_own = hop.url == _own_url(origin)
        if is_own and isinstance(response, Failure) and response.kind in REFUSALS:
            self._hops.pop(origin, None)
            # Not stored in the notes, because another configuration may allow it.
            expires_at = self._clock() + self.lifetimes.max_retry_s
            return self._cache.put(
                origin, RobotsStatus(expires_at=expires_at, refused=response.kind, message=response.message)
            )
        now = self._clock()
        pause_s = self._read_retry_after(retry_after_of(response), now)
        if isinstance(response, Redirect) and hop.redirects < MAX_REDIRECTS:
            target = target_of(response, hop.url)
            if target is not None:
                return self._follow(origin, hop, target, response, pause_s)
        if must_repeat(response) and hop.redirects < MAX_REDIRECTS:
            return self._follow(origin, hop, hop.url, response, pause_s)
        self._hops.pop(origin, None)
        before = self._cache.find(origin)
        status = status_after(
            response,
            before.status if before is not None else None,
            now,
            self.lifetimes,
            retry_after_s=pause_s,
            redirected=not is_own,
        )
        rules = None
        if _is_long(status):
            async with self._long_file:
                rules = await asyncio.to_thread(self._cache.parse, status)
        # Not before: who finds a note parses it.
        self._cache.note(origin, status)
        self._reported.discard(origin)
        reached, duration_s = has_reached(response), response.duration_s
        return self._cache.put(origin, status, rules=rules, reached=reached, duration_s=duration_s, pause_s=pause_s)

    def _follow(self, origin: str, hop: Hop, target: str, answer: Fetched, pause_s: float | None) -> Verdict:
        """Remember where the next request goes."""
        unknown = msgspec.structs.replace(
            hop.verdict, asked=has_reached(answer), duration_s=answer.duration_s, pause_s=pause_s
        )
        self._hops[origin] = Hop(url=target, redirects=hop.redirects + 1, verdict=unknown)
        if len(self._hops) > MAX_ORIGINS:
            self._hops.popitem(last=False)
        return unknown


class RobotsAtOnce:
    """Follows all redirects of a robots.txt at once, for a caller without queues in which to wait for other hosts."""

    def __init__(
        self, robots: Robots, *, rest_s: float, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        """It waits for `rest_s` between two requests."""
        self._robots = robots
        self._rest_s = rest_s
        self._sleep = sleep

    async def allows(self, url: str, /) -> Verdict:
        while True:
            verdict = await self._robots.allows(url, prerequisite=self._robots.prerequisite(url))
            if verdict.known:
                return verdict
            await self._sleep(self._rest_s if verdict.asked else 0.0)


def target_of(redirect: Redirect, url: str, /) -> str | None:
    """Where a redirect of `url` leads, read as the crawl reads links: without a login, which a stranger wrote. None if
    that is no URL to crawl."""
    target = _URLS.read(redirect.location, url)
    return target.url if isinstance(target, Target) else None


def _own_url(origin: str, /) -> str:
    """Where the robots.txt of an origin is, unless it redirects."""
    return f"{origin}/robots.txt"


def must_repeat(response: Fetched, /) -> bool:
    """Whether the same request must be sent once more, which is one more turn of the host: signed, or because the
    server may have closed a kept connection before it got it."""
    return (isinstance(response, Page) and response.challenged) or (
        isinstance(response, Failure) and response.kept_closed
    )


def _is_long(status: RobotsStatus | None) -> bool:
    return status is not None and status.text is not None and len(status.text) > LONG_CHARACTERS


def host_name(url: str, /) -> str:
    """The name that all servers of the URL's host share, whatever their ports."""
    return name_of_site(site_of(url))


def retry_after_of(response: Fetched, /) -> str | None:
    """The header Retry-After, also of an answer that then broke off."""
    answer = response if isinstance(response, Answer) else response.response
    return None if answer is None else answer.header("Retry-After")


def has_reached(response: Fetched, /) -> bool:
    """Whether a server was asked, which must rest then."""
    if isinstance(response, Redirect):
        return response.asked
    return not isinstance(response, Failure) or response.reached
