"""Asks running crawls from an event loop, as a supervisor and a daemon do."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from crawler.control import address
from crawler.control.client import SILENCE_S, NoAnswer, failed_to_answer, failed_to_connect
from crawler.control.process import pid_of, why_stopped
from crawler.control.replies import Refusal
from crawler.control.requests import Request, reply_type
from crawler.control.wire import END, MAX_REPLY_BYTES, BadReply, decode_reply, encode_request

_Reply = TypeVar("_Reply", bound=msgspec.Struct)


async def _go_on() -> None:
    pass


class Channel:
    """A connection to a running crawl. Requests of several tasks take turns."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, silence_s: float) -> None:
        self._reader = reader
        self._writer = writer
        self._silence_s = silence_s
        self._turn = asyncio.Lock()
        self.pid = pid_of(writer.get_extra_info("socket"))

    async def ask(
        self, request: Request[_Reply], *, on_working: Callable[[], Awaitable[None]] = _go_on
    ) -> _Reply | Refusal:
        """The reply to a request. Calls `on_working` each time that the crawl says that it still works on it. Raises
        what that raises, `NoAnswer` and `ConnectionLost`, after which the channel is useless, and `ValueError` if the
        request is too long. So it is when the caller was cancelled. A process that is stopped is sent nothing."""
        line = encode_request(request)
        async with self._turn:
            done = False
            try:
                reply = await self._ask(line, reply_type(request), on_working)
                done = True
            finally:
                if not done:
                    # A late reply must not be taken for that to the next request.
                    self._writer.transport.abort()
            return reply

    async def _ask(
        self, line: bytes, expected: type[_Reply], on_working: Callable[[], Awaitable[None]]
    ) -> _Reply | Refusal:
        stopped = why_stopped(self.pid)
        if stopped is not None:
            raise NoAnswer(stopped)
        try:
            if self._writer.is_closing():
                raise ConnectionResetError  # uvloop raises a RuntimeError for a write to a lost connection
            async with asyncio.timeout(self._silence_s):
                self._writer.write(line)
                await self._writer.drain()
            while True:
                async with asyncio.timeout(self._silence_s):
                    received = await self._reader.readuntil(END)
                reply = decode_reply(received, expected)
                if reply is not None:
                    return reply
                await on_working()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, BadReply) as error:
            # What is still in the buffer is dropped, and half a line is no request.
            is_sent = self._writer.transport.get_write_buffer_size() == 0
            raise failed_to_answer(error, self.pid, self._silence_s, is_sent=is_sent) from error


@asynccontextmanager
async def open_channel(directory: Path, *, silence_s: float = SILENCE_S) -> AsyncIterator[Channel | None]:
    """A channel to the crawl in a directory; None if none listens there. Raises `SocketRefused` and `NoAnswer`."""
    streams = await _connect(directory, silence_s) if address.check(directory) else None
    if streams is None:
        yield None
        return
    reader, writer = streams
    try:
        yield Channel(reader, writer, silence_s)
    finally:
        writer.transport.abort()


async def _connect(directory: Path, silence_s: float) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
    try:
        with address.address(directory) as short:
            async with asyncio.timeout(silence_s):
                return await asyncio.open_unix_connection(short, limit=MAX_REPLY_BYTES)
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    except OSError as error:
        raise failed_to_connect(error, directory, silence_s) from error
