"""What robots.txt allows, by RFC 9309; `rules` reads what it says.

A file that was answered with success is kept for a day. Status 4xx, a redirect to nowhere or more than five of them
mean that there is none: everything is allowed, for a day. Status 429, 5xx and no whole answer mean that nobody knows:
everything is disallowed, and the file is asked for again after a minute, then two, four, … up to an hour, or as
Retry-After says. An origin that has answered nothing but that for 30 days counts as having none, for a day at a time.
What is kept is noted durably, so that a restart asks nobody again.

Of an origin that the crawl refuses to ask, as for its private address, everything is disallowed for that reason.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from time import time
from typing import Final, Protocol

import msgspec

from crawler.fetch.flights import Flights
from crawler.fetch.notes import Notes
from crawler.fetch.rules import Rules
from crawler.page import REFUSALS, Failure, Fetched, Page, Redirect, Request, Verdict
from crawler.urls import join, origin_of, path_of

MAX_ROBOTS_BYTES: Final = 500 * 1024
"""What RFC 9309, section 2.5, wants to be read at least; the rest is ignored."""
MAX_REDIRECTS: Final = 5
UNREACHABLE_LIMIT_S: Final = 30 * 86400.0
"""RFC 9309, section 2.3.1.4: after that long without an answer, none is taken to exist."""

_ALLOWED = Verdict(allowed=True, reason="robots")
_NONE = Verdict(allowed=True, reason="none")


ReadRetryAfter = Callable[[str | None, float], float | None]
"""Seconds that a Retry-After header asks to wait, given the time; None if it can't be read."""


class Fetches(Protocol):
    """The part of a fetcher that is needed here."""

    async def fetch(self, request: Request, /) -> Fetched: ...


class Kept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of one origin's robots.txt; stored as MessagePack."""

    expires_at: float
    """Seconds since 1970."""
    text: str | None = None
    """None if there is no file, or nobody knows."""
    failing_since: float | None = None
    """When the first of the failures in a row was seen; None if the last answer was a clear one."""
    failures: int = 0
    """In a row."""
    message: str | None = None
    """What the last failure was."""
    refused: str | None = None
    """Why nobody was asked, and nobody will be: our own decision."""


class _Known(msgspec.Struct, frozen=True):
    kept: Kept
    rules: Rules | None
    reached: bool = False
    """A server was asked for this; not so if it comes from the notes, or no server was found."""
    duration_s: float = 0.0
    """How long that took."""

    @property
    def size_bytes(self) -> int:
        return len(self.kept.text or "")


