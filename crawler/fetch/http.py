"""Fetches URLs over HTTP."""

import asyncio
import logging
from collections.abc import Callable
from time import monotonic, time

from msgspec.structs import replace
from yarl import URL

from crawler.fetch.body_budget import BodyBudget, Claim
from crawler.fetch.connect.failures import (
    KeptClosed,
    NoContact,
    PortRefused,
    Trouble,
    lack_of_files,
    translate,
)
from crawler.fetch.connect.guard import AddressRefused
from crawler.fetch.connect.network import Network
from crawler.fetch.connect.requests import SentUrl
from crawler.fetch.connect.responses import Response
from crawler.fetch.cookies import Cookies
from crawler.fetch.headers import request_headers
from crawler.fetch.hsts import StrictTransport
from crawler.fetch.request_limits import RequestLimits
from crawler.fetch.response_reader import (
    SentRequest,
    answer_before_failure,
    decode_body,
    interpret,
    may_be_coded,
    read_at_once,
    read_body,
)
from crawler.fetch.signing.values import Signed, SignsRequests
from crawler.page import Failure, FailureKind, Fetched, Page, Redirect, Request, WithBody

_log = logging.getLogger(__name__)

_MAX_CHECKED_BYTES = 4096
"""So much of the body of a check is read, so that its connection can be kept."""


