"""Sends the outbox of a part to one other part, over one connection after the other."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from crawler.background import until_one_ends
from crawler.parts.agreement import Agreement
from crawler.parts.exchange.protocol import Connection, Exchange, ExchangeBroken, Unreachable
from crawler.parts.messages import Confirm, ProtocolBroken, Refused, Welcome
from crawler.parts.sender import Sender
from frontier import PartLinks, Place

log = logging.getLogger(__name__)

MESSAGE_BYTES: Final = 1 << 17
"""No other parcel joins a message that has this many bytes."""
GATHER_S: Final = 0.05
"""How long parcels gather before they are sent, in a crawl of few parts. Parcels that arrive together are admitted
together, so that a link costs about half as much."""
GATHERING_PARTS: Final = 8
"""In a crawl of more parts, each of them gets less from each other one. So parcels gather for longer, and there are not
ever more messages for as many links."""
MAX_GATHER_S: Final = 1.0
FIRST_RETRY_S: Final = 0.1
LAST_RETRY_S: Final = 1.0
"""How long to wait before connecting again: twice as long each time, up to this."""


def gather_s(parts: int) -> float:
    """How long parcels gather in a crawl of so many parts."""
    return min(MAX_GATHER_S, GATHER_S * max(1.0, parts / GATHERING_PARTS))


class PartsDisagree(Exception):
    """Two parts can't work together. The message says what was expected and what was found."""


class Sending:
    """The way to one receiver. `run` ends only by an error or by cancellation."""

    def __init__(
        self,
        links: PartLinks,
        exchange: Exchange,
        receiver: int,
        *,
        agreement: Agreement,
        on_trimmed: Callable[[], None],
    ) -> None:
        """Calls `on_trimmed` when parcels have left the outbox."""
        self.sender = Sender(
            sender=links.part.number,
            receiver=receiver,
            incarnation=links.incarnation,
            waiting=links.waiting(receiver),
            trimmed=links.trimmed(receiver),
        )
        self._links = links
        self._exchange = exchange
        self._agreement = agreement
        self._on_trimmed = on_trimmed
        self._may_send = asyncio.Event()
        self._gather_s = gather_s(links.part.parts)
        self.lacks_since: float | None = asyncio.get_running_loop().time()
        """Since when there is no connection to the receiver; None while there is one. By the clock of the loop."""
        self.differs = False
        """Whether the receiver works with other settings, and so takes no links for now."""

    def append(self, parcels: int) -> None:
        """Parcels for the receiver are in the outbox."""
        self.sender.append(parcels)
        self._may_send.set()

    async def run(self) -> None:
        wait_s = FIRST_RETRY_S
        while True:
            try:
                connection = await self._exchange.connect(self.sender.receiver)
            except Unreachable as error:
                log.debug("%s", error)
                self.differs = False
            else:
                try:
                    await self._converse(connection)
                except (ExchangeBroken, ProtocolBroken) as error:
                    log.info("the connection to part %d has ended: %s", self.sender.receiver, error)
                finally:
                    connection.close()
                    self.lacks_since = self.lacks_since or asyncio.get_running_loop().time()
                    if self.sender.welcomed_by is not None:
                        wait_s = FIRST_RETRY_S
                    self.sender.disconnect()
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, LAST_RETRY_S)

    async def _converse(self, connection: Connection) -> None:
        """Send and listen until the connection ends."""
        await connection.send(self.sender.hello(self._agreement.values))
        await until_one_ends(self._listen(connection), self._send(connection))

    async def _send(self, connection: Connection) -> None:
        sender = self.sender
        while True:
            self._may_send.clear()
            while (found := sender.next_range()) is not None:
                parcels = self._links.parcels(sender.receiver, *found, max_bytes=MESSAGE_BYTES)
                await connection.send(sender.begin(found[0], parcels))
            await self._may_send.wait()
            await asyncio.sleep(self._gather_s)

    async def _listen(self, connection: Connection) -> None:
        receiver = self.sender.receiver
        while (message := await connection.receive()) is not None:
            match message:
                case Welcome():
                    self.lacks_since = None
                    self.differs = False
                    self._links.forget_sent(receiver)
                    if (skip := self.sender.connect(message)) is not None:
                        log.error(
                            "part %d lacks links that it had confirmed, as after the loss of its disk: what only part "
                            "%d had linked there is lost",
                            receiver,
                            self._links.part.number,
                        )
                        await connection.send(skip)
                case Confirm():
                    await self._take(message)
                case Refused(passes=True):
                    self.differs = True
                    raise ExchangeBroken(message.message)
                case Refused():
                    raise PartsDisagree(message.message)
                case _:
                    raise ProtocolBroken(f"expected an answer of part {receiver}, found {type(message).__name__}")
            self._may_send.set()

    async def _take(self, message: Confirm) -> None:
        receiver = self.sender.receiver
        confirmed = self.sender.confirm(message)
        if confirmed.forgets:
            self._links.forget_sent(receiver)
        if confirmed.trim_to is not None:
            await self._links.trim(receiver, Place(self.sender.incarnation, confirmed.trim_to))
            self._on_trimmed()