class RobotsTxt:
    """Asks each origin's robots.txt through `fetcher`, and answers from it; a `Robots`.

    Redirects of robots.txt are followed, up to five; `min_delay_s` is kept between two requests of one origin.
    Failures are asked again after `retry_s`, doubling up to `max_retry_s`. At most `max_origins` origins and
    `max_bytes` of files stay in memory; the others are read from `notes` when they are needed. `read_retry_after` reads
    the header; without it only the form in seconds is understood. For URLs that are not `obeyed`, nobody is asked and
    everything is allowed.

    Whoever had to wait for a request is told so (`asked`), not only the one who made it: the host must rest before any
    of them goes on.
    """

    def __init__(
        self,
        fetcher: Fetches,
        *,
        user_agent: str,
        notes: Notes | None = None,
        min_delay_s: float = 1.0,
        keep_s: float = 86400.0,
        retry_s: float = 60.0,
        max_retry_s: float = 3600.0,
        max_origins: int = 10_000,
        max_bytes: int = 64_000_000,
        read_retry_after: ReadRetryAfter | None = None,
        obeyed: Callable[[str], bool] | None = None,
        clock: Callable[[], float] = time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._fetcher = fetcher
        self._agent = product_token(user_agent)
        self._notes = notes
        self._min_delay_s = min_delay_s
        self._keep_s = keep_s
        self._retry_s = retry_s
        self._max_retry_s = max_retry_s
        self._max_origins = max_origins
        self._max_bytes = max_bytes
        self._read_retry_after = read_retry_after or _seconds
        self._obeyed = obeyed or (lambda _: True)
        self._clock = clock
        self._sleep = sleep
        self._cache: OrderedDict[str, _Known] = OrderedDict()
        self._cached_bytes = 0
        self._flights = Flights()
        self._told: dict[str, float] = {}

    async def allows(self, url: str, /) -> Verdict:
        if not self._obeyed(url):
            return _NONE
        origin = origin_of(url)
        known = self._known(origin)
        if known is not None and known.kept.expires_at > self._clock():
            return self._verdict(known, url)
        while known is None or known.kept.expires_at <= self._clock():
            if await self._flights.waited(origin):
                known = self._known(origin)
                continue
            async with self._flights.lead(origin):
                known = await self._ask(origin, known)
            break
        verdict = self._verdict(known, url)
        if not known.reached:
            return verdict
        return msgspec.structs.replace(verdict, asked=True, duration_s=known.duration_s)

    def crawl_delay(self, url: str, /) -> float | None:
        known = self._known(origin_of(url)) if self._obeyed(url) else None
        return known.rules.crawl_delay_s if known is not None and known.rules is not None else None

    def new_sitemaps(self, url: str, /) -> Sequence[str]:
        origin = origin_of(url)
        known = self._known(origin) if self._obeyed(url) else None
        if known is None or known.rules is None or self._told.get(origin) == known.kept.expires_at:
            return ()
        if len(self._told) >= self._max_origins:
            self._told.clear()
        self._told[origin] = known.kept.expires_at
        return known.rules.sitemaps

    def _verdict(self, known: _Known, url: str) -> Verdict:
        kept = known.kept
        if kept.refused is not None:
            return Verdict(allowed=False, reason=kept.refused, message=kept.message)
        if kept.failures:
            if self._given_up(kept):
                return _NONE
            retry_after_s = max(0.0, kept.expires_at - self._clock())
            return Verdict(allowed=False, reason="unreachable", retry_after_s=retry_after_s, message=kept.message)
        if known.rules is None:
            return _NONE
        if known.rules.allows(path_of(url)):
            return _ALLOWED
        return Verdict(allowed=False, reason="robots")

    def _given_up(self, kept: Kept) -> bool:
        return kept.failing_since is not None and self._clock() - kept.failing_since >= UNREACHABLE_LIMIT_S

    def _known(self, origin: str) -> _Known | None:
        """From memory, else from the notes; it may have expired."""
        known = self._cache.get(origin)
        if known is not None:
            self._cache.move_to_end(origin)
            return known
        noted = self._notes.get(_note_key(origin)) if self._notes is not None else None
        if noted is None:
            return None
        try:
            kept = msgspec.msgpack.decode(noted, type=Kept)
        except msgspec.DecodeError:
            # A note that can't be read costs one request, no more.
            return None
        return self._cached(origin, self._read(kept))

    def _read(self, kept: Kept, *, reached: bool = False, duration_s: float = 0.0) -> _Known:
        rules = None if kept.text is None else Rules(kept.text, agent=self._agent)
        return _Known(kept, rules, reached, duration_s)

    def _cached(self, origin: str, known: _Known) -> _Known:
        before = self._cache.pop(origin, None)
        self._cached_bytes += known.size_bytes - (before.size_bytes if before is not None else 0)
        self._cache[origin] = known
        while len(self._cache) > 1 and (len(self._cache) > self._max_origins or self._cached_bytes > self._max_bytes):
            self._cached_bytes -= self._cache.popitem(last=False)[1].size_bytes
        return known

    def _judged(self, answer: Fetched, before: _Known | None) -> Kept:
        now = self._clock()
        if isinstance(answer, Page) and 200 <= answer.status < 300 and answer.truncated in (None, "length"):
            return Kept(expires_at=now + self._keep_s, text=read_robots(answer.body))
        trouble = _trouble(answer)
        if trouble is None:
            return Kept(expires_at=now + self._keep_s)
        failures, since = 1, now
        if before is not None and before.kept.failing_since is not None:
            failures, since = before.kept.failures + 1, before.kept.failing_since
        if now - since >= UNREACHABLE_LIMIT_S:
            wait_s = self._keep_s
        else:
            wait_s = max(self._min_delay_s, min(self._retry_s * 2.0 ** min(failures - 1, 30), self._max_retry_s))
            header = None if isinstance(answer, Failure) else answer.header("Retry-After")
            wait_s = max(wait_s, min(self._read_retry_after(header, now) or 0.0, self._keep_s))
        return Kept(expires_at=now + wait_s, failing_since=since, failures=failures, message=trouble)

    async def _ask(self, origin: str, before: _Known | None) -> _Known:
        url = f"{origin}/robots.txt"
        answer = await self._fetcher.fetch(Request(url=url))
        if isinstance(answer, Failure) and answer.kind in REFUSALS:
            # Not noted, since another configuration may allow it.
            expires_at = self._clock() + self._max_retry_s
            return self._cached(
                origin, self._read(Kept(expires_at=expires_at, refused=answer.kind, message=answer.message))
            )
        reached = _reached(answer)
        duration_s = answer.duration_s
        redirects = 0
        while isinstance(answer, Redirect) and redirects < MAX_REDIRECTS:
            target = join(url, answer.location)
            if target is None:
                break
            if origin_of(target) == origin_of(url):
                await self._sleep(self._min_delay_s)
            url = target
            redirects += 1
            answer = await self._fetcher.fetch(Request(url=url))
            reached = reached or _reached(answer)
            duration_s += answer.duration_s
        kept = self._judged(answer, before)
        if self._notes is not None:
            self._notes.put(_note_key(origin), msgspec.msgpack.encode(kept))
        return self._cached(origin, self._read(kept, reached=reached, duration_s=duration_s))


class NoRobots:
    """Allows everything and asks nobody; a `Robots` for crawls of one's own sites."""

    async def allows(self, url: str, /) -> Verdict:
        return _NONE

    def crawl_delay(self, url: str, /) -> float | None:
        return None

    def new_sitemaps(self, url: str, /) -> Sequence[str]:
        return ()


def product_token(user_agent: str, /) -> str:
    """The name by which robots.txt knows a crawler: `onceover` of `onceover/1.0 (+https://example.org/)`, and of
    `Mozilla/5.0 (compatible; onceover/1.0)`. RFC 9309, section 2.2.1. Raises `ValueError` if there is none."""
    match = re.search(r"\(compatible;\s*([A-Za-z_-]+)", user_agent) or re.match(r"\s*([A-Za-z_-]+)", user_agent)
    if match is None:
        raise ValueError(
            f"user agent {user_agent!r} does not begin with a name, as 'onceover/1.0 (+https://example.org/)'"
        )
    return match[1].lower()


def read_robots(body: bytes, /) -> str:
    """The text of robots.txt: UTF-8, up to the limit and a whole line, whatever else it contains."""
    if len(body) > MAX_ROBOTS_BYTES:
        body = body[:MAX_ROBOTS_BYTES]
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return body.decode("utf-16", "replace")
    return body.decode("utf-8-sig", "replace")


def _trouble(answer: Fetched) -> str | None:
    """Why the answer leaves open what is allowed; None if it says that there is no robots.txt."""
    if isinstance(answer, Failure):
        return f"{answer.kind}: {answer.message}"
    if answer.status == 429 or answer.status >= 500:
        return f"status {answer.status}"
    if isinstance(answer, Page) and answer.status < 300:
        return f"cut: {answer.truncated}"
    return None


def _reached(answer: Fetched) -> bool:
    return not isinstance(answer, Failure) or answer.reached


def _seconds(header: str | None, now: float, /) -> float | None:  # noqa: ARG001
    return float(header) if header is not None and header.isascii() and header.isdecimal() else None


def _note_key(origin: str) -> str:
    return f"robots {origin}"
