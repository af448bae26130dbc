"""Asks servers over HTTP, with aiohttp."""

import asyncio
import logging
import re
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from time import monotonic, time
from typing import Any, cast

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_reqrep import ClientResponse
from aiohttp.connector import AddrInfoType
from msgspec.structs import replace
from yarl import URL

from crawler.fetch.bodies import Asked, read_body, understood
from crawler.fetch.connections import Answer, Connections, TolerantHandler
from crawler.fetch.cookies import Cookies
from crawler.fetch.failures import NoContact, Trouble, printable, translate
from crawler.fetch.guard import AddressRefused, Guard
from crawler.fetch.headers import sent
from crawler.fetch.hsts import StrictTransport
from crawler.fetch.memory import Claim, Memory
from crawler.fetch.names import Names, StaticNames, SystemResolver
from crawler.fetch.routes import HttpProxy, Routes
from crawler.fetch.socks import RoutedConnector
from crawler.fetch.terms import Terms
from crawler.page import Failure, FailureKind, Fetched, Page, Redirect, Request
from crawler.urls import host_of

_log = logging.getLogger(__name__)

_MAX_HEADER_BYTES = 64 * 1024
"""Of one header line. What browsers accept in all; aiohttp's own limit of 8 KiB refuses real sites."""
_MAX_HEADERS = 512
_KEEP_ALIVE_S = 15.0
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)
"""A host whose last label is this is an address, by the URL standard."""


