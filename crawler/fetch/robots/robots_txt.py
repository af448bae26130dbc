"""What robots.txt allows: asks for it, and answers from it.

`status` decides what an answer means, `rules` what a file says, and `cache` keeps it. Of an origin that the crawl
refuses to ask, as for its private address, everything is disallowed for that reason.

A robots.txt may redirect, up to five times. Each of these requests is a turn of the host that it goes to: `allows`
makes one of them at most, and then says that nothing is known yet. The caller lets that host rest, and asks again.
Where the next request goes to another host, `errand` tells so before, so that the caller can wait for that host's turn.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from time import time
from typing import Final, Protocol

import msgspec

from crawler.fetch.robots.cache import MAX_ORIGINS, CachedRobots, RobotsCache
from crawler.fetch.robots.rules import MAX_ROBOTS_BYTES
from crawler.fetch.robots.status import (
    NONE,
    RobotsStatus,
    Waits,
    standing_after,
    verdict,
)
from crawler.fetch.singleflight import SingleFlight
from crawler.page import REFUSALS, Failure, Fetched, Redirect, Request, Verdict
from crawler.url.hosts import name_of_site
from crawler.url.urls import join, origin_of, site_of

MAX_REDIRECTS: Final = 5
LONG_CHARACTERS: Final = 64 * 1024
"""Longer files are read in a thread."""

ReadRetryAfter = Callable[[str | None, float], float | None]
"""Seconds that a Retry-After header asks to wait, given the time; None if it can't be read."""


class Robots(Protocol):
    """The part of a `Robots` that is needed here."""

    def errand(self, url: str, /) -> str | None: ...

    async def allows(self, url: str, /, *, errand: str | None = None) -> Verdict: ...


class Hop(msgspec.Struct, frozen=True, kw_only=True):
    """How far the redirects of a robots.txt have been followed. A restart begins with the first again."""

    url: str
    """What is asked next."""
    redirects: int = 0
    verdict: Verdict = Verdict(allowed=False, reason="redirected", known=False)
    """For whoever waited for the last request."""


class Fetches(Protocol):
    """The part of a fetcher that is needed here."""

    async def fetch(self, request: Request, /) -> Fetched: ...


