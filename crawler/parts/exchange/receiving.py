"""Admits the parcels of other parts."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from crawler.background import in_background
from crawler.parts.agreement import Agreement
from crawler.parts.exchange.protocol import Connection, ExchangeBroken
from crawler.parts.messages import Hello, Parcels, ProtocolBroken, Refused, Skip
from crawler.parts.receiver import Receiver
from frontier import Misrouted, PartLinks, Place

log = logging.getLogger(__name__)

ADMITTED_BYTES: Final = 1 << 16
"""No other parcel is admitted together with others that have this many bytes: some 500 URLs."""


class _Incoming:
    """A connection on which a sender has said hello."""

    def __init__(self, sender: int, order: int, connection: Connection) -> None:
        self.sender = sender
        self.order = order
        """Counts the connections of all senders, as they were made."""
        self.connection = connection
        self.must_confirm = asyncio.Event()
        """Set when the sender does not know how far this part has come."""
        self.again = False
        """Whether parcels were missing before those that have come."""


class Receiving:
    """All connections on which other parts send."""

    def __init__(self, links: PartLinks, *, agreement: Agreement, on_new: Callable[[int], object]) -> None:
        """`on_new` hears how many URLs of other parts were new."""
        self._receiver = Receiver(
            receiver=links.part.number, incarnation=links.incarnation, positions=links.positions()
        )
        self._links = links
        self._agreement = agreement
        self._on_new = on_new
        self._newest: dict[int, _Incoming] = {}
        """The newest connection of each sender."""
        self._accepted = 0
        self._turn = asyncio.Lock()
        """Lets one batch of all senders wait for admission, so that the links of pages need not wait for more."""
        self.must_sync = asyncio.Event()
        """Set when something may be stored and not yet synced; at first, for what an earlier process has stored."""
        self.must_sync.set()

    async def serve(self, connection: Connection) -> None:
        """Serve a connection until it ends. Call it in the order in which the connections were made."""
        self._accepted += 1
        order = self._accepted
        try:
            hello = await connection.receive()
            if hello is None:
                return
            if not isinstance(hello, Hello):
                raise ProtocolBroken(f"expected hello, found {type(hello).__name__}")
            if (refusal := self._refusal(hello)) is not None:
                await self._refuse(connection, refusal)
                return
            await self._serve(hello, _Incoming(hello.sender, order, connection))
        except (ExchangeBroken, ProtocolBroken) as error:
            log.info("a connection from another part was ended: %s", error)
        finally:
            connection.close()

    def _refusal(self, hello: Hello) -> Refused | None:
        """Why a sender is refused; None if it is not."""
        part = self._links.part
        if hello.receiver != part.number or not 0 <= hello.sender < part.parts or hello.sender == part.number:
            return Refused(message=f"part {hello.sender} has called part {hello.receiver}, and reached {part}")
        if (differs := self._agreement.difference(hello.agreement)) is not None:
            return Refused(
                message=f"all parts of a crawl must agree on {differs.name}: part {part.number} has {differs.own!r}, "
                f"and part {hello.sender} has {differs.found!r}; stop all parts, and start them with one configuration",
                passes=differs.passes,
            )
        return None

    async def _refuse(self, connection: Connection, refusal: Refused) -> None:
        level = logging.INFO if refusal.passes else logging.ERROR
        log.log(level, "another part was refused: %s", refusal.message)
        await connection.send(refusal)
        # The sender ends the connection when it has read that.
        while await connection.receive() is not None:
            pass

    async def _serve(self, hello: Hello, incoming: _Incoming) -> None:
        older = self._newest.get(incoming.sender)
        if older is not None:
            if older.order > incoming.order:
                return
            # Its sender may have died. What is left in it must not be taken for the words of the next incarnation.
            older.connection.close()
        self._newest[incoming.sender] = incoming
        self._receiver.generation = self._links.generation
        await incoming.connection.send(self._receiver.welcome(hello))
        incoming.must_confirm.set()
        async with in_background(self._confirm(incoming)):
            try:
                await self._listen(incoming)
            except (Misrouted, ValueError) as error:
                await self._refuse(incoming.connection, Refused(message=str(error)))
            finally:
                if self._newest.get(incoming.sender) is incoming:
                    del self._newest[incoming.sender]

    async def _listen(self, incoming: _Incoming) -> None:
        sender = incoming.sender
        while (message := await incoming.connection.receive()) is not None:
            if self._newest.get(sender) is not incoming:
                return
            match message:
                case Parcels():
                    await self._admit(sender, message)
                    confirm = self._receiver.confirm(sender, after=message)
                    incoming.again |= confirm is not None and confirm.again
                    incoming.must_confirm.set()
                case Skip():
                    await self._skip(sender, message)
                    if (welcome := self._receiver.welcome_again(sender)) is not None:
                        await incoming.connection.send(welcome)
                case _:
                    raise ProtocolBroken(f"expected parcels of part {sender}, found {type(message).__name__}")

    async def _admit(self, sender: int, parcels: Parcels) -> None:
        """What is new of these parcels is found in the turn that admits it: after a connection has broken, its last
        parcels may still wait for their turn when the next connection brings them again."""
        while True:
            async with self._turn:
                intake = self._receiver.take(sender, parcels)
                if intake is None:
                    return
                batch = _first_batch(intake.parcels)
                left = len(intake.parcels) - len(batch)
                place = Place(intake.place.incarnation, intake.place.sequence - left)
                new = await self._links.admit(sender, place, batch)
                self._commit(sender, place)
            self._on_new(new)

    async def _skip(self, sender: int, skip: Skip) -> None:
        async with self._turn:
            if (place := self._receiver.skip(sender, skip)) is not None:
                log.error("links of part %d were lost on their way, as after the loss of a disk", sender)
                await self._links.skip(sender, place)
                self._commit(sender, place)

    def _commit(self, sender: int, place: Place) -> None:
        self._receiver.commit(sender, place)
        self.must_sync.set()

    async def _confirm(self, incoming: _Incoming) -> None:
        """Confirm whenever there is news. A sender that does not read waits alone."""
        while True:
            await incoming.must_confirm.wait()
            incoming.must_confirm.clear()
            self._receiver.generation = self._links.generation
            confirm = self._receiver.confirm(incoming.sender)
            if confirm is not None and self._newest.get(incoming.sender) is incoming:
                again, incoming.again = incoming.again, False
                try:
                    await incoming.connection.send(msgspec.structs.replace(confirm, again=again))
                except ExchangeBroken:
                    return  # the task that listens finds out, too

    def confirm_all(self) -> None:
        """There is news for all senders."""
        for incoming in self._newest.values():
            incoming.must_confirm.set()

    async def make_safe(self) -> None:
        """Sync what was admitted, and confirm it to the senders."""
        self.must_sync.clear()
        positions = self._receiver.begin_sync()
        await self._links.make_safe()
        self._receiver.end_sync(positions)
        self.confirm_all()


def _first_batch(parcels: Sequence[bytes]) -> Sequence[bytes]:
    """The parcels that are admitted together, and before the others."""
    size = 0
    for number, parcel in enumerate(parcels):
        size += len(parcel)
        if number and size > ADMITTED_BYTES:
            return parcels[:number]
    return parcels
