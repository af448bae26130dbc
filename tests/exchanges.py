"""An exchange without sockets: queues in one process."""

import asyncio
from collections.abc import MutableMapping
from contextlib import suppress

from crawler.parts.exchange.protocol import ExchangeBroken, Message, Unreachable

MOST_UNDER_WAY = 4


class _Way:
    """Messages in one direction."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[Message | None] = asyncio.Queue(MOST_UNDER_WAY)
        self.has_ended = asyncio.Event()


class MemoryConnection:
    def __init__(self, out: _Way, back: _Way) -> None:
        self._out = out
        self._back = back
        self._closed = False

    async def send(self, message: Message, /) -> None:
        putting = asyncio.ensure_future(self._out.messages.put(message))
        ended = asyncio.ensure_future(self._out.has_ended.wait())
        try:
            await asyncio.wait({putting, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (putting, ended):
                task.cancel()
            await asyncio.wait({putting, ended})
        if self._closed or self._out.has_ended.is_set():
            raise ExchangeBroken("the connection is closed")

    async def receive(self) -> Message | None:
        if self._closed:
            raise ExchangeBroken("the connection is closed")
        message = await self._back.messages.get()
        if message is None:
            self._back.messages.put_nowait(None)
            if self._closed:
                raise ExchangeBroken("the connection is closed")
        return message

    def close(self) -> None:
        self._closed = True
        for way in (self._out, self._back):
            way.has_ended.set()
            with suppress(asyncio.QueueEmpty):
                while way.messages.full() or way is self._back:
                    way.messages.get_nowait()
            way.messages.put_nowait(None)


class MemoryExchange:
    """Part `number` of those in `parts`, where all exchanges of a crawl are."""

    def __init__(self, number: int, parts: MutableMapping[int, "MemoryExchange"]) -> None:
        self._number = number
        self._parts = parts
        self._accepted: asyncio.Queue[MemoryConnection | None] = asyncio.Queue()
        self._connections: list[MemoryConnection] = []
        parts[number] = self

    async def connect(self, part: int, /) -> MemoryConnection:
        other = self._parts.get(part)
        if other is None:
            raise Unreachable(f"part {part} does not listen")
        there, back = _Way(), _Way()
        mine, theirs = MemoryConnection(there, back), MemoryConnection(back, there)
        other._connections.append(theirs)
        self._connections.append(mine)
        other._accepted.put_nowait(theirs)
        return mine

    async def accept(self) -> MemoryConnection | None:
        return None if self._parts.get(self._number) is not self else await self._accepted.get()

    @property
    def trouble(self) -> str | None:
        return None

    async def aclose(self) -> None:
        if self._parts.get(self._number) is self:
            del self._parts[self._number]
            while not self._accepted.empty():
                self._accepted.get_nowait()
            self._accepted.put_nowait(None)
        for connection in self._connections:
            connection.close()
