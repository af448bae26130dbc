"""One end of a connection through Redis: what has come and was not read, and what may be sent."""

import asyncio
from collections import deque
from typing import Any, Generic, Protocol, TypeVar

from crawler.parts.exchange.protocol import ExchangeBroken
from crawler.parts.exchange.way import Address, Frame, FrameKind, Way
from crawler.parts.exchange.wire import Wire

_Message = TypeVar("_Message")


class Carrying(Protocol):
    """What a connection asks of its exchange."""

    def put(self, connection: "RedisConnection[Any]", kind: FrameKind, message: bytes = b"", /) -> None:
        """Send a frame soon."""
        ...

    def drop(self, connection: "RedisConnection[Any]", /) -> None:
        """Forget a connection that has ended."""
        ...


def keys_of(prefix: str, part: Address) -> tuple[str, str]:
    """The registration and the stream of a part. A cluster has both on one node."""
    place = f"{{{prefix}:{part}}}"
    return f"{place}:registration", f"{place}:stream"


class RedisConnection(Generic[_Message]):
    """A `Connection` over two streams."""

    def __init__(self, exchange: Carrying, part: Address, other: int, number: int, wire: Wire[_Message]) -> None:
        self.part = part
        """The other end."""
        self.other = other
        """Its registration."""
        self.number = number
        self.way = Way()
        self._exchange = exchange
        self._wire = wire
        self._messages: deque[bytes] = deque()
        self._has_news = asyncio.Event()
        self._may_send = asyncio.Event()
        self._closed = False
        self._has_ended = False
        """Whether the other part has ended the connection."""
        self._broken: str | None = None

    async def send(self, message: _Message, /) -> None:
        content = self._wire.encode(message)
        while self._is_open and not self.way.may_send(len(content)):
            self._may_send.clear()
            await self._may_send.wait()
        if not self._is_open:
            raise ExchangeBroken(self._broken or "the connection is closed")
        self.way.send(len(content))
        self._exchange.put(self, FrameKind.MESSAGE, content)

    async def receive(self) -> _Message | None:
        while not self._messages or self._closed:
            if self._closed or self._broken is not None:
                raise ExchangeBroken(self._broken or "the connection is closed")
            if self._has_ended:
                return None
            self._has_news.clear()
            await self._has_news.wait()
        content = self._messages.popleft()
        if self.way.take(len(content)) and self._is_open:
            self.tell()
        return self._wire.decode(content)

    def close(self) -> None:
        if self._closed:
            return
        if self._is_open:
            self._exchange.put(self, FrameKind.END)
        self._closed = True
        self._exchange.drop(self)
        self._wake()

    @property
    def _is_open(self) -> bool:
        return not self._closed and not self._has_ended and self._broken is None

    def tell(self) -> None:
        """Tell the other end the counts."""
        self.way.tell()
        self._exchange.put(self, FrameKind.TAKEN)

    def arrive(self, frame: Frame) -> None:
        """A frame has come."""
        try:
            if self.way.receive(frame):
                self._messages.append(frame.message)
        except ExchangeBroken as error:
            self._exchange.put(self, FrameKind.END)
            self.break_off(str(error))
            return
        if frame.kind is FrameKind.END:
            self._has_ended = True
            self._exchange.drop(self)
        self._wake()

    def break_off(self, reason: str) -> None:
        """The connection is broken."""
        if self._is_open:
            self._broken = reason
            self._exchange.drop(self)
            self._wake()

    def _wake(self) -> None:
        self._has_news.set()
        self._may_send.set()
