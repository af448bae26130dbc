"""Takes connections: idle ones, or new ones, through SOCKS5 proxies (RFC 1928) too, which aiohttp does not support."""

import asyncio
import socket
from collections.abc import Callable
from ipaddress import ip_address
from time import monotonic
from typing import Any, cast

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey

from crawler.fetch.connect.failures import ProxyRefused
from crawler.fetch.connect.guard import AddressRefused
from crawler.fetch.connect.handler import TolerantHandler
from crawler.fetch.connect.names import Names
from crawler.fetch.connect.routes import SocksProxy


class RoutedConnector(aiohttp.TCPConnector):
    """Connects as aiohttp does, but through the SOCKS proxy of a host that has one.

    Who takes a connection gives it back once, for another request or to be closed. The `Connection` of aiohttp, which
    it would wrap for each request, takes five times as many calls, for callbacks and warnings that we do not need.

    `socks` returns the proxy of a host. `names` resolves the proxy, and also the host if the proxy should not: then the
    proxy gets an address that the guard has allowed. `queues_of` says how many queues the host of a URL has: so many
    times `limit_per_host` connections are allowed to it.
    """

    def __init__(
        self,
        *,
        socks: Callable[[str], SocksProxy | None],
        names: Names,
        queues_of: Callable[[str], int] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(resolver=names, **options)
        self._socks = socks
        self._names = names
        self._queues_of = queues_of

    def take_idle(self, key: ConnectionKey) -> TolerantHandler | None:
        """An idle connection; None if there is none. aiohttp's `connect` does the same first, but it is a coroutine, so
        a timeout would have to be set for it."""
        # An empty queue stays, for the connection that soon comes back, until aiohttp next looks at all of them.
        idle = self._conns.get(key)
        while idle:
            handler, since_s = idle.popleft()
            is_fresh = self._keepalive_timeout is None or monotonic() - since_s <= self._keepalive_timeout
            if is_fresh and handler.is_connected():
                self._acquired.add(handler)
                self._acquired_per_host[key].add(handler)
                return handler  # type: ignore[return-value]
            handler.close()
        return None

    def give_back(self, handler: TolerantHandler) -> None:
        """Give a connection back, so that another request can use it, unless it must be closed."""
        key = handler.key
        assert key is not None, "only who has taken a connection gives it back"
        taken = self._acquired_per_host.get(key)
        if (
            taken is None
            or self._closed
            or self._waiters
            or self._cleanup_handle is None
            or self._force_close
            or handler.should_close
        ):
            self._release(key, handler)
            return
        # The same as aiohttp's, without what is seldom needed.
        self._acquired.discard(handler)
        taken.discard(handler)
        if not taken:
            del self._acquired_per_host[key]
        self._conns[key].append((handler, monotonic()))

    def close_taken(self, handler: TolerantHandler) -> None:
        """Give a connection back, to be closed."""
        assert handler.key is not None, "only who has taken a connection gives it back"
        self._release(handler.key, handler, should_close=True)

    def _available_connections(self, key: ConnectionKey) -> int:
        if self._queues_of is None:
            return super()._available_connections(key)
        host = f"[{key.host}]" if ":" in key.host else key.host
        queues = self._queues_of(f"{'https' if key.is_ssl else 'http'}://{host}:{key.port}/")
        return self.limit_per_host * queues - len(self._acquired_per_host.get(key, ()))

    async def take(self, request: aiohttp.ClientRequest, timeout: aiohttp.ClientTimeout) -> TolerantHandler:  # noqa: ASYNC109
        """A connection for the request, new unless one becomes idle first."""
        connection = await self.connect(request, [], timeout)
        handler, connection._protocol = cast(TolerantHandler, connection._protocol), None
        handler.key = connection._key
        return handler

    async def _create_direct_connection(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Any],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - as aiohttp has it
        *,
        client_error: type[Exception] = aiohttp.ClientConnectorError,
    ) -> tuple[asyncio.Transport, ResponseHandler]:
        host, port = req.url.raw_host, req.port
        proxy = None if host is None else self._socks(host)
        if host is None or port is None or proxy is None:
            try:
                return await super()._create_direct_connection(req, traces, timeout, client_error=client_error)
            except aiohttp.ClientConnectorDNSError as error:
                if client_error is not aiohttp.ClientProxyConnectionError:
                    raise
                raise _nowhere(req.host, error.os_error) from error
        try:
            async with asyncio.timeout(timeout.sock_connect):
                tunnel = await self._tunnel(proxy, host, port)
        except TimeoutError as error:
            raise aiohttp.ConnectionTimeoutError(f"no connection through {proxy.host} in time") from error
        except OSError as error:
            # A name could not be resolved. aiohttp would take a plain OSError for a broken connection.
            raise aiohttp.ClientConnectorDNSError(req.connection_key, error) from error
        context = self._get_ssl_context(req)
        try:
            return await self._wrap_existing_connection(
                self._factory,
                timeout=timeout,
                ssl=context,
                sock=tunnel,
                server_hostname=host.rstrip(".") if context else None,
                req=req,
                client_error=client_error,
            )
        except BaseException:
            tunnel.close()
            raise

    async def _create_proxy_connection(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Any],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - as aiohttp has it
    ) -> tuple[asyncio.BaseTransport, ResponseHandler]:
        try:
            async with asyncio.timeout(timeout.sock_connect):  # aiohttp waits for the proxy's answer without end
                return await super()._create_proxy_connection(req, traces, timeout)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientResponseError) as error:
            # The others tell already who has failed.
            if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ClientHttpProxyError):
                raise
            is_answer = isinstance(error, aiohttp.ClientResponseError)
            raise ProxyRefused("its answer is not HTTP" if is_answer else "it closed without an answer") from error

    async def _places(self, host: str, port: int) -> list[tuple[str, int]]:
        """The addresses of a host, each with a port. An address needs no check here: we have checked that of a URL, and
        the user chose that of a proxy."""
        try:
            ip_address(host)
        except ValueError:
            return [(found["host"], found["port"]) for found in await self._names.resolve(host, port)]
        return [(host, port)]

    async def _tunnel(self, proxy: SocksProxy, host: str, port: int) -> socket.socket:
        """Connect to the host, at the first of its addresses that the proxy can reach."""
        # A tenth of the start of a crawl would go to their import, and few crawls need them.
        from python_socks import ProxyConnectionError, ProxyError, ProxyType  # noqa: PLC0415
        from python_socks.async_.asyncio import Proxy  # noqa: PLC0415

        try:
            [place, *_] = await self._places(proxy.host, proxy.port)
        except OSError as error:
            raise _nowhere(proxy.host, error) from error
        through = Proxy(ProxyType.SOCKS5, *place, proxy.user, proxy.password, rdns=True)
        targets = [(host, port)] if proxy.finds_names else await self._places(host, port)
        refusal = ""
        for target in targets:
            try:
                return await through.connect(*target, timeout=None)
            except ProxyConnectionError as error:
                raise ProxyRefused("no connection to it") from error
            except ProxyError as error:
                refusal = str(error)
            except UnicodeError as error:
                raise socket.gaierror(socket.EAI_NONAME, "not a name that DNS can contain") from error
        raise ProxyRefused(refusal)


def _nowhere(name: str, error: OSError) -> ProxyRefused:
    """Why the name of a proxy leads nowhere. It says nothing about the host that was to be asked through it."""
    if isinstance(error, AddressRefused):
        why = str(error).removeprefix(f"{name} ")
        return ProxyRefused(f"{name} {why}: name it by its address, or give its name one in fetch.hosts")
    return ProxyRefused(f"{name} has no address: {error.strerror}")
