"""What robots.txt allows: asks for it, and answers from it.

`standing` decides what an answer means, `rules` what a file says, and `shelf` keeps it. Of an origin that the crawl
refuses to ask, as for its private address, everything is disallowed for that reason.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import time
from typing import Final, Protocol

import msgspec

from crawler.fetch.flights import Flights
from crawler.fetch.shelf import MAX_ORIGINS, Shelf, Shelved
from crawler.fetch.standing import NONE, Standing, Waits, standing_after, verdict
from crawler.page import REFUSALS, Failure, Fetched, Redirect, Request, Verdict
from crawler.urls import join, origin_of

MAX_REDIRECTS: Final = 5

ReadRetryAfter = Callable[[str | None, float], float | None]
"""Seconds that a Retry-After header asks to wait, given the time; None if it can't be read."""


class Fetches(Protocol):
    """The part of a fetcher that is needed here."""

    async def fetch(self, request: Request, /) -> Fetched: ...


class RobotsTxt:
    """Asks each origin's robots.txt through `fetcher`, and answers from the `shelf`; a `Robots`.

    Redirects of robots.txt are followed, up to five; an origin rests between two requests. Whoever had to wait for a
    request is told so (`asked`), not only the one who made it: the host must rest before any of them goes on.
    """

    def __init__(
        self,
        fetcher: Fetches,
        shelf: Shelf,
        *,
        waits: Waits | None = None,
        read_retry_after: ReadRetryAfter,
        obeyed: Callable[[str], bool] | None = None,
        clock: Callable[[], float] = time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """For URLs that are not `obeyed`, nobody is asked and everything is allowed."""
        self._fetcher = fetcher
        self._shelf = shelf
        self._waits = waits or Waits()
        self._read_retry_after = read_retry_after
        self._obeyed = obeyed or (lambda _: True)
        self._clock = clock
        self._sleep = sleep
        self._flights = Flights()
        self._told: dict[str, float] = {}

    async def allows(self, url: str, /) -> Verdict:
        if not self._obeyed(url):
            return NONE
        origin = origin_of(url)
        known = self._shelf.find(origin)
        if known is not None and known.standing.expires_at > self._clock():
            return verdict(known.standing, known.rules, url, self._clock())
        while known is None or known.standing.expires_at <= self._clock():
            if await self._flights.waited(origin):
                known = self._shelf.find(origin)
                continue
            async with self._flights.lead(origin):
                known = await self._ask(origin, known)
            break
        judged = verdict(known.standing, known.rules, url, self._clock())
        return msgspec.structs.replace(judged, asked=True, duration_s=known.duration_s) if known.reached else judged

    def crawl_delay(self, url: str, /) -> float | None:
        known = self._shelf.find(origin_of(url)) if self._obeyed(url) else None
        return known.rules.crawl_delay_s if known is not None and known.rules is not None else None

    def new_sitemaps(self, url: str, /) -> Sequence[str]:
        origin = origin_of(url)
        known = self._shelf.find(origin) if self._obeyed(url) else None
        if known is None or known.rules is None or self._told.get(origin) == known.standing.expires_at:
            return ()
        if len(self._told) >= MAX_ORIGINS:
            self._told.clear()
        self._told[origin] = known.standing.expires_at
        return known.rules.sitemaps

    async def _ask(self, origin: str, before: Shelved | None) -> Shelved:
        url = f"{origin}/robots.txt"
        answer = await self._fetcher.fetch(Request(url=url))
        if isinstance(answer, Failure) and answer.kind in REFUSALS:
            # Not noted, since another configuration may allow it.
            expires_at = self._clock() + self._waits.max_retry_s
            return self._shelf.put(origin, Standing(expires_at=expires_at, refused=answer.kind, message=answer.message))
        reached = _reached(answer)
        duration_s = answer.duration_s
        redirects = 0
        while isinstance(answer, Redirect) and redirects < MAX_REDIRECTS:
            target = join(url, answer.location)
            if target is None:
                break
            if origin_of(target) == origin_of(url):
                await self._sleep(self._waits.min_delay_s)
            url = target
            redirects += 1
            answer = await self._fetcher.fetch(Request(url=url))
            reached = reached or _reached(answer)
            duration_s += answer.duration_s
        now = self._clock()
        header = None if isinstance(answer, Failure) else answer.header("Retry-After")
        standing = standing_after(
            answer,
            before.standing if before is not None else None,
            now,
            self._waits,
            retry_after_s=self._read_retry_after(header, now),
        )
        self._shelf.note(origin, standing)
        return self._shelf.put(origin, standing, reached=reached, duration_s=duration_s)


class NoRobots:
    """Allows everything and asks nobody; a `Robots` for crawls of one's own sites."""

    async def allows(self, url: str, /) -> Verdict:
        return NONE

    def crawl_delay(self, url: str, /) -> float | None:
        return None

    def new_sitemaps(self, url: str, /) -> Sequence[str]:
        return ()


def _reached(answer: Fetched) -> bool:
    return not isinstance(answer, Failure) or answer.reached
