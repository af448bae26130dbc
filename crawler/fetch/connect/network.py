"""Connects to servers with aiohttp: names, connections, certificates, proxies. Every connection passes the guard
here."""

import asyncio
import re
import socket
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, cast

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver
from aiohttp.connector import AddrInfoType
from yarl import URL

from crawler.fetch.connect.aiohttp_contract import check_client
from crawler.fetch.connect.connections import MIN_CONNECTIONS, ConnectionLimits, Connections, connections_for
from crawler.fetch.connect.connector import RoutedConnector
from crawler.fetch.connect.guard import AddressRefused, Guard, special_use
from crawler.fetch.connect.handler import TolerantHandler
from crawler.fetch.connect.lookup.ahead import LookAhead
from crawler.fetch.connect.names import Names, StaticNames, SystemResolver
from crawler.fetch.connect.requests import HttpRequest, SentUrl
from crawler.fetch.connect.responses import HeadTimeouts, Response, exchange
from crawler.fetch.connect.routes import HttpProxy, Routes, SocksProxy
from crawler.fetch.connect.tls.contexts import tls_context
from crawler.fetch.connect.tls.resuming import resume_sessions
from crawler.fetch.request_limits import RequestLimits
from crawler.page import ConnectionCounts
from crawler.url.hosts import is_address, same_address
from crawler.url.urls import host_of

DEFAULT_LIMITS = ConnectionLimits(count=MIN_CONNECTIONS)
_KEEP_ALIVE_S = 70.0
"""Longer than nearly every rest of a host, and shorter than servers usually wait: nginx closes after 75 s."""
_HOSTS = 4096
"""Hosts whose settings are kept. To look them up again takes a microsecond."""
_LOGIN_WANTED = 407
"""Only a proxy may answer this (RFC 9110, section 15.5.8), so it says nothing about the URL."""
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)
"""By the URL standard, a host is an address if its last label is such a number."""


class _Settings(msgspec.Struct, frozen=True, gc=False):
    """What applies to every request to one host."""

    login: str | None
    """The value for the header Authorization."""
    proxy: HttpProxy | SocksProxy | None
    verifies: bool
    """Whether we verify its certificate."""