class HttpFetcher:
    """Asks a server for one URL over HTTP/1.1; a `Fetcher`.

    To be made inside the running event loop. `concurrency` is how many fetches the caller has under way as a rule,
    `spare` how many more at most, `per_host` how many connections one host gets; at most `max_connections` stay open,
    idle ones included. `terms` gives those of a URL. Bodies, until their pages are gone, take about `max_memory_bytes`
    all together, and one body more. `hosts` are static names, as `StaticNames` takes them; `resolver` is asked for the
    others instead of the system's, and closed with the fetcher. `authorities` are files of certificates, in PEM, that
    vouch for servers beside those that the system knows. Raises `ValueError` for a setting that can't be. `routes` say
    what is different
    for some hosts. `cookie_jar` holds what terms with `cookies` keep; with `hsts`, a URL that is to be asked
    for by https is answered with a redirect there, and nobody is asked. `may_ask` tells of a URL whether the user agent
    is good enough for it.

    A request that finds a kept connection closed is sent once more, over a new one (RFC 9112, section 9.3.1); any other
    is sent once.
    """

    def __init__(
        self,
        *,
        terms: Callable[[str], Terms],
        concurrency: int = 64,
        spare: int = 0,
        per_host: int = 1,
        max_memory_bytes: int = 16_000_000,
        max_connections: int | None = None,
        hosts: Mapping[str, str] | None = None,
        allow_private: bool = False,
        allow_networks: Iterable[str] = (),
        verify_tls: bool = True,
        authorities: Iterable[str] = (),
        resolver: AbstractResolver | None = None,
        routes: Routes | None = None,
        cookie_jar: Cookies | None = None,
        hsts: StrictTransport | None = None,
        may_ask: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._routes = routes or Routes()
        self._terms = terms
        self._cookies = cookie_jar
        self._hsts = hsts
        self._may_ask = may_ask
        self._memory = Memory(max_memory_bytes)
        self._guard = Guard(allow_private=allow_private, networks=allow_networks)
        self._static = StaticNames(hosts or {})
        self._connections = Connections(max_connections or max(4 * concurrency, 256) + spare)
        self._names = Names(static=self._static, guard=self._guard, system=resolver or SystemResolver())
        connector = RoutedConnector(
            socks=self._routes.socks,
            names=self._names,
            opened=self._connections.opened,
            use_dns_cache=False,
            limit=0,
            limit_per_host=per_host,
            keepalive_timeout=_KEEP_ALIVE_S,
            socket_factory=self._socket,
            ssl=_trust(verify_tls, authorities),
        )
        connector._factory = cast(Any, partial(TolerantHandler, loop=asyncio.get_running_loop()))
        self._session = aiohttp.ClientSession(
            connector=connector,
            response_class=cast(type[ClientResponse], partial(Answer, self._connections, terms)),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            requote_redirect_url=False,
            max_line_size=_MAX_HEADER_BYTES,
            max_field_size=_MAX_HEADER_BYTES,
            max_headers=_MAX_HEADERS,
        )

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
        try:
            self._refuse_literal(url := _wire_url(request.url))
            if not self._may_ask(request.url):
                raise NoContact("the user agent has no address under which you can be reached: set fetch.user_agent")
            deadline = asyncio.get_running_loop().time() + terms.timeout_s
            async with asyncio.timeout_at(deadline):
                response = await self._ask(url, terms, sent(terms.headers, request))
            self._learn(url, terms, response)
            raw, truncated = await read_body(response, terms, claim, deadline=deadline)
            asked = Asked(request.url, fetched_at, started)
            fetched = await understood(asked, response, raw, truncated, terms=terms, claim=claim, memory=self._memory)
            return fetched
        except Exception as error:  # noqa: BLE001
            trouble = translate(error)
            if trouble is None:
                _log.exception("unexpected error while fetching %s", request.url)
                trouble = Trouble(FailureKind.UNEXPECTED, printable(f"{type(error).__name__}: {error}"), True)
            return Failure(
                url=request.url,
                kind=trouble.kind,
                message=trouble.message,
                ip=response.peer[0] if response is not None and response.peer else None,
                fetched_at=fetched_at,
                duration_s=monotonic() - started,
                reached=trouble.reached,
            )
        finally:
            if response is not None and not response.closed:
                response.close()
            claim.release(fetched if isinstance(fetched, Page | Redirect) else None)

    async def _ask(self, url: URL, terms: Terms, headers: dict[str, str]) -> Answer:
        """Ask, in the way that the host's route wants."""
        host = url.raw_host or ""
        more: dict[str, Any] = {"timeout": aiohttp.ClientTimeout(total=None, sock_connect=terms.connect_timeout_s)}
        if (login := self._routes.authorization(host)) is not None:
            headers["Authorization"] = login
        if terms.cookies and self._cookies is not None and (cookie := self._cookies.header(url)) is not None:
            headers["Cookie"] = f"{headers['Cookie']}; {cookie}" if "Cookie" in headers else cookie
        if not self._routes.verifies(host):
            more["ssl"] = False
        proxy = self._routes.proxy(host)
        if isinstance(proxy, HttpProxy):
            await self._refuse_name(host)
            more["proxy"] = proxy.url
            if url.scheme == "https":
                more["proxy_headers"] = proxy.headers  # with CONNECT, not for the server behind it
            else:
                headers |= proxy.headers or {}
        answer = cast(Answer, await self._session.get(url, headers=headers, allow_redirects=False, **more))
        if proxy is not None:
            answer.peer = None  # it is the proxy's
        return answer

    def _learn(self, url: URL, terms: Terms, response: Answer) -> None:
        """Take note of what a response says for others."""
        if terms.cookies and self._cookies is not None:
            self._cookies.learn(url, response.headers.getall("Set-Cookie", []))
        if self._hsts is not None and url.scheme == "https" and self._routes.verifies(url.raw_host or ""):
            wish = response.headers.get("Strict-Transport-Security")
            if wish is not None:
                self._hsts.learn(str(url), wish)

    async def _refuse_name(self, host: str) -> None:
        """Refuse a name that leads to a private address, before a proxy is asked. One that can't be resolved here is
        left to the proxy."""
        try:
            await self._names.resolve(host)
        except AddressRefused:
            raise
        except OSError:
            return

    async def address(self, url: str, /) -> str | None:
        """Where a fetch of the URL would go first; None if no address is known or may be asked, or for a proxy."""
        host = host_of(url).strip("[]")
        if self._routes.proxy(host) is not None:
            return None
        if host[-1:].isdigit() or ":" in host:
            return host
        try:
            return (await self._names.resolve(host))[0]["host"]
        except OSError:
            return None

    async def aclose(self) -> None:
        """Close every connection. Closing twice is harmless."""
        await self._session.close()
        await self._names.close()

    def _refuse_literal(self, url: URL) -> None:
        """Refuse an address in the URL itself: no resolver sees it. One that is not spelled as the URL standard does
        would be read by a proxy, who knows how."""
        host = url.raw_host
        if self._guard.open or not host or not (":" in host or _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2])):
            return
        if (why := self._guard.refusal(host)) is not None:
            raise AddressRefused(f"{host} ({why})")

    def _socket(self, address: AddrInfoType) -> socket.socket:
        """Make a socket for an address, if the guard lets it pass. Every connection begins here."""
        family, kind, protocol, _, place = address
        host = str(place[0])
        why = self._guard.refusal(host)
        if why is not None and host not in self._static.addresses and (host, place[1]) not in self._routes.places:
            raise AddressRefused(f"{host} ({why})")
        made = socket.socket(family, kind, protocol)
        self._connections.opened(made)
        return made


def _trust(verify: bool, authorities: Iterable[str]) -> bool | ssl.SSLContext:
    """What aiohttp takes. Raises `ValueError` for a file without certificates."""
    files = list(authorities)
    if not verify or not files:
        return verify
    context = ssl.create_default_context()
    for file in files:
        try:
            context.load_verify_locations(file)
        except (OSError, ssl.SSLError) as error:
            raise ValueError(f"no certificates in PEM can be read from {file}: {error}") from error
    return context


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
