"""One end of a connection between an agent and the coordinator."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, Generic, TypeVar

from crawler.background import until_one_ends
from crawler.parts.exchange.redis_connection import RedisConnection

_Incoming = TypeVar("_Incoming")
_Outgoing = TypeVar("_Outgoing")

CALM: Final = 64
"""Messages that may wait. Beyond them, what can be spared is not sent."""


class AgentLine(Generic[_Incoming, _Outgoing]):
    """Sends without waiting, while `run` runs."""

    def __init__(self, connection: RedisConnection[Any]) -> None:
        self._connection = connection
        self._waiting: asyncio.Queue[_Outgoing] = asyncio.Queue()

    @property
    def is_calm(self) -> bool:
        """Whether the other side reads what it is sent."""
        return self._waiting.qsize() < CALM

    def send(self, message: _Outgoing) -> None:
        """Send it after all others. It is lost if the connection breaks."""
        self._waiting.put_nowait(message)

    async def receive(self) -> _Incoming | None:
        """The next message; None if the other side has ended the connection. Raises `ExchangeBroken`."""
        message: _Incoming | None = await self._connection.receive()
        return message

    async def run(self, listen: Coroutine[Any, Any, None]) -> None:
        """Send while `listen` runs, which receives; then close. Raises `ExchangeBroken`."""
        try:
            await until_one_ends(listen, self._send())
        finally:
            self._connection.close()

    async def _send(self) -> None:
        while True:
            await self._connection.send(await self._waiting.get())
