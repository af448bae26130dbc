"""The client's connections: how many are open, where they lead, and what comes over them."""

import asyncio
import socket
from collections.abc import Callable
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientResponse
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import StreamReader

from crawler.fetch.failures import BodyBroken, ClosedEarly, HeadersTooLarge, TooSlow

_MAX_HEADERS_BYTES = 256 * 1024
"""Of all header lines together, as in Chromium."""
_MAX_OVERHEAD_BYTES = 512 * 1024
_MAX_OVERHEAD_RATIO = 4
"""Bytes of a response that are not of its body: so many, and so many more for each byte that is."""
_END_OF_HEAD = b"\r\n\r\n"

Peer = tuple[str, int]


class Connections:
    """What is open, and where it leads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._peers: WeakKeyDictionary[object, Peer] = WeakKeyDictionary()
        self._sockets: WeakSet[socket.socket] = WeakSet()

    def opened(self, made: socket.socket) -> None:
        self._sockets.add(made)
        if self.crowded:
            # Closed ones may still be held by a cycle that waits for the garbage collector.
            self._sockets = WeakSet(each for each in self._sockets if each.fileno() >= 0)

    @property
    def crowded(self) -> bool:
        """More are open than may be."""
        return len(self._sockets) > self._limit

    def peer(self, protocol: object) -> Peer | None:
        """Where a connection that was used before leads; None for one that is new."""
        return self._peers.get(protocol)

    def first_use(self, protocol: object, transport: asyncio.Transport) -> Peer | None:
        name = transport.get_extra_info("peername")
        if name is None:
            return None
        self._peers[protocol] = peer = (name[0], name[1])
        return peer


class Answer(ClientResponse):
    """A response that knows its peer. aiohttp lets go of the connection as soon as a small body is whole, which may be
    before anyone can look."""

    def __init__(
        self, connections: Connections, head_timeout_s: Callable[[str], float], *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
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
                raise TooSlow("no whole header in time") from error
            raise
        size = sum(map(len, chain.from_iterable(self.raw_headers)))
        if size > _MAX_HEADERS_BYTES:
            raise HeadersTooLarge(f"{size} bytes of headers, at most {_MAX_HEADERS_BYTES} are read")
        return started

    async def _start(self, connection: Any) -> ClientResponse:
        protocol = connection.protocol
        if self._connections.crowded:
            protocol.force_close()
        self.peer = self._connections.peer(protocol)
        if self.peer is not None:
            return await super().start(connection)
        self.peer = self._connections.first_use(protocol, connection.transport)
        try:
            return await super().start(connection)
        except aiohttp.ServerDisconnectedError as error:
            raise ClosedEarly("closed without a response") from error
        except aiohttp.ClientOSError as error:
            raise ClosedEarly(error.strerror or "connection lost") from error


class TolerantHandler(ResponseHandler):
    """Mends three habits of aiohttp. It reads as much as comes of what is no body: informational responses, chunk
    extensions, trailers; here that ends the connection. Its parser forgets a response when rubbish follows it in the
    same packet, as with a body that is longer than announced, or one behind a 204; so what comes with the headers is
    handed over apart from them. And whoever reads a body is not told of an error in its chunks, and waits until time
    is up.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._awaits_head = False
        self._received_bytes = 0
        self._body: StreamReader | None = None

    def set_response_params(self, **params: Any) -> None:
        self._awaits_head = True
        self._received_bytes = 0
        self._body = None
        super().set_response_params(**params)

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        super().set_exception(exc, *cause)
        payload = self._payload
        if payload is not None and not payload.is_eof() and isinstance(exc, HttpProcessingError):
            # Later, so that what came before the error is read before.
            self._loop.call_soon(_tell, payload, BodyBroken(exc.message))

    def data_received(self, data: bytes) -> None:
        self._received_bytes += len(data)
        self._body = self._payload or self._body
        body_bytes = self._body.total_bytes if self._body is not None else 0
        if self._received_bytes - body_bytes > _MAX_OVERHEAD_BYTES + _MAX_OVERHEAD_RATIO * body_bytes:
            if self.transport is not None:
                self.transport.abort()
            self.set_exception(HttpProcessingError(message="too much that is no body"))
            return
        if self._awaits_head:
            end = data.find(_END_OF_HEAD) + len(_END_OF_HEAD)
            if len(_END_OF_HEAD) <= end < len(data):
                self._awaits_head = False
                super().data_received(data[:end])
                data = data[end:]
        super().data_received(data)


def _tell(payload: StreamReader, error: Exception) -> None:
    if not payload.is_eof() and payload.exception() is None:
        payload.set_exception(error)
