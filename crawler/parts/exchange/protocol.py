"""What an exchange between the parts of a crawl promises."""

from typing import Protocol

from crawler.parts.messages import Confirm, Hello, Parcels, Refused, Skip, Welcome

Message = Hello | Welcome | Skip | Parcels | Confirm | Refused


class ExchangeBroken(Exception):
    """The connection has broken. Nobody knows which of the last messages have arrived."""


class Unreachable(ExchangeBroken):
    """No part answers there now. It may later."""


class Connection(Protocol):
    """Messages between two parts. They arrive whole, once, and in order, up to some message; no later one arrives then.

    Several tasks may send; one receives. A cancelled `receive` takes no message. What a cancelled `send` was given may
    arrive or not.
    """

    async def send(self, message: Message, /) -> None:
        """Send a message. Waits while the other side does not read; only some messages are ever under way. Raises
        `ExchangeBroken`."""
        ...

    async def receive(self) -> Message | None:
        """The next message; None if the other side has ended the connection. Raises `ExchangeBroken`, also for bytes
        that are no message."""
        ...

    def close(self) -> None:
        """End the connection. What was sent and not yet read may be lost. Closing twice is harmless."""
        ...


class Exchange(Protocol):
    """The connections of one part. It can be reached from when it was made until it is closed."""

    async def connect(self, part: int, /) -> Connection:
        """Connect to a part. Raises `Unreachable`."""
        ...

    async def accept(self) -> Connection | None:
        """The next connection that another part has made, in the order of their making; None once the exchange is
        closed."""
        ...

    @property
    def trouble(self) -> str | None:
        """Why nothing is carried now, for people; None while the exchange works."""
        ...

    async def aclose(self) -> None:
        """Accept no more, and end all connections. Closing twice is harmless."""
        ...
