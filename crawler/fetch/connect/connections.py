"""The client's connections: how many are open, where they lead, and what comes over them."""

import asyncio
from collections.abc import Callable
from itertools import chain
from ssl import SSLError
from typing import Any
from weakref import WeakSet

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientResponse
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import RawResponseMessage
from aiohttp.streams import StreamReader

from crawler.fetch.connect.failures import (
    TOO_MUCH,
    BodyBroken,
    ClosedEarly,
    HeadersTooLarge,
    NoResponse,
    Refused,
    TooSlow,
)
from crawler.fetch.connect.response_heads import end_of_head, may_be_head, mended
from crawler.fetch.connect.sockets import has_input, has_unread, is_unnotified
from crawler.url.hosts import same_address

_MAX_HEADERS_BYTES = 256 * 1024
"""Of all header lines together, as in Chromium."""
_MAX_OVERHEAD_BYTES = 512 * 1024
_MAX_OVERHEAD_RATIO = 4
"""Bytes of a response that are not of its body: so many, and so many more for each byte that is."""
_MAX_PEERS = 10_000
_MAX_IN_VAIN = 2
"""So many kept connections in a row may be closed on a request before no more are kept."""

Peer = tuple[str, int]


class Connections:
    """What is open, and which servers close what is kept for them."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._open: WeakSet[ResponseHandler] = WeakSet()
        self._closed_in_vain: dict[Peer, int] = {}

    def opened(self, made: ResponseHandler) -> None:
        self._open.add(made)

    def closed(self, lost: ResponseHandler) -> None:
        self._open.discard(lost)

    @property
    def crowded(self) -> bool:
        """More are open than may be."""
        return len(self._open) > self._limit

    def reused(self, peer: Peer, *, answered: bool) -> None:
        """Take note of whether a kept connection was good for another request."""
        if answered:
            self._closed_in_vain.pop(peer, None)
            return
        if len(self._closed_in_vain) >= _MAX_PEERS:
            self._closed_in_vain.clear()
        self._closed_in_vain[peer] = self._closed_in_vain.get(peer, 0) + 1

    def may_keep(self, peer: Peer | None) -> bool:
        """Whether a connection may be kept for another request. Who closes kept connections on the request, again and
        again, gets a new one for each: else half of the requests would be lost."""
        return not self.crowded and (peer is None or self._closed_in_vain.get(peer, 0) < _MAX_IN_VAIN)


class Course:
    """How the body of one response comes to its end, as its connection sees it."""

    __slots__ = ("alert", "broken", "unnotified", "until_close")

    def __init__(self) -> None:
        self.broken: aiohttp.ClientPayloadError | None = None
        """Why the body ended before its end; None while nothing says so."""
        self.alert: SSLError | None = None
        """What ended the connection. A server that speaks TLS 1.3 refuses a client only after the handshake."""
        self.until_close = False
        """Nothing but the end of the connection says that the body is whole."""
        self.unnotified = False
        """That end was not announced as TLS wants it (close_notify), so anybody may have made it."""


class Answer(ClientResponse):
    """A response that knows its peer and its course. aiohttp lets go of the connection as soon as a small body is
    whole, which may be before anyone can look."""

    course: Course

    def __init__(
        self,
        connections: Connections,
        head_timeout_s: Callable[[str], float],
        prefer: Callable[[str, str], None],
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """`prefer` is told to which address a request for a host went."""
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
                raise TooSlow("no whole header in time") from error
            raise
        size = sum(map(len, chain.from_iterable(self.raw_headers)))
        if size > _MAX_HEADERS_BYTES:
            raise HeadersTooLarge(f"{size} bytes of headers, at most {_MAX_HEADERS_BYTES} are read")
        return started

    async def _start(self, connection: Any) -> ClientResponse:
        handler: TolerantHandler = connection.protocol
        self.course = handler.course
        self.peer = handler.peer
        if self.peer is not None:
            self._prefer(self.url.raw_host or "", self.peer[0])
        if not self._connections.may_keep(self.peer):
            handler.force_close()
        try:
            started = await super().start(connection)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            if handler.requests > 1 and self.peer is not None:
                self._connections.reused(self.peer, answered=False)
            if self.course.alert is not None:
                raise Refused(self.course.alert) from error
            raise ClosedEarly("closed without a response") from error
        if handler.requests > 1 and self.peer is not None:
            self._connections.reused(self.peer, answered=True)
        return started


class TolerantHandler(ResponseHandler):
    """One connection. It mends five habits of aiohttp:

    It reads as much as comes of what is no body: informational responses, chunk extensions, trailers; here that ends
    the connection. Its parser forgets a response when rubbish follows it in the same packet, as with a body that is
    longer than announced, or one behind a 204; so what comes with the headers is handed over apart from them. Whoever
    reads a body is not told of an error in its chunks, and waits until time is up. It takes every end of a connection
    for the end of a body that has no length, a reset too; here `course` tells. And it keeps what comes while nothing
    is asked, and gives it to the next request: a connection that sends anything then is closed here.
    """

    def __init__(self, connections: Connections, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._connections = connections
        self.course = Course()
        self.peer: Peer | None = None
        """Where it leads."""
        self.requests = 0
        """How many were sent over it, or are about to be."""
        self._spoke_first = False
        self._awaits_head = False
        self._pending = b""
        """The beginning of a head."""
        self._received_bytes = 0
        self._body: StreamReader | None = None
        """Of the response that is under way, or was the last; None before its headers are there."""
        self._in_chunks = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._connections.opened(self)
        name = transport.get_extra_info("peername")
        self.peer = (same_address(name[0]), name[1]) if name else None

    def is_connected(self) -> bool:
        # What has come and was not read yet counts too, be it an end or an answer.
        return super().is_connected() and not (self._is_idle() and has_input(self.transport))

    def set_response_params(self, **params: Any) -> None:
        if self.requests == 0 and has_unread(self.transport):
            self._distrust()
        self.course = Course()
        self.requests += 1
        self._awaits_head = True
        self._pending = b""
        self._received_bytes = 0
        self._body = None
        super().set_response_params(**params)

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        message, payload = data
        if message.code >= 200 or message.code == 101:
            if self._body is not None:
                self._distrust()  # a second answer to one request
                return
            self._body = payload
            self._in_chunks = message.chunked
        super().feed_data(data, size)

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        super().set_exception(exc, *cause)
        body = self._body
        if body is not None and not body.is_eof() and isinstance(exc, HttpProcessingError):
            self.course.broken = BodyBroken(exc.message)
            self._payload = None
            body.feed_eof()

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._pending:
            pending, self._pending = self._pending, b""
            super().data_received(pending)
        body, parser = self._body, self._parser
        if body is not None and parser is not None and not body.is_eof():
            # The body ends without an exception: after one, nobody could read what had come.
            unnotified = is_unnotified(self.transport)
            self._payload = self._parser = None
            self.force_close()
            try:
                parser.feed_eof()
            except HttpProcessingError:
                self.course.broken = aiohttp.ClientPayloadError()
            else:
                self.course.broken = None if exc is None else aiohttp.ClientPayloadError()
                self.course.until_close = True
                self.course.unnotified = unnotified
            body.feed_eof()
        if isinstance(exc, SSLError):
            self.course.alert = exc
        super().connection_lost(exc)
        # The body knows its connection: a circle, in which both would stay until the garbage collector looks, which is
        # seldom, and with them the state of TLS.
        self._body = None
        self._connections.closed(self)

    def data_received(self, data: bytes) -> None:
        if self._spoke_first:
            return
        if data and self._is_idle():
            self._distrust()
            return
        self._received_bytes += len(data)
        body_bytes = self._body.total_bytes if self._body is not None else 0
        if self._received_bytes - body_bytes > _MAX_OVERHEAD_BYTES + _MAX_OVERHEAD_RATIO * body_bytes:
            if self.transport is not None:
                self.transport.abort()
            self.set_exception(HttpProcessingError(message=TOO_MUCH))
            return
        if data and self._awaits_head:
            data = self._heads_received(data)
            if not data:
                return
        body = self._body
        body_bytes = body.total_bytes if body is not None else 0
        super().data_received(data)
        if data and body is not None and body.is_eof():
            behind = not data.endswith(b"\n") if self._in_chunks else body.total_bytes - body_bytes < len(data)
            if behind:
                self._distrust()

    def _heads_received(self, data: bytes) -> bytes:
        """Give whole heads to the parser; return what follows the last one."""
        searched = len(self._pending)
        pending = self._pending + data if searched else data
        self._pending = b""
        while self._awaits_head:
            end = end_of_head(pending, searched)
            if end is None:
                if may_be_head(pending):
                    self._pending = pending
                    return b""
                self._awaits_head = False  # let the parser say why
            else:
                super().data_received(mended(pending[:end]))
                pending, searched = pending[end:], 0
                # An informational response is followed by another head.
                self._awaits_head = self._body is None and self.exception() is None
        return pending

    def _is_idle(self) -> bool:
        return self.requests == 0 or (self._body is not None and self._body.is_eof())

    def _distrust(self) -> None:
        """Use the connection no more: who can tell to which request what comes over it belongs?"""
        self.force_close()
        if self.requests == 0:
            self._spoke_first = True
            self.set_exception(NoResponse("the server spoke before it was asked"))
        elif self.transport is not None:
            self.transport.abort()