class HttpFetcher:
    """Asks a server for one URL over HTTP/1.1; a `Fetcher`. It closes the network with itself. To be made inside the
    running event loop.

    `limits` returns the limits for a URL. All bodies together, until their pages are freed, take about
    `max_memory_bytes`, plus one body. `cookie_jar` stores the cookies where the limits allow `cookies`. With `hsts`,
    the fetcher answers an http URL that requires https with a redirect, and asks nobody. `may_ask` says whether the
    crawl may ask a host, which it gets as the header Host has it: without a contact in its user agent, it may not ask
    all. `signing` signs requests.

    Each request is sent once. If it meets a kept connection that the server has closed, that is a failure like any
    other: the caller tries again, because he knows how long the host must rest. `OSError` is raised if the system lets
    it open no more files.
    """

    def __init__(
        self,
        network: Network,
        *,
        limits: Callable[[str], RequestLimits],
        max_memory_bytes: int = 16_000_000,
        cookie_jar: Cookies | None = None,
        hsts: StrictTransport | None = None,
        signing: SignsRequests | None = None,
        may_ask: Callable[[str], bool] = lambda _: True,
        allows_port: Callable[[int], bool] = lambda _: True,
    ) -> None:
        self._network = network
        self.set_concurrency = network.set_concurrency
        self.look_ahead = network.look_ahead
        self.connections = network.connections
        self.address = network.address
        self.aclose = network.aclose
        self._clock = asyncio.get_running_loop().time
        self._limits_for = limits
        self._budget = BodyBudget(max_memory_bytes)
        self._cookies = cookie_jar
        self._hsts = hsts
        self._signing = signing
        self._may_ask = may_ask
        self._allows_port = allows_port

    async def fetch(self, request: Request, /) -> Fetched:
        fetched_at = time()
        if self._hsts is not None and (secure := self._hsts.upgrade(request.url)) is not None:
            return Redirect.internal(request.url, secure, why=b"HSTS", now=fetched_at)
        response: Response | None = None
        fetched: Fetched | None = None
        raw: bytes | None = None
        truncated: str | None = None
        limits = self._limits_of(request)
        sent = SentRequest(request.url, fetched_at, monotonic(), limits.unrecorded)
        claim = Claim(self._budget)
        signed: Signed | None = None
        try:
            url = SentUrl(request.url)
            self._refuse(url)
            deadline = self._clock() + limits.timeout_s
            headers = request_headers(limits.headers, request)
            if limits.cookies and self._cookies is not None:
                cookies = self._cookies.header(url.whole, own=headers.get("Cookie"))
                if cookies is not None:
                    headers["Cookie"] = cookies
            if self._signing is not None:
                async with asyncio.timeout_at(deadline):
                    signed = await self._signing.sign(url.whole, request.method, headers)
                if signed is not None:
                    headers |= signed.headers
            response = await self._network.ask(url, headers, limits=limits, deadline=deadline, method=request.method)
            self._learn(url, limits, response)
            read = read_at_once(response, limits) or await read_body(response, limits, claim, deadline=deadline)
            raw, truncated = (b"", None) if request.is_check else read
            decoded = None
            if raw and may_be_coded(response):
                decoded = await decode_body(response, raw, limits=limits, claim=claim)
            fetched = interpret(sent, response, raw, truncated, decoded, limits=limits)
            if self._signing is not None and b"accept-signature" in response.headers.named:
                fetched = await self._learn_challenge(url.whole, headers, signed, response, fetched)
            return fetched
        except Exception as error:
            if (lack := lack_of_files(error)) is not None:
                raise lack from error
            fetched = self._make_failure(error, sent, response, raw, truncated)
            return fetched
        finally:
            if response is not None:
                response.close()
            if claim.size_bytes:  # few bodies are that long
                holder = fetched.response if isinstance(fetched, Failure) else fetched
                claim.release(holder if isinstance(holder, WithBody) else None)

    def _make_failure(
        self,
        error: Exception,
        request: SentRequest,
        response: Response | None,
        raw: bytes | None,
        truncated: str | None,
    ) -> Failure:
        """The failure that an exception means. `response`, `raw` and `truncated` are what had come before it."""
        trouble = _translate(error, request.url)
        if raw is None:
            truncated = "time" if trouble.kind is FailureKind.TIMEOUT else "disconnect"
        return Failure(
            url=request.url,
            kind=trouble.kind,
            message=trouble.message,
            ip=response.peer[0] if response is not None and response.peer else None,
            fetched_at=request.sent_at,
            duration_s=monotonic() - request.started_s,
            reached=trouble.reached,
            answered=response is not None,
            response=None if response is None else answer_before_failure(request, response, raw, truncated),
            may_pass=trouble.may_pass,
            no_connection=trouble.no_connection and not self._network.has_proxy(SentUrl(request.url).origin.host),
            kept_closed=isinstance(error, KeptClosed),
        )

    def _limits_of(self, request: Request) -> RequestLimits:
        limits = self._limits_for(request.url)
        if request.is_sitemap:
            limits = replace(limits, max_body_bytes=max(limits.max_body_bytes, limits.max_sitemap_bytes))
        if request.is_check:
            limits = replace(limits, max_body_bytes=_MAX_CHECKED_BYTES)
        if request.max_body_bytes is not None:
            limits = replace(limits, max_body_bytes=request.max_body_bytes)
        return limits

    def _refuse(self, url: SentUrl) -> None:
        """Raise the reason if the crawl must not ask for this URL."""
        origin = url.origin
        if (why := self._network.refusal_of(origin.host)) is not None:
            raise AddressRefused(f"{origin.host} ({why})")
        if not self._allows_port(origin.port or 0):
            raise PortRefused(f"port {origin.port} is not asked: name it in scope.ports if it is meant")
        if not self._may_ask(origin.host_header or ""):
            raise NoContact("the user agent has no address under which you can be reached: set fetch.user_agent")

    def _learn(self, url: SentUrl, limits: RequestLimits, response: Response) -> None:
        """Store the cookies and the HSTS policy of a response."""
        if limits.cookies and self._cookies is not None:
            self._cookies.learn(url.whole, response.headers.all(b"set-cookie"))
        if self._hsts is not None and url.origin.scheme == "https" and self._network.verifies(url.origin.host):
            policy = response.headers.first(b"strict-transport-security")
            if policy is not None:
                self._hsts.learn(str(url.whole), policy)

    async def _learn_challenge(
        self, url: URL, headers: dict[str, str], signed: Signed | None, response: Response, fetched: Fetched
    ) -> Fetched:
        """Remember the signature that a server asks for. Marks the page if the request must be repeated with it."""
        assert self._signing is not None
        accepted = response.headers.all(b"accept-signature")
        again = await self._signing.learn(url, headers, signed, status=response.status, accepted=accepted)
        return replace(fetched, challenged=True) if again and isinstance(fetched, Page) else fetched


def _translate(error: Exception, url: str) -> Trouble:
    trouble = translate(error)
    if trouble is None:
        _log.error("unexpected error while fetching %s", url, exc_info=error)
        message = f"an error of our own ({type(error).__name__}); the log says more"
        trouble = Trouble(FailureKind.UNEXPECTED, message, True)
    return trouble