class RobotsTxt:
    """Asks each origin's robots.txt through `fetcher`, and answers from the `shelf`; a `Robots`.

    Whoever had to wait for a request is told so (`asked`), not only the one who made it: the host must rest before any
    of them goes on.
    """

    def __init__(
        self,
        fetcher: Fetches,
        shelf: RobotsCache,
        *,
        waits: Waits | None = None,
        read_retry_after: ReadRetryAfter,
        obeyed: Callable[[str], bool] | None = None,
        sitemap_paths: Sequence[str] = (),
        clock: Callable[[], float] = time,
    ) -> None:
        """For URLs that are not `obeyed`, nobody is asked and everything is allowed. Where a file names no sitemap, or
        there is none, one may lie at `sitemap_paths`."""
        self._fetcher = fetcher
        self._shelf = shelf
        self._waits = waits or Waits()
        self._read_retry_after = read_retry_after
        self._obeyed = obeyed or (lambda _: True)
        self._sitemap_paths = tuple(sitemap_paths)
        self._clock = clock
        self._flights = SingleFlight()
        self._hops: OrderedDict[str, Hop] = OrderedDict()
        """Of origins whose robots.txt redirects, until its end is known."""
        self._told: dict[str, float] = {}

    def errand(self, url: str, /) -> str | None:
        if not self._hops or not self._obeyed(url) or (hop := self._hops.get(origin_of(url))) is None:
            return None
        return None if _name(hop.url) == _name(url) else hop.url

    async def allows(self, url: str, /, *, errand: str | None = None) -> Verdict:
        if not self._obeyed(url):
            return NONE
        origin = origin_of(url)
        await self._recall(origin)
        known = self._fresh(origin)
        if known is not None:
            return verdict(known.standing, known.rules, url, self._clock())
        before = self._hops.get(origin)
        while known is None:
            if await self._flights.waited(origin):
                known = self._fresh(origin)
                hop = self._hops.get(origin)
                if known is None and hop is not None and hop is not before:
                    return hop.verdict
                continue
            hop = self._hops.get(origin) or Hop(url=f"{origin}/robots.txt")
            if self.errand(url) != errand:
                # It is the turn of a host for which nobody has waited.
                return msgspec.structs.replace(hop.verdict, asked=False)
            async with self._flights.lead(origin):
                answer = await self._ask(origin, hop)
            if isinstance(answer, Verdict):
                return answer
            known = answer
        judged = verdict(known.standing, known.rules, url, self._clock())
        if not known.reached:
            return judged
        return msgspec.structs.replace(judged, asked=True, duration_s=known.duration_s, pause_s=known.pause_s)

    def crawl_delay(self, url: str, /) -> float | None:
        return self._shelf.crawl_delay(url) if self._obeyed(url) else None

    def new_sitemaps(self, url: str, /) -> Sequence[str]:
        origin = origin_of(url)
        known = self._shelf.find(origin) if self._obeyed(url) else None
        if known is None or self._told.get(origin) == known.standing.expires_at:
            return ()
        if known.standing.failures or known.standing.refused is not None:
            return ()
        if len(self._told) >= MAX_ORIGINS:
            self._told.clear()
        self._told[origin] = known.standing.expires_at
        return (known.rules.sitemaps if known.rules is not None else ()) or self._sitemap_paths

    async def _recall(self, origin: str) -> None:
        """Take a long file that is only in the notes back into memory, without holding the event loop."""
        standing = self._shelf.noted(origin)
        if standing is not None and standing.text is not None and len(standing.text) > LONG_CHARACTERS:
            rules = await asyncio.to_thread(self._shelf.read, standing)
            if self._shelf.noted(origin) is not None:  # nobody has asked for it meanwhile
                self._shelf.put(origin, standing, rules=rules)

    def _fresh(self, origin: str) -> CachedRobots | None:
        """What is known of an origin, unless it has expired."""
        known = self._shelf.find(origin)
        return known if known is not None and known.standing.expires_at > self._clock() else None

    async def _ask(self, origin: str, hop: Hop) -> CachedRobots | Verdict:
        """Make one request. A verdict says that another has to follow."""
        answer = await self._fetcher.fetch(Request(url=hop.url, max_body_bytes=MAX_ROBOTS_BYTES))
        if not hop.redirects and isinstance(answer, Failure) and answer.kind in REFUSALS:
            # Not noted, since another configuration may allow it.
            expires_at = self._clock() + self._waits.max_retry_s
            return self._shelf.put(
                origin, RobotsStatus(expires_at=expires_at, refused=answer.kind, message=answer.message)
            )
        now = self._clock()
        pause_s = None if isinstance(answer, Failure) else self._read_retry_after(answer.header("Retry-After"), now)
        if isinstance(answer, Redirect) and hop.redirects < MAX_REDIRECTS:
            target = join(hop.url, answer.location)
            if target is not None:
                asked = msgspec.structs.replace(
                    hop.verdict, asked=_reached(answer), duration_s=answer.duration_s, pause_s=pause_s
                )
                self._hops[origin] = Hop(url=target, redirects=hop.redirects + 1, verdict=asked)
                if len(self._hops) > MAX_ORIGINS:
                    self._hops.popitem(last=False)
                return asked
        self._hops.pop(origin, None)
        before = self._shelf.find(origin)
        standing = standing_after(
            answer,
            before.standing if before is not None else None,
            now,
            self._waits,
            retry_after_s=pause_s,
            redirected=hop.redirects > 0,
        )
        self._shelf.note(origin, standing)
        rules = None
        if standing.text is not None and len(standing.text) > LONG_CHARACTERS:
            rules = await asyncio.to_thread(self._shelf.read, standing)
        return self._shelf.put(
            origin,
            standing,
            rules=rules,
            reached=_reached(answer),
            duration_s=answer.duration_s,
            pause_s=pause_s,
        )


class RobotsAtOnce:
    """Follows the redirects of a robots.txt in one go, for whoever has no queue in which to wait for other hosts."""

    def __init__(
        self, robots: Robots, *, rest_s: float, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        """It waits for `rest_s` between two requests."""
        self._robots = robots
        self._rest_s = rest_s
        self._sleep = sleep

    async def allows(self, url: str, /) -> Verdict:
        while True:
            said = await self._robots.allows(url, errand=self._robots.errand(url))
            if said.known:
                return said
            await self._sleep(self._rest_s if said.asked else 0.0)


class NoRobots:
    """Allows everything and asks nobody; a `Robots` for crawls of one's own sites."""

    def errand(self, url: str, /) -> str | None:
        return None

    async def allows(self, url: str, /, *, errand: str | None = None) -> Verdict:
        return NONE

    def crawl_delay(self, url: str, /) -> float | None:
        return None

    def new_sitemaps(self, url: str, /) -> Sequence[str]:
        return ()


def _name(url: str) -> str:
    return name_of_site(site_of(url))


def _reached(answer: Fetched) -> bool:
    if isinstance(answer, Redirect):
        return answer.asked
    return not isinstance(answer, Failure) or answer.reached
