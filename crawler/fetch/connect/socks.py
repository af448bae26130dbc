"""Connections through SOCKS5 proxies, RFC 1928, which aiohttp does not make."""

import asyncio
import socket
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from python_socks import ProxyConnectionError, ProxyError, ProxyType
from python_socks.async_.asyncio import Proxy

from crawler.fetch.connect.failures import ProxyRefused
from crawler.fetch.connect.names import Names
from crawler.fetch.connect.routes import SocksProxy


class RoutedConnector(aiohttp.TCPConnector):
    """Connects as aiohttp does, but to hosts that have a SOCKS proxy through it.

    `socks` gives the proxy of a host. `names` finds the proxy itself, and the host where the proxy is not to do that:
    it is then told an address that the guard has let pass.
    """

    def __init__(
        self,
        *,
        socks: Callable[[str], SocksProxy | None],
        names: Names,
        **options: Any,
    ) -> None:
        super().__init__(resolver=names, **options)
        self._socks = socks
        self._names = names

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
            return await super()._create_direct_connection(req, traces, timeout, client_error=client_error)
        try:
            async with asyncio.timeout(timeout.sock_connect):
                made = await self._tunnel(proxy, host, port)
        except TimeoutError as error:
            raise aiohttp.ConnectionTimeoutError(f"no connection through {proxy.host} in time") from error
        except OSError as error:
            # Of names; as it is, aiohttp would take it for a connection that broke.
            raise aiohttp.ClientConnectorDNSError(req.connection_key, error) from error
        context = self._get_ssl_context(req)
        try:
            return await self._wrap_existing_connection(
                self._factory,
                timeout=timeout,
                ssl=context,
                sock=made,
                server_hostname=host.rstrip(".") if context else None,
                req=req,
                client_error=client_error,
            )
        except BaseException:
            made.close()
            raise

    async def _places(self, host: str, port: int) -> list[tuple[str, int]]:
        """Addresses and ports. Those that are written as such have been judged: in the URL, or by who named a proxy."""
        try:
            ip_address(host)
        except ValueError:
            return [(found["host"], found["port"]) for found in await self._names.resolve(host, port)]
        return [(host, port)]

    async def _tunnel(self, proxy: SocksProxy, host: str, port: int) -> socket.socket:
        """A socket that leads to the host, of whose addresses the first is taken that the proxy can reach."""
        [place, *_] = await self._places(proxy.host, proxy.port)
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
                raise socket.gaierror(socket.EAI_NONAME, "no name that DNS can hold") from error
        raise ProxyRefused(refusal)
