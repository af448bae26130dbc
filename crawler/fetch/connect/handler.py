"""One connection to a server, with corrections to aiohttp."""

import asyncio
from collections.abc import Callable, Sequence
from ssl import SSLError
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import EofStream, StreamReader

from crawler.fetch.connect import bodies, response_heads
from crawler.fetch.connect.bodies import BodyEnd, Chunks, Overhead, PlainBody, Received, body_length
from crawler.fetch.connect.connections import Connections, Server
from crawler.fetch.connect.failures import BROKEN_CHUNKS, TOO_MUCH, BodyBroken, NoResponse
from crawler.fetch.connect.keeping import memory_of
from crawler.fetch.connect.response_heads import BEGINNING_BYTES, PlainHead, end_of_head, read_plain_head
from crawler.fetch.connect.sockets import has_unread, lacks_close_notify, poll_of
from crawler.fetch.connect.tls.resuming import keep_session
from crawler.url.hosts import same_address


class TolerantHandler(ResponseHandler):
    """One connection. It reads all bodies itself: aiohttp's parser gets heads alone, and only those that are not plain.
    So it corrects five behaviours of aiohttp:

    - aiohttp reads any amount of data beside the body: early responses, chunk extensions, trailers. We limit it.
    - Its parser loses a response if garbage follows it in the same packet, such as a body longer than announced, or one
      after a 204.
    - It refuses chunks that browsers accept, and the reader of a body learns nothing of that: it waits for its timeout.
    - aiohttp takes any end of a connection, even a reset, as the end of a body without length. `body_end` tells which.
    - It keeps data that arrives between requests, and gives it to the next one. We close such a connection.
    """

    def __init__(self, connections: Connections, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.connections = connections
        self.body_end = BodyEnd()
        self.key: ConnectionKey | None = None
        """The requests that it can serve; None until the first one takes it."""
        self.peer: Server | None = None
        """The server at its other end."""
        self.requests = 0
        """How many requests went over it, including the current one."""
        self.memory_bytes = self._largest_piece = 0
        self.interval_s: float | None = None
        self.closes_at: float | None = None
        """When the server closes it unless it is asked again, in the time of the loop."""
        self.asked_at = 0.0
        """When the current or last request was sent, in the time of the loop."""
        self._is_tls = self._spoke_first = self._awaits_head = False
        self._poll: Callable[[int], Sequence[object]] | None = None
        self._pending = b""
        """An incomplete head."""
        self.overhead = Overhead()
        """What has arrived of the current or last response."""
        self._body: StreamReader | PlainBody | None = None
        """The body of the current or last response; None before its headers have arrived."""
        self._plain: PlainBody | None = None
        """The same body; None if there is none, or if a proxy sends it that was asked for a tunnel."""
        self._chunks: Chunks | None = None
        """Those of the body, if it comes in chunks."""
        self._may_have_body = True
        self._fix_head = response_heads.fix_head

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._is_tls = transport.get_extra_info("ssl_object") is not None
        self.memory_bytes = memory_of(tls=self._is_tls, largest_piece=0)
        self.connections.add(self)
        self._poll = poll_of(transport)
        name = transport.get_extra_info("peername")
        self.peer = (same_address(name[0]), name[1]) if name else None

    def is_connected(self) -> bool:
        transport, body = self.transport, self._body
        if transport is None or transport.is_closing():
            return False
        if self.requests and (body is None or not body.is_eof()):
            return True  # an answer is on its way
        if self.closes_at is not None and self._loop.time() >= self.closes_at:
            return False
        # Unread input means that the connection has ended, or that the server spoke unasked.
        return self._poll is None or not self._poll(0)

    def is_idle(self) -> bool:
        return self.requests > 0 and self._is_idle() and super().is_connected()

    def idle_s(self, now: float) -> float:
        return now - self.asked_at

    def set_response_params(self, **params: Any) -> None:
        # aiohttp asks a proxy for a tunnel. It has written the request, so the answer may be there already.
        self.begin_request(may_have_body=False, is_written=True)
        self._fix_head = response_heads.fix_tunnel_head
        super().set_response_params(**params)

    def begin_request(self, *, may_have_body: bool, is_written: bool = False) -> None:
        """Prepare for a response. Unless it `may_have_body`, it has none, whatever its head says, and is not plain. The
        request must be written next, without a pause, unless it `is_written` already."""
        if self.requests == 0 and not is_written and has_unread(self.transport):
            self._distrust()
        self.body_end, self.overhead = BodyEnd(), Overhead()
        self.requests += 1
        now = self._loop.time()
        if self.requests > 1:
            self.interval_s = now - self.asked_at
            self.connections.note_interval(self.interval_s)
        self.asked_at, self._awaits_head, self._pending = now, True, b""
        self._body = self._plain = self._chunks = self._parser = self._payload = None
        self._may_have_body = may_have_body
        for before_request in self.connections.before_requests:
            before_request()

    def read(self) -> asyncio.Future[Received]:  # type: ignore[override]
        """The next head, and the body that belongs to it. To be awaited at once. aiohttp's is a coroutine."""
        received: asyncio.Future[Received] = self._loop.create_future()
        if self._buffer:
            received.set_result(self._buffer.popleft()[0])
        elif self._eof:
            received.set_exception(self._exception or EofStream())
        else:
            self._waiter = received  # type: ignore[assignment]
        return received

    def feed_data(self, data: Received, size: int = 0) -> None:
        message, payload = data
        if message.code >= 200 or message.code == 101:
            if self._body is not None:
                self._distrust()  # a second response to one request
                return
            if self._may_have_body and not isinstance(message, PlainHead) and not payload.is_eof():
                payload = self._begin_body(body_length(message), chunked=message.chunked)
                data = message, payload
            self._body = payload
            if message.code == 101 or (message.chunked and message.version < (1, 1)):
                # After a 101, and after chunks by HTTP/1.0 (RFC 9112, 6.1), what comes may answer an earlier request.
                self.force_close()
            if self.requests == 1:
                keep_session(self.transport)
        elif self.overhead.add_head():
            self._refuse(TOO_MUCH)
            return
        received, self._waiter = self._waiter, None
        if received is None:
            self._buffer.append((data, size))  # type: ignore[arg-type]
        elif not received.done():
            received.set_result(data)  # type: ignore[arg-type]

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        super().set_exception(exc, *cause)
        if self._body is not None and not self._body.is_eof() and isinstance(exc, HttpProcessingError):
            self.body_end.broken = BodyBroken(exc.message)
            self._payload = None
            self._body.feed_eof()

    def connection_lost(self, exc: BaseException | None) -> None:
        is_cut = False
        if self._pending:
            pending, self._pending = self._pending, b""
            is_sound = exc is None and not lacks_close_notify(self.transport)
            if is_sound and (cut := response_heads.end_cut_head(pending)) is not None:
                is_cut = True
                self._feed_heads(cut)
            else:
                self._parse(pending)
        body, end = self._plain, self.body_end
        if body is not None and not body.is_eof():
            if self._chunks is None and body.length is None:
                end.by_close, end.lacks_close_notify = True, lacks_close_notify(self.transport)
            if is_cut or (exc is not None if end.by_close else not body.is_whole):
                end.broken = aiohttp.ClientPayloadError()
            self._payload = None
            self.force_close()
            body.feed_eof()
        if isinstance(exc, SSLError):
            self.body_end.alert = exc
        super().connection_lost(exc)
        # The body refers to its connection. This cycle would keep both until the next garbage collection.
        self._body = self._plain = self._chunks = None
        self.connections.remove(self)

    def data_received(self, data: bytes) -> None:
        if self._is_tls and len(data) > self._largest_piece:
            self._largest_piece = len(data)
            self.connections.note_memory(self, memory_of(tls=True, largest_piece=len(data)))
        if self._plain is not None and self._chunks is None and not self._plain.is_eof():
            self._feed_plain(self._plain, data)
            return
        if self._spoke_first:
            return
        if data and not self._awaits_head and self._is_idle():
            self._distrust()
            return
        self.overhead.received_bytes += len(data)
        if self.overhead.received_bytes > bodies.MAX_OVERHEAD_BYTES and self.overhead.is_too_much(self._body):
            self._refuse(TOO_MUCH)
            return
        if data and self._awaits_head:
            data = self._feed_heads(data)
            if not data:
                return
        if self._plain is not None:
            self._feed_plain(self._plain, data)
        elif self._body is not None and self._body.is_eof():
            self._distrust()
        else:
            self._parse(data)

    def _feed_heads(self, data: bytes) -> bytes:
        """Pass complete heads to the parser; return the data after the last one."""
        if not self._pending and self._may_have_body and (plain := read_plain_head(data)) is not None:
            self._awaits_head = False
            self._begin_plain(plain)
            return data[plain.size :] if self._exception is None else b""
        searched = len(self._pending) if len(self._pending) >= BEGINNING_BYTES else 0
        pending, self._pending = self._pending + data, b""
        while self._awaits_head:
            if not searched:
                pending = response_heads.skip_junk(pending)
            # Plain heads are not tried again for each piece of a head.
            is_new = self._may_have_body and (not searched or end_of_head(pending, searched) is not None)
            plain = read_plain_head(pending) if is_new else None
            end = end_of_head(pending, searched) if plain is None else plain.size
            if end is None:
                if response_heads.may_be_head(pending):
                    self._pending = pending
                    return b""
                self._awaits_head = False  # the parser will report the error
            else:
                if plain is None:
                    self._should_close |= response_heads.leaves_end_in_doubt(pending[:end])
                    fixed = self._fix_head(pending[:end])
                    plain = read_plain_head(fixed) if self._may_have_body else None
                    if plain is None:
                        self._parse(response_heads.with_one_length(fixed))
                        if self._plain is not None:
                            self._parser = None
                if plain is not None:
                    self._begin_plain(plain)
                pending, searched = pending[end:], 0
                self._awaits_head = self._body is None and self._exception is None  # after an informational one
        return pending if self._exception is None else b""

    def _begin_plain(self, head: PlainHead) -> None:
        body = self._begin_body(head.length, chunked=head.chunked)
        self._parser = None
        if head.should_close:
            self.force_close()
        self.feed_data((head, body))

    def _begin_body(self, length: int | None, *, chunked: bool) -> PlainBody:
        body = PlainBody(length, pause=self._pause_transport_reading, resume=self._resume_transport_reading)
        self._plain = self._payload = body  # type: ignore[assignment]
        self._chunks = Chunks(body) if chunked else None
        return body

    def _feed_plain(self, body: PlainBody, data: bytes) -> None:
        if (chunks := self._chunks) is not None:
            if not chunks.feed(data):
                self._refuse(BROKEN_CHUNKS)
            elif chunks.have_ended:
                if not chunks.are_sound:
                    self.force_close()  # before the end of the body gives the connection back
                body.feed_eof()
        elif len(data) <= (missing := body.missing):
            body.feed(data)
        else:
            self.force_close()
            if missing:
                body.feed(data[:missing])
            self._distrust()

    def _parse(self, data: bytes) -> None:
        """Pass data to aiohttp's parser: a new one after an informational head, which may have been the last for it."""
        if data and (self._parser is None or (self._awaits_head and self.overhead.informational)):
            super().set_response_params(skip_payload=not self._may_have_body, **bodies.PARSER_OPTIONS)
        super().data_received(data)

    def _refuse(self, message: str) -> None:
        if self.transport is not None:
            self.transport.abort()
        self.set_exception(HttpProcessingError(message=message))

    def _is_idle(self) -> bool:
        return self.requests == 0 or (self._body is not None and self._body.is_eof())

    def _distrust(self) -> None:
        """Close the connection: we can't know to which request its data belongs."""
        self.force_close()
        if self.requests == 0:
            self._spoke_first = True
            self.set_exception(NoResponse("the server spoke before it was asked"))
        elif self.transport is not None:
            self.transport.abort()