class Network:
    """Connections to servers, opened on demand and kept for a while.

    To be made inside the running event loop. Raises `ValueError` for an invalid setting, `ClientRefused` if the
    installed aiohttp does not fit.

    `limits` of all connections, including idle ones; see `connections_for`. `per_host`: connections per host, or for
    each of its queues, of which `queues_of` says for a URL how many there are.
    `guard` refuses addresses. `hosts`: see `StaticNames`. `resolver` replaces the system's; the network closes it.
    `authorities`: PEM files of certificates that are trusted beside those of the system. `routes`: settings of some
    hosts.
    """

    def __init__(
        self,
        *,
        limits: ConnectionLimits = DEFAULT_LIMITS,
        per_host: int = 1,
        queues_of: Callable[[str], int] | None = None,
        guard: Guard,
        hosts: Mapping[str, str] | None = None,
        authorities: Iterable[str] = (),
        resolver: AbstractResolver | None = None,
        routes: Routes | None = None,
    ) -> None:
        self._routes = routes or Routes()
        unverified, verified = tls_context(verifies=False), tls_context(authorities=authorities)
        self._unverified = unverified
        self._sessions = (resume_sessions(verified), resume_sessions(unverified))
        self._guard = guard
        self._static = StaticNames(hosts or {})
        self._connections = Connections(limits.count, max_bytes=limits.memory_bytes)
        self._names = Names(static=self._static, guard=self._guard, system=resolver or SystemResolver())
        self._timeouts = HeadTimeouts(asyncio.get_running_loop())
        self._settings = lru_cache(maxsize=_HOSTS)(self._find_settings)
        self.refusal_of = lru_cache(maxsize=_HOSTS)(self._refusal)
        """Why nothing may be sent to the host in a URL, where no resolver would see it: a private address, or
        `localhost`, which a proxy would resolve to itself. An address in a spelling other than that of the URL standard
        is refused too, because we can't know how a proxy would read it. None if there is no such reason."""
        connector = RoutedConnector(
            socks=self._routes.socks,
            names=self._names,
            queues_of=queues_of,
            use_dns_cache=False,
            limit=0,
            limit_per_host=per_host,
            keepalive_timeout=_KEEP_ALIVE_S,
            socket_factory=self._socket,
            ssl=verified,
        )
        check_client(connector)
        connector._factory = cast(Any, partial(TolerantHandler, self._connections, loop=asyncio.get_running_loop()))
        self._connector = connector

    def set_concurrency(self, concurrency: int, *, spare: int) -> None:
        """Let as many connections stay open as so many requests at once need."""
        self._connections.limit = connections_for(concurrency, spare)

    def connections(self) -> ConnectionCounts:
        """The connections since the network was made."""
        return ConnectionCounts(
            opened=self._connections.opened,
            reused=self._connections.reused,
            open=len(self._connections),
            memory_bytes=self._connections.memory_bytes,
            tls_handshakes=sum(each.handshakes for each in self._sessions),
            tls_resumed=sum(each.resumed for each in self._sessions),
        )

    def call_before_requests(self, before_request: Callable[[], object]) -> None:
        """Call this right before each request is written."""
        self._connections.before_requests.append(before_request)

    def look_ahead(self, hosts: Callable[[], Iterable[str]]) -> None:
        """Look up these hosts, which are soon needed, while requests are sent; but none that has a proxy, which may be
        there so that no name server learns of the host."""
        self.call_before_requests(LookAhead(hosts, self._look_up, lambda: self._names.asking))

    def _look_up(self, host: str) -> bool:
        return self._routes.proxy(host) is None and self._names.look_up(host)

    async def ask(
        self, url: SentUrl, headers: dict[str, str], /, *, limits: RequestLimits, deadline: float, method: str = "GET"
    ) -> Response:
        """Send a request by the host's route. Returns when the headers have arrived, before `deadline` by the loop's
        clock, or raises `TimeoutError`."""
        settings = self._settings(url.origin.host)
        if settings.login is not None:
            headers["Authorization"] = settings.login
        proxy, proxy_url, proxy_headers = settings.proxy, None, None
        if isinstance(proxy, HttpProxy):
            async with asyncio.timeout_at(deadline):
                await self._refuse_name(url.origin.host)
            proxy_url = proxy.url
            if url.origin.scheme == "https":
                proxy_headers = proxy.headers  # sent with CONNECT, not to the server
            else:
                headers |= proxy.headers or {}
        ssl = None if settings.verifies else self._unverified
        request = HttpRequest(method, url, headers, ssl=ssl, proxy=proxy_url, proxy_headers=proxy_headers)
        connection = self._connector.take_idle(request.connection_key)
        if connection is None:
            async with asyncio.timeout_at(deadline):
                connection = await self._connect(request, limits.connect_timeout_s)
        response = await exchange(
            request,
            connection,
            connector=self._connector,
            timeouts=self._timeouts,
            head_timeout_s=limits.head_timeout_s,
            deadline=deadline,
            prefer=self._names.prefer,
            through_proxy=proxy is not None,
        )
        if proxy_url is not None and url.origin.scheme == "http" and response.status == _LOGIN_WANTED:
            response.close()
            raise aiohttp.ClientHttpProxyError(
                request.request_info, (), status=response.status, message=response.reason
            )
        return response

    async def _connect(self, request: HttpRequest, timeout_s: float) -> TolerantHandler:
        """A connection for the request, new unless one becomes idle first."""
        try:
            return await self._connector.take(cast(aiohttp.ClientRequest, request), _timeout(timeout_s))
        except TimeoutError as error:
            raise aiohttp.ConnectionTimeoutError(f"no connection to {request.host} in time") from error

    def has_proxy(self, host: str, /) -> bool:
        """Whether the host is reached through a proxy."""
        return self._settings(host).proxy is not None

    def verifies(self, host: str, /) -> bool:
        """Whether we verify the certificate of the host."""
        return self._settings(host).verifies

    def _find_settings(self, host: str) -> _Settings:
        return _Settings(
            login=self._routes.authorization(host),
            proxy=self._routes.proxy(host),
            verifies=self._routes.verifies(host),
        )

    def _refusal(self, host: str) -> str | None:
        if self._guard.allows_all or not host:
            return None
        if _is_literal(host):
            return self._guard.refusal(host)
        return None if self._static.find(host) is not None else self._guard.refusal_of_name(host)

    async def is_public(self, url: URL, /) -> bool:
        """Whether requests for the URL can only go to public addresses. False if we can't know."""
        host = url.raw_host or ""
        if _is_literal(host):
            return special_use(host) is None
        if (static := self._static.find(host)) is not None:
            return special_use(static[0]) is None
        if self._routes.proxy(host) is not None:
            return False  # the proxy may know names that we can't resolve
        if self._guard.is_strict:
            return True  # nothing is sent to another address
        try:
            return all(special_use(found["host"]) is None for found in await self._names.resolve(host))
        except OSError:
            return False

    async def _refuse_name(self, host: str) -> None:
        """Refuse a name that resolves to a private address, before we ask a proxy for it. A name that we can't resolve
        is left to the proxy."""
        try:
            await self._names.resolve(host)
        except AddressRefused:
            raise
        except OSError:
            return

    async def address(self, url: str, /) -> str | None:
        """The address to which a fetch of the URL would connect first; None if it is unknown or refused, or if the host
        has a proxy."""
        named = host_of(url)
        host = named.strip("[]")
        if self._routes.proxy(host) is not None:
            return None
        if is_address(named):
            return same_address(host)
        try:
            return same_address((await self._names.resolve(host))[0]["host"])
        except OSError:
            return None

    async def aclose(self) -> None:
        """Close every connection. Closing twice is harmless."""
        self._timeouts.close()
        await self._connector.close()
        await self._names.close()

    def _socket(self, address: AddrInfoType) -> socket.socket:
        """Make a socket for an address that the guard allows. Every connection begins here."""
        family, kind, protocol, _, place = address
        host = str(place[0])
        why = self._guard.refusal(host)
        if (
            why is not None
            and host not in self._static.addresses
            and (host, place[1]) not in self._routes.proxy_addresses
        ):
            raise AddressRefused(f"{host} ({why})")
        return socket.socket(family, kind, protocol)


def _is_literal(host: str) -> bool:
    """Whether a host is an address, in whatever spelling."""
    return ":" in host or _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]) is not None


@lru_cache
def _timeout(connect_timeout_s: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout_s)
