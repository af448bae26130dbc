"""The receiving side of links on their way: which parcels are admitted, and how far each sender may delete its own."""

from collections.abc import Mapping

import msgspec

from crawler.parts.messages import Confirm, Hello, Parcels, Skip, Welcome
from frontier import Place


class Intake(msgspec.Struct, frozen=True, kw_only=True):
    """Parcels to admit. Their URLs and `place` are stored in one step."""

    sender: int
    parcels: list[bytes]
    place: Place
    """The sender's position afterwards."""


Positions = Mapping[tuple[int, int], int]
"""How many parcels were admitted, by sender and its incarnation."""


class Receiver:
    """The positions of all senders. The caller stores them, then calls `commit`.

    Only the parcel that follows a position is admitted. So a position says that all parcels before it are admitted,
    too. A sender's older incarnations are not heard any more once it has said hello under a new one.
    """

    def __init__(self, *, receiver: int, incarnation: int, positions: Positions) -> None:
        """`positions` are those of the store when the part is opened."""
        self.receiver = receiver
        self.incarnation = incarnation
        self.generation = 0
        """Set by the caller: it grows when URLs are forgotten."""
        self._committed = dict(positions)
        self._safe: dict[tuple[int, int], int] = {}
        self._hellos: dict[int, Hello] = {}
        """The last hello of each sender."""

    def incarnation_of(self, sender: int) -> int | None:
        """The incarnation under which a sender has said hello; None if it has not."""
        hello = self._hellos.get(sender)
        return None if hello is None else hello.incarnation

    def position(self, sender: int, incarnation: int) -> int:
        return self._committed.get((sender, incarnation), 0)

    def welcome(self, hello: Hello) -> Welcome:
        """Answer a sender that begins to send, or one that has reported a gap."""
        self._hellos[hello.sender] = hello
        trimmed = hello.trimmed
        return Welcome(
            receiver=self.receiver,
            incarnation=self.incarnation,
            position=self.position(hello.sender, hello.incarnation),
            trimmed_position=0 if trimmed is None else self.position(hello.sender, trimmed.incarnation),
            generation=self.generation,
        )

    def skip(self, sender: int, skip: Skip) -> Place | None:
        """The sender has found a gap. Returns the position to store, together with the gap; None if that is known.
        Afterwards the sender is to be welcomed again."""
        known = self.position(sender, skip.upto.incarnation) >= skip.upto.sequence
        return None if known else skip.upto

    def welcome_again(self, sender: int) -> Welcome | None:
        """The answer to `Skip`; None to a sender that has not said hello."""
        hello = self._hellos.get(sender)
        return None if hello is None else self.welcome(hello)

    def take(self, sender: int, parcels: Parcels) -> Intake | None:
        """What is to be admitted of parcels that have arrived; None if nothing is new or a parcel before them is
        missing. Then `confirm` tells the sender how to go on."""
        position = self.position(sender, parcels.incarnation)
        if parcels.incarnation != self.incarnation_of(sender) or not parcels.first <= position + 1 <= parcels.last:
            return None
        new = parcels.parcels[position + 1 - parcels.first :]
        return Intake(sender=sender, parcels=new, place=Place(parcels.incarnation, parcels.last))

    def commit(self, sender: int, place: Place) -> None:
        """The store has this position now."""
        key = sender, place.incarnation
        self._committed[key] = max(place.sequence, self._committed.get(key, 0))

    def begin_sync(self) -> Positions:
        """What will be safe once the disk has everything that is stored now. Hand it to `end_sync`."""
        return dict(self._committed)

    def end_sync(self, synced: Positions) -> None:
        self._safe = dict(synced)

    def confirm(self, sender: int, *, after: Parcels | None = None) -> Confirm | None:
        """What to tell a sender; `after` are the parcels that have just arrived. None if it has not said hello."""
        incarnation = self.incarnation_of(sender)
        if incarnation is None:
            return None
        committed = self.position(sender, incarnation)
        return Confirm(
            incarnation=self.incarnation,
            sender_incarnation=incarnation,
            committed=committed,
            safe=self._safe.get((sender, incarnation), 0),
            generation=self.generation,
            again=after is not None and after.incarnation == incarnation and after.first > committed + 1,
        )
