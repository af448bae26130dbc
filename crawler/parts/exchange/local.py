"""The exchange between the processes of one machine.

Each part listens on a Unix socket in its directory, `DIR/links`, which only its owner may open. It binds the socket
while it holds the directory's lock, so a socket that is there already was left by a process that died.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from crawler.control.address import address, listen, remove
from crawler.parts.exchange.protocol import ExchangeBroken, Message, Unreachable
from crawler.parts.exchange.wire import HEADER_BYTES, decode, encode, read_header

log = logging.getLogger(__name__)

NAME: Final = "links"
BUFFER_BYTES: Final = 1 << 16
"""How much of what was sent may wait in this process; the system has its own buffers."""
_NO_DESCRIPTOR_S: Final = 1.0


class LocalConnection:
    """A `Connection` over a Unix socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._header: tuple[int, int] | None = None
        """The header of the message that is being read."""
        writer.transport.set_write_buffer_limits(BUFFER_BYTES)

    async def send(self, message: Message, /) -> None:
        if self._writer.is_closing():
            raise ExchangeBroken("the connection is closed")
        self._writer.write(encode(message))
        try:
            await self._writer.drain()
        except OSError as error:
            raise ExchangeBroken(f"the other part does not answer: {error.strerror or error}") from error

    async def receive(self) -> Message | None:
        try:
            if self._header is None:
                # `readexactly` takes nothing from the buffer before all is there, so a cancelled call loses nothing.
                self._header = read_header(await self._reader.readexactly(HEADER_BYTES))
            length, checksum = self._header
            body = await self._reader.readexactly(length)
        except asyncio.IncompleteReadError as error:
            if self._header is None and not error.partial:
                return None
            raise ExchangeBroken("the connection has ended in the middle of a message") from error
        except OSError as error:
            raise ExchangeBroken(f"the other part does not answer: {error.strerror or error}") from error
        self._header = None
        return decode(body, checksum)

    def close(self) -> None:
        with suppress(OSError):
            self._writer.transport.abort()


class LocalExchange:
    """The `Exchange` of the part whose `directory` is locked by the caller. `directory_of` gives those of the others.

    Raises `crawler.control.address.SocketRefused` if the socket can't be bound.
    """

    def __init__(self, directory: Path, directory_of: Callable[[int], Path]) -> None:
        self._directory = directory
        self._directory_of = directory_of
        self._listening: socket.socket | None = listen(directory, NAME)
        self._connections: list[LocalConnection] = []
        self._accepting: asyncio.Task[socket.socket] | None = None

    async def connect(self, part: int, /) -> LocalConnection:
        directory = self._directory_of(part)
        connecting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connecting.setblocking(False)
        try:
            with address(directory, NAME) as short:
                await asyncio.get_running_loop().sock_connect(connecting, short)
        except OSError as error:
            connecting.close()
            raise Unreachable(f"part {part} does not listen in {directory}: {error.strerror or error}") from error
        except BaseException:
            connecting.close()
            raise
        return await self._open(connecting)

    async def accept(self) -> LocalConnection | None:
        loop = asyncio.get_running_loop()
        while self._listening is not None:
            accepting = self._accepting or loop.create_task(_accept(self._listening))
            self._accepting = accepting
            # A cancelled call must not lose the connection that it was given: the next call takes it.
            await asyncio.wait({accepting})
            if self._accepting is not accepting:
                break  # `aclose` has it
            self._accepting = None
            if (error := accepting.exception()) is None:
                return await self._open(accepting.result())
            if not isinstance(error, OSError):
                raise error
            log.warning("another part can't connect: %s", error)
            await asyncio.sleep(_NO_DESCRIPTOR_S)
        return None

    @property
    def trouble(self) -> str | None:
        return None

    async def _open(self, connected: socket.socket) -> LocalConnection:
        try:
            reader, writer = await asyncio.open_unix_connection(sock=connected)
        except BaseException:
            connected.close()
            raise
        connection = LocalConnection(reader, writer)
        self._connections = [each for each in self._connections if not each._writer.is_closing()]
        self._connections.append(connection)
        return connection

    async def aclose(self) -> None:
        if self._listening is None:
            return
        listening, self._listening = self._listening, None
        accepting, self._accepting = self._accepting, None
        if accepting is not None:
            accepting.cancel()
            await asyncio.wait({accepting})
            if not accepting.cancelled() and accepting.exception() is None:
                accepting.result().close()
        listening.close()
        remove(self._directory, NAME)
        for connection in self._connections:
            connection.close()
        await asyncio.sleep(0)  # lets the loop close their sockets


async def _accept(listening: socket.socket) -> socket.socket:
    connected, _ = await asyncio.get_running_loop().sock_accept(listening)
    return connected
