"""Answers requests on the socket of a crawl, in the crawl's event loop.

A client can't hold the crawl: a request has a limited size, a connection has one request at a time, and a client that
does not read its reply, or says nothing for long, is dropped. A change goes on without its client. While too many such
changes have not ended, further ones are refused, except for a stop.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from crawler.codes.exit_codes import FAILED
from crawler.control import address
from crawler.control.address import SocketRefused
from crawler.control.replies import Refusal
from crawler.control.requests import AnyRequest, Query, Stop
from crawler.control.wire import END, MAX_REQUEST_BYTES, WORKING, decode_request, encode_reply
from crawler.status import number_of

log = logging.getLogger(__name__)

Answer = Callable[[AnyRequest], Awaitable[msgspec.Struct | Refusal]]
"""Carries out a request. It must not hold the event loop."""

_NO_DESCRIPTOR_S: Final = 1.0
_READ_BYTES: Final = 1 << 16
_MAX_DISCARDED_BYTES: Final = 4 * MAX_REQUEST_BYTES


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What clients may take."""

    clients: int = 32
    idle_s: float = 300.0
    """How long a client may say nothing."""
    heartbeat_s: float = 2.0
    """How often a client hears that its request is being worked on."""
    reading_s: float = 30.0
    """How long a client may take to read a reply."""


class ControlServer:
    """Answers requests until it is cancelled. It closes the socket then."""

    def __init__(self, listening: socket.socket, answer: Answer, *, bounds: Bounds | None = None) -> None:
        self._listening = listening
        self._answer = answer
        self._bounds = bounds or Bounds()
        self._clients: dict[_Client, None] = {}
        """Clients that have been idle for longest come first."""
        self._may_have_room = asyncio.Event()
        self._left_alone = 0
        """Changes that have not ended, and whose clients are gone."""

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    try:
                        connection, _ = await loop.sock_accept(self._listening)
                    except OSError as error:
                        log.warning("a client can't connect: %s", error)
                        await asyncio.sleep(_NO_DESCRIPTOR_S)
                        continue
                    try:
                        await self._make_room()
                    except BaseException:
                        connection.close()
                        raise
                    group.create_task(self._serve(connection))
        finally:
            self._listening.close()

    async def _make_room(self) -> None:
        """Drop the client that has been idle for longest if there are too many; if none is idle, wait for one."""
        while len(self._clients) >= self._bounds.clients:
            self._may_have_room.clear()
            idle = next((client for client in self._clients if not client.is_busy), None)
            if idle is not None:
                idle.drop()
            await self._may_have_room.wait()

    async def _serve(self, connection: socket.socket) -> None:
        client = None
        try:
            reader, writer = await asyncio.open_unix_connection(sock=connection, limit=MAX_REQUEST_BYTES)
            # `drain` then waits until the system has taken everything.
            writer.transport.set_write_buffer_limits(0)
            client = _Client(reader, writer, self._bounds.reading_s)
            self._clients[client] = None
            await self._converse(client)
        except (OSError, TimeoutError):
            pass  # the client is gone, says nothing or does not read
        finally:
            if client is None:
                connection.close()
            else:
                self._leave(client)

    def _leave(self, client: "_Client") -> None:
        """The client is gone. Another one has room."""
        client.drop()
        self._clients.pop(client, None)
        self._may_have_room.set()

    async def _converse(self, client: "_Client") -> None:
        while True:
            async with asyncio.timeout(self._bounds.idle_s):
                line = await client.read_line()
            if line is None:
                return
            if isinstance(line, Refusal):
                await client.write(encode_reply(line))
                await client.discard()
                return
            client.is_busy = True
            await self._reply(client, line)
            client.is_busy = False
            self._clients[client] = self._clients.pop(client)
            self._may_have_room.set()

    async def _reply(self, client: "_Client", line: bytes) -> None:
        request = decode_request(line)
        if isinstance(request, Refusal):
            await client.write(encode_reply(request))
            return
        if self._left_alone >= self._bounds.clients and not isinstance(request, Query | Stop):
            why = (
                f"nothing was changed: {number_of(self._left_alone, 'change')} of clients that are gone must end first"
            )
            await client.write(encode_reply(Refusal(f"{why}; try again later, or stop the crawl", FAILED)))
            return
        answering = asyncio.create_task(self._carry_out(request))
        try:
            while not (await asyncio.wait({answering}, timeout=self._bounds.heartbeat_s))[0]:
                await client.write(WORKING)
        except (OSError, TimeoutError):
            if not isinstance(request, Query):
                # A change may have begun, and wait for disk space or a server. To cancel it then would end the crawl.
                self._leave(client)
                self._left_alone += 1
                try:
                    await asyncio.wait({answering})
                finally:
                    self._left_alone -= 1
            raise
        finally:
            answering.cancel()
            await asyncio.wait({answering})
        await client.write(answering.result())

    async def _carry_out(self, request: AnyRequest) -> bytes:
        try:
            return encode_reply(await self._answer(request))
        except Exception as error:
            # A bug in an answer must not end the crawl.
            log.exception("a request could not be answered: %s", type(request).__name__)
            why = str(error) or type(error).__name__
            return encode_reply(Refusal(f"{why}; the log of the crawl says more", FAILED))


async def answer_in(directory: Path, answer: Answer) -> None:
    """Answer on the socket of a crawl in its directory, whose lock the caller holds, until cancelled. A crawl whose
    directory takes no socket goes on without."""
    try:
        listening = address.listen(directory)
    except SocketRefused as error:
        log.warning("while this crawl runs, commands such as `onceover status` can't reach it: %s", error)
        return
    try:
        await ControlServer(listening, answer).run()
    finally:
        address.remove(directory)


class _Client:
    """A connection. `drop` ends it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reading_s: float) -> None:
        self._reader = reader
        self._writer = writer
        self._reading_s = reading_s
        self.is_busy = False

    async def read_line(self) -> bytes | Refusal | None:
        """The next request; None at the end."""
        try:
            return await self._reader.readuntil(END)
        except asyncio.IncompleteReadError:
            return None
        except asyncio.LimitOverrunError:
            return Refusal(f"expected a request of at most {MAX_REQUEST_BYTES:,} bytes; found a longer line")

    async def write(self, line: bytes) -> None:
        """Raises `TimeoutError` if the client does not read, and `OSError` if it is gone."""
        if self._writer.is_closing():
            raise ConnectionResetError  # uvloop raises a RuntimeError for a write to a lost connection
        async with asyncio.timeout(self._reading_s):
            self._writer.write(line)
            await self._writer.drain()

    async def discard(self) -> None:
        """Read what is left, as far as is reasonable, because the system drops a reply when input is unread."""
        async with asyncio.timeout(self._reading_s):
            left = _MAX_DISCARDED_BYTES
            while left > 0 and (read := await self._reader.read(_READ_BYTES)):
                left -= len(read)

    def drop(self) -> None:
        with suppress(OSError):
            self._writer.transport.abort()
