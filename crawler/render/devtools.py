"""The DevTools protocol over a socket: JSON messages, each ended by a NUL byte.

Source: https://chromedevtools.github.io/devtools-protocol/.
"""

import asyncio
import itertools
import re
import socket
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

import msgspec

from crawler.codes.unreadable import UNREADABLE

Params = dict[str, Any]
Call = Callable[..., Awaitable[Any]]
"""Calls a function of JavaScript in a page, with its arguments, and returns its value."""

MAX_MESSAGE_BYTES = 32_000_000
"""Limit for one message, whose size a page may determine: that of a request has the body of a POST twice. Of a longer
message only its ends count."""
_HEAD_BYTES: Final = 4096
_TAIL_BYTES: Final = 256
_LONG_ANSWER: Final = re.compile(rb'\{"id":(\d+)')
_LONG_REQUEST: Final = re.compile(rb'\{"method":"(Fetch\.requestPaused)","params":\{"requestId":"([^"\\]+)"')
_SESSION_AT_END: Final = re.compile(rb'"sessionId":"([^"\\]+)"\}\Z')


class BrowserGone(Exception):
    """The browser has ended, or we have given it up. The message says why."""


class CommandRefused(Exception):
    """The browser answered a command with an error, for example because the target is gone."""


class Event(msgspec.Struct, frozen=True, rename="camel"):
    """An event of the browser."""

    method: str
    params: Params = {}
    session_id: str | None = None
    """The session of its target; None for the browser itself."""


class _Error(msgspec.Struct):
    message: str = ""


class _Message(msgspec.Struct, rename="camel"):
    id: int | None = None
    method: str = ""
    params: Params = {}
    session_id: str | None = None
    result: Params = {}
    error: _Error | None = None


class Devtools(asyncio.Protocol):
    """A connection to one browser. It calls `hear` with each event, in order; `hear` must not block. Of a request that
    is paused, and is too long to be read, the event has nothing but the `requestId`. It leaves out other events that
    are too long."""

    def __init__(self) -> None:
        self.hear: Callable[[Event], None] = ignore
        self.gone: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done when the connection has ended; its result says why."""
        self._transport: asyncio.WriteTransport | None = None
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Params]] = {}
        self._pieces: list[bytes] = []
        self._pending_bytes = 0

    @classmethod
    async def over(cls, ours: socket.socket) -> "Devtools":
        """Connect over our end of a socket pair, which it closes with itself."""
        return (await asyncio.get_running_loop().create_unix_connection(cls, sock=ours))[1]

    def post(self, method: str, params: Params | None = None, *, session: str | None = None) -> int:
        """Send a command without waiting for its result; returns its number."""
        number = next(self._numbers)
        if self._transport is not None:
            command: Params = {"id": number, "method": method, "params": params or {}}
            if session is not None:
                command["sessionId"] = session
            self._transport.write(msgspec.json.encode(command) + b"\0")
        return number

    async def ask(self, method: str, params: Params | None = None, *, session: str | None = None) -> Params:
        """Send a command and wait for its result. Raises `CommandRefused` and `BrowserGone`."""
        if self.gone.done():
            raise BrowserGone(self.gone.result())
        number = self.post(method, params, session=session)
        answer: asyncio.Future[Params] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        try:
            return await answer
        finally:
            self._answers.pop(number, None)

    def give_up(self, why: str) -> None:
        """End the connection. All callers that wait for a result get `BrowserGone`."""
        if not self.gone.done():
            self.gone.set_result(why)
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        self._pieces.clear()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(BrowserGone(why))

    # what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.give_up("it ended")

    def data_received(self, data: bytes) -> None:
        first, *others = data.split(b"\0")
        self._keep(first)
        for piece in others:
            message, is_whole = b"".join(self._pieces), self._pending_bytes <= MAX_MESSAGE_BYTES
            self._pieces.clear()
            self._pending_bytes = 0
            self._keep(piece)
            self._read(message, is_whole=is_whole)

    def _keep(self, piece: bytes) -> None:
        self._pending_bytes += len(piece)
        if piece:
            self._pieces.append(piece)
        if self._pending_bytes > MAX_MESSAGE_BYTES:
            kept = b"".join(self._pieces)
            self._pieces = [kept[:_HEAD_BYTES], kept[-_TAIL_BYTES:]]

    def _read(self, raw: bytes, *, is_whole: bool) -> None:
        if self.gone.done():
            return
        try:
            message = _decoder.decode(raw) if is_whole else _read_ends(raw)
        except UNREADABLE as error:
            self.give_up(f"it sent an invalid message: {error}")
            return
        if message.id is None:
            self.hear(Event(message.method, message.params, message.session_id))
            return
        answer = self._answers.get(message.id)
        if answer is None or answer.done():
            return
        if message.error is None:
            answer.set_result(message.result)
        else:
            answer.set_exception(CommandRefused(message.error.message))


def _read_ends(ends: bytes) -> _Message:
    """What the first and the last bytes of a message say that is too long."""
    if (answer := _LONG_ANSWER.match(ends)) is not None:
        return _Message(id=int(answer[1]), error=_Error(f"the answer has more than {MAX_MESSAGE_BYTES} bytes"))
    request, session = _LONG_REQUEST.match(ends), _SESSION_AT_END.search(ends)
    if request is None or session is None:
        return _Message()
    method, number, session_id = request[1].decode(), request[2].decode(), session[1].decode()
    return _Message(method=method, params={"requestId": number}, session_id=session_id)


_decoder = msgspec.json.Decoder(_Message)


def ignore(_: Event) -> None: ...
