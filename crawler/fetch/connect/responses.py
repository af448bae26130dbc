"""Responses that know their peer, and how their body ended."""

import asyncio
import re
from collections.abc import Callable
from itertools import chain
from typing import Any

import aiohttp
from aiohttp.client_reqrep import ClientResponse

from crawler.fetch.connect.connections import Connections, Peer
from crawler.fetch.connect.failures import ClosedEarly, HeadersTooLarge, TlsRefused, TooSlow
from crawler.fetch.connect.handler import BodyEnd, TolerantHandler

_MAX_HEADERS_BYTES = 256 * 1024
"""All header lines together, as in Chromium."""
_CLOSING_S = 1.0
"""So long before the server closes an idle connection, we send no more over it: the request would be lost."""
_KEEP_ALIVE = re.compile(r"(?:^|[,;\s])timeout\s*=\s*\"?(\d{1,9})", re.IGNORECASE)


def keep_alive_s(header: str | None, /) -> int | None:
    """How long a server keeps an idle connection, by its header Keep-Alive; None if it does not say so."""
    found = None if header is None else _KEEP_ALIVE.search(header)
    return None if found is None else int(found[1])


class Response(ClientResponse):
    """A response with its peer and its `BodyEnd`. aiohttp releases the connection as soon as a small body is complete,
    which may be before we can look."""

    body_end: BodyEnd

    def __init__(
        self,
        connections: Connections,
        head_timeout_s: Callable[[str], float],
        prefer: Callable[[str, str], None],
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """`prefer` is called with each host and the address to which its request went."""
        super().__init__(*args, **kwargs)
        self._prefer = prefer
        self._connections = connections
        self._head_timeout_s = head_timeout_s(str(self.url))
        self.peer: Peer | None = None

    async def start(self, connection: Any) -> ClientResponse:
        limit = asyncio.timeout(self._head_timeout_s)
        try:
            async with limit:
                started = await self._start(connection)
        except TimeoutError as error:
            if limit.expired():
                raise TooSlow("no complete headers in time") from error
            raise
        size = sum(map(len, chain.from_iterable(self.raw_headers)))
        if size > _MAX_HEADERS_BYTES:
            raise HeadersTooLarge(f"{size} bytes of headers, at most {_MAX_HEADERS_BYTES} are read")
        return started

    async def _start(self, connection: Any) -> ClientResponse:
        handler: TolerantHandler = connection.protocol
        self.body_end = handler.body_end
        self.peer = handler.peer
        if self.peer is not None:
            self._prefer(self.url.raw_host or "", self.peer[0])
        now = asyncio.get_running_loop().time()
        if not self._connections.may_keep(handler, now):
            handler.force_close()
        try:
            started = await super().start(connection)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            if handler.requests > 1 and self.peer is not None:
                self._connections.note_reuse(self.peer, answered=False)
            if self.body_end.alert is not None:
                raise TlsRefused(self.body_end.alert) from error
            raise ClosedEarly("closed without a response") from error
        if handler.requests > 1 and self.peer is not None:
            self._connections.note_reuse(self.peer, answered=True)
        kept_s = keep_alive_s(self.headers.get("Keep-Alive"))
        handler.closes_at = None if kept_s is None else now + kept_s - _CLOSING_S
        return started
