"""Asks servers over HTTP."""

import asyncio
import logging
from collections.abc import Callable
from time import monotonic, time

import aiohttp
from msgspec.structs import replace
from yarl import URL

from crawler.fetch.bodies import Asked, read_body, understood
from crawler.fetch.body_budget import BodyBudget, Claim
from crawler.fetch.connect.connections import Answer
from crawler.fetch.connect.failures import (
    NoContact,
    PortRefused,
    Trouble,
    translate,
)
from crawler.fetch.connect.network import Network
from crawler.fetch.cookies import Cookies
from crawler.fetch.headers import sent
from crawler.fetch.hsts import StrictTransport
from crawler.fetch.request_limits import RequestLimits
from crawler.page import Failure, FailureKind, Fetched, Page, Redirect, Request

_log = logging.getLogger(__name__)


class HttpFetcher:
    """Asks a server for one URL over HTTP/1.1; a `Fetcher`.

    `terms` gives those of a URL. Bodies, until their pages are gone, take about `max_memory_bytes` all together, and
    one body more. `cookie_jar` holds what terms with `cookies` keep; with `hsts`, a URL that is to be asked for by
    https is answered with a redirect there, and nobody is asked. `may_ask` tells of a URL whether the user agent is
    good enough for it. The network is closed with the fetcher.

    Every request is sent once. One that finds a kept connection closed is a failure like others, tried again by whoever
    knows how long its host must rest.
    """

    def __init__(
        self,
        network: Network,
        *,
        terms: Callable[[str], RequestLimits],
        max_memory_bytes: int = 16_000_000,
        cookie_jar: Cookies | None = None,
        hsts: StrictTransport | None = None,
        may_ask: Callable[[str], bool] = lambda _: True,
        allows_port: Callable[[int], bool] = lambda _: True,
    ) -> None:
        self._network = network
        self._terms = terms
        self._memory = BodyBudget(max_memory_bytes)
        self._cookies = cookie_jar
        self._hsts = hsts
        self._may_ask = may_ask
        self._allows_port = allows_port

    async def fetch(self, request: Request, /) -> Fetched:
        fetched_at = time()
        if self._hsts is not None and (secure := self._hsts.upgraded(request.url)) is not None:
            return _known_redirect(request.url, secure, fetched_at)
        started = monotonic()
        response: Answer | None = None
        fetched: Fetched | None = None
        claim = Claim(self._memory)
        terms = self._terms(request.url)
        if request.is_sitemap:
            terms = replace(terms, max_body_bytes=max(terms.max_body_bytes, terms.max_sitemap_bytes))
        if request.max_body_bytes is not None:
            terms = replace(terms, max_body_bytes=request.max_body_bytes)
        try:
            self._network.refuse_host(url := _wire_url(request.url))
            if not self._allows_port(url.port or 0):
                raise PortRefused(f"port {url.port} is not asked: name it in scope.ports if it is meant")
            if not self._may_ask(request.url):
                raise NoContact("the user agent has no address under which you can be reached: set fetch.user_agent")
            deadline = asyncio.get_running_loop().time() + terms.timeout_s
            async with asyncio.timeout_at(deadline):
                headers = self._headers(url, terms, request)
                response = await self._network.get(url, headers, connect_timeout_s=terms.connect_timeout_s)
            self._learn(url, terms, response)
            raw, truncated = await read_body(response, terms, claim, deadline=deadline)
            has_copy = request.etag is not None or request.last_modified is not None
            asked = Asked(request.url, fetched_at, started, has_copy)
            fetched = await understood(asked, response, raw, truncated, terms=terms, claim=claim, memory=self._memory)
            return fetched
        except Exception as error:  # noqa: BLE001
            trouble = translate(error)
            if trouble is None:
                _log.exception("unexpected error while fetching %s", request.url)
                trouble = Trouble(
                    FailureKind.UNEXPECTED, f"an error of our own ({type(error).__name__}); the log says more", True
                )
            return Failure(
                url=request.url,
                kind=trouble.kind,
                message=trouble.message,
                ip=response.peer[0] if response is not None and response.peer else None,
                fetched_at=fetched_at,
                duration_s=monotonic() - started,
                reached=trouble.reached,
                answered=response is not None,
                may_pass=trouble.may_pass,
            )
        finally:
            if response is not None and not response.closed:
                response.close()
            claim.release(fetched if isinstance(fetched, Page | Redirect) else None)

    def _headers(self, url: URL, terms: RequestLimits, request: Request) -> dict[str, str]:
        headers = sent(terms.headers, request)
        if terms.cookies and self._cookies is not None and (cookie := self._cookies.header(url)) is not None:
            headers["Cookie"] = f"{headers['Cookie']}; {cookie}" if "Cookie" in headers else cookie
        return headers

    def _learn(self, url: URL, terms: RequestLimits, response: Answer) -> None:
        """Take note of what a response says for others."""
        if terms.cookies and self._cookies is not None:
            self._cookies.learn(url, response.headers.getall("Set-Cookie", []))
        if self._hsts is not None and url.scheme == "https" and self._network.verifies(url):
            wish = response.headers.get("Strict-Transport-Security")
            if wish is not None:
                self._hsts.learn(str(url), wish)

    async def address(self, url: str, /) -> str | None:
        return await self._network.address(url)

    async def aclose(self) -> None:
        """Close every connection. Closing twice is harmless."""
        await self._network.aclose()


def _known_redirect(url: str, location: str, now: float) -> Redirect:
    """What browsers make of a URL that HSTS forbids to ask for."""
    return Redirect(
        url=url,
        status=307,
        reason="Internal Redirect",
        headers=[(b"Location", location.encode()), (b"Non-Authoritative-Reason", b"HSTS")],
        location=location,
        fetched_at=now,
        duration_s=0.0,
        asked=False,
    )


def _wire_url(url: str) -> URL:
    """The URL, to be sent byte for byte; without its fragment."""
    if "#" in url:
        url = url.partition("#")[0]
    try:
        parsed = URL(url, encoded=True)
        _ = parsed.raw_host  # yarl reads the authority when it is asked for
    except ValueError as error:
        raise aiohttp.InvalidURL(url, str(error)) from error
    if url.endswith("?") and not parsed.raw_query_string:
        # yarl drops a query that is there but empty.
        parsed = parsed.with_path(f"{parsed.raw_path}?", encoded=True)
    return parsed
