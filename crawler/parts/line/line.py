"""Sends and receives messages over a connected socket.

A message is the length of its body, in four bytes, and its body as MessagePack. Both ends run the same program on one
machine, so nothing is checked further.
"""

import asyncio
import socket
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

import msgspec

from crawler.codes.unreadable import UNREADABLE

_LENGTH: Final = 4
MAX_BODY_BYTES: Final = 1 << 26
CALM_BYTES: Final = 1 << 16

_Incoming = TypeVar("_Incoming")
_Outgoing = TypeVar("_Outgoing")


class LineBroken(Exception):
    """The other side has sent what is no message. This is a bug, or another program."""


class Line(Generic[_Incoming, _Outgoing]):
    """One side of the line; `open_line` makes it. One task receives, several may send."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, incoming: Any) -> None:
        self._reader = reader
        self._writer = writer
        self._decode = msgspec.msgpack.Decoder(incoming).decode

    @property
    def is_calm(self) -> bool:
        """Whether the other side reads what it is sent. While it does not, send it nothing that can be spared."""
        return self._writer.transport.get_write_buffer_size() < CALM_BYTES

    def send(self, message: _Outgoing) -> None:
        """Send a message, unless the line has ended."""
        framed_message = framed(message)
        if not self._writer.is_closing():
            self._writer.write(framed_message)

    async def receive(self) -> _Incoming | None:
        """The next message; None at the end of the line, also if it ends within a message. Raises `LineBroken`."""
        try:
            length = int.from_bytes(await self._reader.readexactly(_LENGTH), "big")
            if length > MAX_BODY_BYTES:
                raise LineBroken(f"expected a message of at most {MAX_BODY_BYTES} bytes, found one of {length}")
            message: _Incoming = self._decode(await self._reader.readexactly(length))
        except (OSError, asyncio.IncompleteReadError):
            return None
        except UNREADABLE as error:
            raise LineBroken(f"a message can't be read: {error}") from error
        return message

    async def aclose(self) -> None:
        """End the line after all that was sent, if the other side still reads."""
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


def framed(message: object) -> bytes:
    """A message as it goes over the line."""
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(_LENGTH, "big") + body


async def open_line(connected: socket.socket, incoming: Any) -> Line[Any, Any]:
    """The line over a socket, which it owns from now on. `incoming` is the type of what the other side sends."""
    reader, writer = await asyncio.open_unix_connection(sock=connected)
    return Line(reader, writer, incoming)
