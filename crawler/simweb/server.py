"""Serves a simulated web on one loopback port: HTTP/1.1 with keep-alive, all hosts by their Host header.

It is a raw asyncio protocol, because benchmarks crawl it. It caches complete responses as bytes, up to a limit, and
answers most requests from there, within the callback that receives them.
"""

import asyncio
import ipaddress
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol, cast

import msgspec

from crawler.codes.ports import listening
from crawler.simweb.log import Log, LogEntry
from crawler.simweb.wire import BadRequest, HttpRequest, encode, is_current, parse
from crawler.simweb.world import Reply

MAX_HEAD_BYTES = 65_536
MAX_COUNTED_TARGETS = 100_000
_Key = tuple[str, str, str, bool]
"""Host, target, accepted encodings, and whether the connection stays open."""


class Web(Protocol):
    """Answers requests: a `World`, or a wrapper or replacement in a test."""

    def respond(self, authority: str, target: str, *, attempt: int, accept_encoding: str, now: float) -> Reply: ...


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """A running server."""

    host: str
    port: int


class _Desk:
    """The state that all connections of a server share: the web, cached responses, counts of attempts, the log."""

    def __init__(
        self, web: Web, *, log: Log | None, cache_bytes: int, clock: Callable[[], float], keep_alive: bool
    ) -> None:
        self._web = web
        self.keep_alive = keep_alive
        self._clock = clock
        self._log = log
        self.connections: set[_Connection] = set()
        self._free_bytes = cache_bytes
        self._cached: dict[_Key, tuple[int, str, bytes]] = {}
        self._attempts: dict[tuple[str, str], int] = {}

    def answer(self, request: HttpRequest) -> tuple[Reply | None, bytes]:
        """The bytes to send. The reply is returned too if it must be delayed or cut."""
        key = (request.host, request.target, request.accept_encoding, request.keep_alive)
        cached = self._cached.get(key)
        is_plain = request.is_usual and not request.if_modified_since
        if cached is not None and is_plain and cached[1] != request.if_none_match:
            self._note(request, cached[0], 1)
            return None, cached[2]
        counted = (request.host, request.target)
        attempt = self._attempts.get(counted, 0) + 1
        reply = self._web.respond(
            request.host, request.target, attempt=attempt, accept_encoding=request.accept_encoding, now=self._clock()
        )
        if not reply.steady:
            self._count(counted, attempt)
        etag = reply.header("ETag")
        if is_current(request, reply):
            reply = Reply(status=304, headers=(("ETag", etag),), steady=reply.steady)
        self._note(request, reply.status, attempt)
        if reply.chunked and not request.takes_chunks:
            reply = msgspec.structs.replace(reply, chunked=False)
        data = encode(reply, head_only=request.method == "HEAD", keep_alive=request.keep_alive)
        is_steady = reply.steady and not reply.delay_s and reply.cut_at is None and reply.status != 304
        if is_steady and request.is_usual:
            self._keep(key, (reply.status, etag or "-", data))
        return (None if is_steady else reply), data

    def refuse(self, refused: BadRequest) -> bytes:
        reply = Reply(
            status=refused.status,
            headers=(("Content-Type", "text/plain; charset=utf-8"),),
            body=f"{refused.why}\n".encode(),
        )
        return encode(reply, head_only=False, keep_alive=False)

    def _note(self, request: HttpRequest, status: int, attempt: int) -> None:
        if self._log is not None:
            self._log(LogEntry(time.monotonic(), request.method, request.host, request.target, status, attempt))

    def _count(self, counted: tuple[str, str], attempt: int) -> None:
        self._attempts.pop(counted, None)
        self._attempts[counted] = attempt
        if len(self._attempts) > MAX_COUNTED_TARGETS:
            del self._attempts[next(iter(self._attempts))]

    def _keep(self, key: _Key, entry: tuple[int, str, bytes]) -> None:
        if (before := self._cached.pop(key, None)) is not None:
            self._free_bytes += len(before[2])
        self._free_bytes -= len(entry[2])
        self._cached[key] = entry
        while self._free_bytes < 0:
            oldest = next(iter(self._cached))
            self._free_bytes += len(self._cached.pop(oldest)[2])


