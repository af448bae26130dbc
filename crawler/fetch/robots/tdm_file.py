"""Asks origins for `/.well-known/tdmrep.json`, beside their robots.txt.

Each request is a turn of the host, as one for robots.txt is: `allows` sends at most one, and returns a verdict that is
not `known`, so that the caller lets the host rest and asks again. What can't be had says nothing.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from time import time
from typing import Final

import msgspec

from crawler.fetch.robots.cache import MAX_ORIGINS
from crawler.fetch.robots.robots_txt import (
    MAX_REDIRECTS,
    ReadRetryAfter,
    has_reached,
    host_name,
    must_repeat,
    retry_after_of,
    target_of,
)
from crawler.fetch.robots.status import CLOCK_STEP_S, path_to_match
from crawler.fetch.robots.tdm_rules import MAX_TDM_BYTES, TdmRule, TdmRules, read_tdm_rules
from crawler.fetch.singleflight import SingleFlight
from crawler.notes import NoteCache, NoteKind, Notes
from crawler.page import TOO_MANY_REQUESTS, Failure, Fetched, Page, Redirect, Request, Verdict
from crawler.seams import Fetches, Robots
from crawler.url.urls import host_of, origin_of

WELL_KNOWN: Final = "/.well-known/tdmrep.json"
KEEP_S: Final = 86_400.0
RETRY_S: Final = 3600.0
"""After a failure that may pass."""
NOTES: Final = NoteKind(word="tdmrep", host_of=host_of)
"""By origin."""
_UNKNOWN: Final = Verdict(allowed=False, reason="tdmrep", known=False, asked=True)


class TdmStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What we know of the file of one origin; stored as MessagePack."""

    expires_at: float
    """Seconds since 1970."""
    rules: list[TdmRule] = []


class _Known:
    """The same, ready to be asked."""

    __slots__ = ("rules", "status")

    def __init__(self, status: TdmStatus) -> None:
        self.status = status
        self.rules = TdmRules(status.rules)


_DECODER: Final = msgspec.msgpack.Decoder(TdmStatus)


class TdmFiles:
    """A `Robots` around another one, whose verdicts also have what the file of the origin says."""

    def __init__(
        self,
        robots: Robots,
        fetcher: Fetches,
        notes: Notes,
        *,
        read_retry_after: ReadRetryAfter,
        archive: Callable[[Fetched], Awaitable[None]] | None = None,
        clock: Callable[[], float] = time,
    ) -> None:
        """`archive` gets what came of each request, before it counts."""
        self._robots = robots
        self.prerequisite = robots.prerequisite
        self.crawl_delay = robots.crawl_delay
        self.new_sitemaps = robots.new_sitemaps
        self._fetcher = fetcher
        self._read_retry_after = read_retry_after
        self._archive = archive
        self._clock = clock
        self._known = NoteCache(
            notes,
            NOTES,
            read=lambda note: _Known(_DECODER.decode(note)),
            write=lambda known: msgspec.msgpack.encode(known.status),
            capacity=MAX_ORIGINS,
        )
        self._hops: OrderedDict[str, tuple[str, int]] = OrderedDict()
        """By origin, for each file that redirects: the next URL, and the number of redirects so far."""
        self._single_flight = SingleFlight()

    def is_known(self, url: str, /) -> bool:
        return self._robots.is_known(url) and self._fresh(origin_of(url)) is not None

    async def allows(self, url: str, /, *, prerequisite: str | None = None) -> Verdict:
        verdict = await self._robots.allows(url, prerequisite=prerequisite)
        if not verdict.allowed or not verdict.known or verdict.asked or prerequisite is not None:
            return verdict
        origin = origin_of(url)
        known = self._fresh(origin)
        if known is None:
            if await self._single_flight.wait_for_leader(origin):
                return _UNKNOWN
            async with self._single_flight.lead(origin):
                return await self._ask(origin)
        said = known.rules.of(path_to_match(url))
        return msgspec.structs.replace(verdict, preferences=[*verdict.preferences, *said]) if said else verdict

    async def _ask(self, origin: str) -> Verdict:
        """Send one request, unless robots.txt disallows it."""
        url, redirects = self._hops.get(origin, (f"{origin}{WELL_KNOWN}", 0))
        permission = await self._robots.allows(url)
        if permission.asked:
            # A block of settings may obey robots.txt here, and another one not where the page is: nobody has asked yet.
            return msgspec.structs.replace(permission, allowed=False, known=False)
        if not permission.allowed:
            is_certain = permission.known and permission.retry_after_s is None
            status = TdmStatus(expires_at=self._clock() + (KEEP_S if is_certain else RETRY_S))
            self._known.put(origin, _Known(status))
            return msgspec.structs.replace(_UNKNOWN, asked=False)
        response = await self._fetcher.fetch(Request(url=url, max_body_bytes=MAX_TDM_BYTES))
        if self._archive is not None:
            await self._archive(response)
        now = self._clock()
        target = target_of(response, url) if isinstance(response, Redirect) else None
        if must_repeat(response):
            target = url
        if target is not None and redirects < MAX_REDIRECTS and host_name(target) == host_name(url):
            self._hops[origin] = target, redirects + 1
            if len(self._hops) > MAX_ORIGINS:
                self._hops.popitem(last=False)
        else:
            self._hops.pop(origin, None)
            self._known.put(origin, _Known(_status(response, now)))
        return msgspec.structs.replace(
            _UNKNOWN,
            asked=has_reached(response),
            duration_s=response.duration_s,
            pause_s=self._read_retry_after(retry_after_of(response), now),
        )

    def _fresh(self, origin: str) -> _Known | None:
        """What we know about an origin, unless it has expired."""
        known = self._known.find(origin)
        if known is None:
            return None
        left_s = known.status.expires_at - self._clock()
        return known if 0.0 < left_s <= KEEP_S + CLOCK_STEP_S else None  # longer if the clock was set back


def _status(response: Fetched, now: float) -> TdmStatus:
    is_cut = isinstance(response, Page) and response.truncated not in (None, "length")
    if isinstance(response, Page) and response.status == 200 and response.truncated is None:
        return TdmStatus(expires_at=now + KEEP_S, rules=read_tdm_rules(response.body))
    may_pass = is_cut or isinstance(response, Failure) or response.status in TOO_MANY_REQUESTS or response.status >= 500
    return TdmStatus(expires_at=now + (RETRY_S if may_pass else KEEP_S))
