"""Accepts connections, and closes those of slow clients.

aiohttp would accept any number, and wait for the headers of a request for ever.
"""

import asyncio
import logging
import socket
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from ssl import SSLContext
from typing import Final, cast

import msgspec
from aiohttp import web

from crawler.serve.api.gate.caller import caller_of
from crawler.serve.api.gate.half_closed import AnswersHalfClosed
from crawler.serve.api.gate.limits import Limits, client_of
from crawler.serve.api.gate.tokens import TokenRefused, Tokens
from crawler.serve.api.gate.traffic import Traffic
from crawler.serve.api.problems import MEDIA_TYPE, Problem

log = logging.getLogger(__name__)

_AFTER_S: Final = 5
_PAUSE_S: Final = 1.0
_GOODBYE_S: Final = 2.0
"""How long the end of a TLS connection may take."""
_MAX_SWEEP_S: Final = 5.0
_ACKNOWLEDGED: Final = slice(120, 128)
"""Where Linux has `tcpi_bytes_acked` in `struct tcp_info` (linux/tcp.h)."""


class Listener:
    """Listens on a socket for a server."""

    def __init__(
        self,
        server: web.Server,
        listening: socket.socket,
        limits: Limits,
        *,
        traffic: Traffic,
        tokens: Tokens | None,
        tls: Callable[[], SSLContext] | None = None,
    ) -> None:
        """`tokens` are those that requests need; None stands for a socket without. `tls` is called for each
        connection."""
        self._server = server
        self._listening = listening
        self._limits = limits
        self._traffic = traffic
        self._tokens = tokens
        self._tls = tls
        self._beginning: Counter[str] = Counter()
        """The connections of each client that are not yet the server's."""
        self._idle_since: dict[object, float] = {}
        self._received: dict[object, tuple[int, int]] = {}
        """For each connection, how much its client had received at the last look, and how much waited here."""

    async def serve(self) -> None:
        """Accept connections until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sweep())
            try:
                await self._accept(group)
            finally:
                self._listening.close()

    async def _accept(self, group: asyncio.TaskGroup) -> None:
        loop = asyncio.get_running_loop()
        self._listening.setblocking(False)
        while True:
            try:
                connection, peer = await loop.sock_accept(self._listening)
            except OSError as error:
                log.warning("the API can't accept a connection now: %s", error.strerror or error)
                await asyncio.sleep(_PAUSE_S)
                continue
            client = client_of(peer[0] if peer else None)
            if self._is_full(client):
                self._refuse(connection)
            else:
                group.create_task(self._begin(connection, client, group))

    def _is_full(self, client: str) -> bool:
        clients = self._beginning + Counter(
            client_of((peer := each.transport.get_extra_info("peername")) and peer[0])
            for each in self._server.connections
            if each.transport is not None
        )
        in_all = clients.total() >= self._limits.max_connections
        return in_all or (client != "" and clients[client] >= self._limits.max_connections_per_client)

    def _refuse(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            if self._tls is None:
                connection.send(_TOO_MANY)

    async def _begin(self, connection: socket.socket, client: str, group: asyncio.TaskGroup) -> None:
        tls = None if self._tls is None else self._tls()
        self._beginning[client] += 1
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: cast(asyncio.Protocol, AnswersHalfClosed(self._server(), partial(self._finish, group))),
                connection,
                ssl=tls,
                ssl_handshake_timeout=None if tls is None else self._limits.idle_s,
                ssl_shutdown_timeout=None if tls is None else _GOODBYE_S,
            )
        except OSError as error:
            # Also a failed handshake: whoever speaks no TLS here, or does not trust us, ends up here.
            log.debug("a connection of %s could not begin: %s", client, error)
        finally:
            self._beginning[client] -= 1
            self._beginning += Counter()  # forgets those at 0

    def _finish(self, group: asyncio.TaskGroup, connection: web.RequestHandler) -> bool:
        """Close a connection after the answer to its request. False if the answer has no end, or the server ends."""
        if self._traffic.streams(connection) or self._listening.fileno() < 0:
            return False
        self._traffic.close_side(connection)
        connection.close()  # it waits for no other request
        group.create_task(_close(connection))
        return True

    async def _sweep(self) -> None:
        """Close connections that are not used, and those of tokens that hold no longer, again and again."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(self._limits.idle_s / 4, _MAX_SWEEP_S))
            self.close_idle(loop.time())
            self._close_revoked()

    def close_idle(self, now: float) -> None:
        """Close the connections that have had no answer for long, and get none now, or do not read it."""
        running, used = self._traffic.running, self._traffic.take_used()
        idle = [each for each in self._server.connections if each not in running]
        received: dict[object, tuple[int, int]] = {
            each: (_acknowledged(each.transport), each.transport.get_write_buffer_size())
            for each in idle
            if each.transport is not None
        }
        used |= {
            each
            for each, now_received in received.items()
            if now_received != self._received.get(each, now_received)
            or (now_received[1] == 0 and self._traffic.sends_file(each))
        }
        self._received = received
        self._idle_since = {each: now if each in used else self._idle_since.get(each, now) for each in idle}
        for each in idle:
            if now - self._idle_since[each] >= self._limits.idle_s and each.transport is not None:
                each.transport.abort()

    def _close_revoked(self) -> None:
        lasting = self._traffic.lasting()
        if self._tokens is None or not lasting:
            return
        try:
            known = self._tokens.known()
        except TokenRefused:
            known = []
        for request in lasting:
            token = caller_of(request).token
            if token is not None and token not in known and request.transport is not None:
                request.transport.abort()


async def _close(connection: web.RequestHandler) -> None:
    """Close a connection after the answer. A bug in that must not end the others."""
    [failure] = await asyncio.gather(connection.shutdown(None), return_exceptions=True)
    if isinstance(failure, Exception):
        log.error("a connection was not closed in order", exc_info=failure)


def _acknowledged(transport: asyncio.BaseTransport) -> int:
    """Bytes that the client of a TCP connection has confirmed; 0 if the system does not tell.

    The size of our buffer may stay the same while the client reads, because TLS and the system have their own.
    """
    connection = transport.get_extra_info("socket")
    if connection is None or connection.family == socket.AF_UNIX or not hasattr(socket, "TCP_INFO"):
        return 0
    try:
        info: bytes = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _ACKNOWLEDGED.stop)
    except OSError:
        return 0  # the connection has just ended
    return int.from_bytes(info[_ACKNOWLEDGED], sys.byteorder)


def _too_many() -> bytes:
    body = msgspec.json.encode(
        Problem(
            title="Too Many Requests",
            status=429,
            detail=f"there are too many connections; ask again after {_AFTER_S} s",
        )
    )
    head = (
        f"HTTP/1.1 429 Too Many Requests\r\nRetry-After: {_AFTER_S}\r\nContent-Type: {MEDIA_TYPE}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


_TOO_MANY: Final = _too_many()
