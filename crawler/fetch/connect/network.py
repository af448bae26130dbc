"""The way to servers, with aiohttp: names, connections, certificates, proxies. Every connection begins here, past the
guard."""

import asyncio
import re
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, cast

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_reqrep import ClientResponse
from aiohttp.connector import AddrInfoType
from yarl import URL

from crawler.fetch.connect.aiohttp_contract import check_client
from crawler.fetch.connect.connections import Answer, Connections, TolerantHandler
from crawler.fetch.connect.guard import AddressRefused, Guard
from crawler.fetch.connect.names import Names, StaticNames, SystemResolver
from crawler.fetch.connect.routes import HttpProxy, Routes
from crawler.fetch.connect.socks import RoutedConnector
from crawler.url.hosts import same_address
from crawler.url.urls import host_of

_MAX_HEADER_BYTES = 64 * 1024
"""Of one header line. What browsers accept in all; aiohttp's own limit of 8 KiB refuses real sites."""
_MAX_HEADERS = 512
_KEEP_ALIVE_S = 15.0
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)
"""A host whose last label is this is an address, by the URL standard."""


class Network:
    """Connections to servers, made when they are needed and kept for a while.

    To be made inside the running event loop. `concurrency` is how many requests the caller has under way as a rule,
    `spare` how many more at most, `per_host` how many connections one host gets; at most `max_connections` stay open,
    idle ones included. `hosts` are static names, as `StaticNames` takes them; `resolver` is asked for the others
    instead of the system's, and closed with the network. `authorities` are files of certificates, in PEM, that vouch
    for servers beside those that the system knows. `routes` say what is different for some hosts. Of a URL,
    `head_timeout_s` tells how long its server may take for all headers. Raises `ValueError` for a setting that can't
    be, `ClientRefused` if the installed aiohttp is not as expected.
    """

    def __init__(
        self,
        *,
        concurrency: int = 64,
        spare: int = 0,
        per_host: int = 1,
        max_connections: int | None = None,
        hosts: Mapping[str, str] | None = None,
        allow_private: bool = False,
        allow_networks: Iterable[str] = (),
        authorities: Iterable[str] = (),
        resolver: AbstractResolver | None = None,
        routes: Routes | None = None,
        head_timeout_s: Callable[[str], float],
    ) -> None:
        self._routes = routes or Routes()
        self._guard = Guard(allow_private=allow_private, networks=allow_networks)
        self._static = StaticNames(hosts or {})
        self._connections = Connections(max_connections or max(4 * concurrency, 256) + spare)
        self._names = Names(static=self._static, guard=self._guard, system=resolver or SystemResolver())
        connector = RoutedConnector(
            socks=self._routes.socks,
            names=self._names,
            use_dns_cache=False,
            limit=0,
            limit_per_host=per_host,
            keepalive_timeout=_KEEP_ALIVE_S,
            socket_factory=self._socket,
            ssl=_trust(authorities),
        )
        check_client(connector)
        connector._factory = cast(Any, partial(TolerantHandler, self._connections, loop=asyncio.get_running_loop()))
        self._session = aiohttp.ClientSession(
            connector=connector,
            response_class=cast(
                type[ClientResponse], partial(Answer, self._connections, head_timeout_s, self._names.prefer)
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            requote_redirect_url=False,
            max_line_size=_MAX_HEADER_BYTES,
            max_field_size=_MAX_HEADER_BYTES,
            max_headers=_MAX_HEADERS,
        )
        # A request that finds a kept connection closed would be sent once more at once, without a rest for its host.
        self._session._retry_connection = False

    async def get(self, url: URL, headers: dict[str, str], /, *, connect_timeout_s: float) -> Answer:
        """Ask, in the way that the host's route wants. Returns when the headers are there."""
        host = url.raw_host or ""
        more: dict[str, Any] = {"timeout": _timeout(connect_timeout_s)}
        if (login := self._routes.authorization(host)) is not None:
            headers["Authorization"] = login
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

    def verifies(self, url: URL, /) -> bool:
        """Whether the certificate of the URL's host is checked."""
        return self._routes.verifies(url.raw_host or "")

    def refuse_host(self, url: URL) -> None:
        """Refuse what the URL itself tells: an address, which no resolver sees, or `localhost`, which a proxy would
        find at its own place. An address that is not spelled as the URL standard does would be read by a proxy, who
        knows how."""
        host = url.raw_host
        if self._guard.open or not host:
            return
        if ":" in host or _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
            why = self._guard.refusal(host)
        else:
            why = None if self._static.find(host) is not None else self._guard.refusal_of_name(host)
        if why is not None:
            raise AddressRefused(f"{host} ({why})")

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
            return same_address(host)
        try:
            return same_address((await self._names.resolve(host))[0]["host"])
        except OSError:
            return None

    async def aclose(self) -> None:
        """Close every connection. Closing twice is harmless."""
        await self._session.close()
        await self._names.close()

    def _socket(self, address: AddrInfoType) -> socket.socket:
        """Make a socket for an address, if the guard lets it pass. Every connection begins here."""
        family, kind, protocol, _, place = address
        host = str(place[0])
        why = self._guard.refusal(host)
        if why is not None and host not in self._static.addresses and (host, place[1]) not in self._routes.places:
            raise AddressRefused(f"{host} ({why})")
        return socket.socket(family, kind, protocol)


@lru_cache
def _timeout(connect_timeout_s: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout_s)


def _trust(authorities: Iterable[str]) -> bool | ssl.SSLContext:
    """What aiohttp takes. Raises `ValueError` for a file without certificates."""
    files = list(authorities)
    if not files:
        return True
    context = ssl.create_default_context()
    for file in files:
        try:
            context.load_verify_locations(file)
        except (OSError, ssl.SSLError) as error:
            raise ValueError(f"no certificates in PEM can be read from {file}: {error}") from error
    return context