class _Connection(asyncio.Protocol):
    """One client. Requests are answered in order, each after the response to the previous one is sent."""

    def __init__(self, desk: _Desk, loop: asyncio.AbstractEventLoop) -> None:
        self._desk = desk
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._client_is_slow = False
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._desk.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._desk.connections.discard(self)
        if self._waiting is not None:
            self._waiting.cancel()

    def data_received(self, data: bytes) -> None:
        self._received = self._received + data if self._received else data
        if self._waiting is None and not self._client_is_slow:
            self._serve()
        elif self._transport is not None and len(self._received) > MAX_HEAD_BYTES:
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        self._client_is_slow = True

    def resume_writing(self) -> None:
        self._client_is_slow = False
        if self._waiting is None:
            self._go_on()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _serve(self) -> None:
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head, self._received = self._received[:end], self._received[end + 4 :]
            request = parse(head)
            if isinstance(request, BadRequest):
                self._refuse(request)
                return
            if not self._desk.keep_alive:
                request = msgspec.structs.replace(request, keep_alive=False)
            reply, data = self._desk.answer(request)
            if reply is not None and reply.delay_s:
                self._send_at(time.monotonic() + reply.delay_s, request, reply, data)
                return
            self._send(request, reply, data)
            if self._client_is_slow or self._transport is None or self._transport.is_closing():
                return
        if len(self._received) > MAX_HEAD_BYTES:
            self._refuse(BadRequest(431, f"the request head has more than {MAX_HEAD_BYTES} bytes"))

    def _send_at(self, due_s: float, request: HttpRequest, reply: Reply, data: bytes) -> None:
        """Timers of uvloop count whole milliseconds, so that they may end almost one too early."""
        remaining_s = due_s - time.monotonic()
        if remaining_s > 0:
            self._waiting = self._loop.call_later(remaining_s, self._send_at, due_s, request, reply, data)
            return
        self._waiting = None
        self._send(request, reply, data)
        if not self._client_is_slow:
            self._go_on()

    def _go_on(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
            self._serve()

    def _send(self, request: HttpRequest, reply: Reply | None, data: bytes) -> None:
        assert self._transport is not None
        if reply is not None and reply.cut_at is not None and request.method != "HEAD":
            self._transport.write(data[: data.find(b"\r\n\r\n") + 4 + reply.cut_at])
            self._transport.close()
            return
        self._transport.write(data)
        if not request.keep_alive:
            self._transport.close()

    def _refuse(self, refused: BadRequest) -> None:
        assert self._transport is not None
        self._transport.write(self._desk.refuse(refused))
        self._transport.close()


@asynccontextmanager
async def serve(
    web: Web,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    log: Log | None = None,
    cache_bytes: int = 64_000_000,
    clock: Callable[[], float] = time.time,
    tls: ssl.SSLContext | None = None,
    keep_alive: bool = True,
) -> AsyncIterator[Server]:
    """Serve a web until the block ends. Port 0 means a free one. Caches at most `cache_bytes` of responses. `clock`
    gives the time of the web, by which its pages change, in seconds since 1970. With `tls`, it speaks that. Without
    `keep_alive`, it closes each connection after one response.

    Binds to loopback only: raises `ValueError` for any other address, and `CannotListen` if the port is in use.
    """
    if not ipaddress.ip_address(host).is_loopback:
        raise ValueError(f"the simulated web is served on loopback only, as 127.0.0.1 or ::1, not on {host}")
    desk = _Desk(web, log=log, cache_bytes=cache_bytes, clock=clock, keep_alive=keep_alive)
    loop = asyncio.get_running_loop()
    with listening(host, port, advice="choose another port, or 0 for a free one"):
        server = await loop.create_server(lambda: _Connection(desk, loop), host, port, backlog=1024, ssl=tls)
    try:
        yield Server(host=host, port=server.sockets[0].getsockname()[1])
    finally:
        server.close()
        for connection in tuple(desk.connections):
            connection.abort()
        await server.wait_closed()
