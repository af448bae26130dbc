"""The sending side of links on their way: what to send to one receiver, and what to delete from the outbox."""

from collections.abc import Mapping

import msgspec

from crawler.parts.messages import Confirm, Hello, Parcels, ProtocolBroken, Skip, Welcome
from frontier import Place

WINDOW = 256
"""Parcels in transit to one receiver: those that were sent and are not committed there."""


class Sender:
    """The outbox of one part for one receiver, without its content.

    The parcels of the outbox have the sequence numbers `safe + 1` to `end`. The caller stores them, calls
    `append` when there are more, and deletes what is safe.
    """

    def __init__(
        self,
        *,
        sender: int,
        receiver: int,
        incarnation: int,
        waiting: int,
        trimmed: Place | None,
        window: int = WINDOW,
    ) -> None:
        """At the opening of a part, `waiting` parcels are in its outbox. `trimmed` is the last one that was deleted."""
        self.receiver = receiver
        self.incarnation = incarnation
        self.end = waiting
        """The last parcel of the outbox."""
        self.sent = 0
        """The last parcel that was sent over the current connection, or had arrived before."""
        self.committed = 0
        self.safe = 0
        self.trimmed = trimmed
        """The last parcel that was deleted."""
        self.welcomed_by: int | None = None
        """The incarnation of the receiver that has answered `hello`."""
        self.generation = 0
        """The receiver's memory generation."""
        self._sender = sender
        self._window = window

    @property
    def waiting(self) -> int:
        """Parcels in the outbox."""
        return self.end - self.safe

    def append(self, parcels: int = 1) -> None:
        """Parcels were stored in the outbox."""
        self.end += parcels

    def hello(self, agreement: Mapping[str, str] | None = None) -> Hello:
        """Begin a connection. Nothing is in transit then."""
        self.welcomed_by = None
        return Hello(
            sender=self._sender,
            receiver=self.receiver,
            incarnation=self.incarnation,
            trimmed=self.trimmed,
            agreement=agreement or {},
        )

    def connect(self, welcome: Welcome) -> Skip | None:
        """The receiver has answered. Returns what to tell it first if it lacks parcels that were deleted here: a gap.
        Nothing is sent before it has answered that with another welcome.

        The caller must forget which URLs it has sent: the receiver may have lost some of them."""
        self._check(welcome)
        trimmed = self.trimmed
        if trimmed is not None:
            is_current = trimmed.incarnation == self.incarnation
            if (welcome.position if is_current else welcome.trimmed_position) < trimmed.sequence:
                return Skip(upto=trimmed)
        self.welcomed_by = welcome.incarnation
        self.generation = welcome.generation
        self.sent = self.committed = welcome.position
        return None

    def _check(self, welcome: Welcome) -> None:
        if welcome.receiver != self.receiver:
            raise ProtocolBroken(f"expected the welcome of part {self.receiver}, found that of part {welcome.receiver}")
        if welcome.position > self.end:
            raise ProtocolBroken(
                f"part {self.receiver} has admitted {welcome.position} parcels of part {self._sender}, "
                f"which has sent {self.end}"
            )

    def disconnect(self) -> None:
        """The connection has ended. What was in transit may not have arrived."""
        self.welcomed_by = None
        self.sent = self.committed

    def next_range(self) -> tuple[int, int] | None:
        """The first and the last parcel that may be sent now; None if there is none. The caller calls `begin` with what
        it really sends."""
        last = min(self.end, self.committed + self._window)
        return None if self.welcomed_by is None or last <= self.sent else (self.sent + 1, last)

    def begin(self, first: int, parcels: list[bytes]) -> Parcels:
        """Send parcels."""
        if self.welcomed_by is None or first != self.sent + 1 or self.sent + len(parcels) > self.end:
            raise ValueError(f"expected parcels {self.sent + 1} to {self.end}, got {len(parcels)} from {first}")
        self.sent += len(parcels)
        return Parcels(incarnation=self.incarnation, first=first, parcels=parcels)

    def confirm(self, confirm: Confirm) -> "Confirmed":
        """The receiver has confirmed how far it has come. A confirmation that was meant for another incarnation, or was
        overtaken by a later one, changes nothing."""
        if confirm.incarnation != self.welcomed_by or confirm.sender_incarnation != self.incarnation:
            return Confirmed()
        if not confirm.safe <= confirm.committed <= self.end:
            raise ProtocolBroken(
                f"part {self.receiver} confirms {confirm.committed} parcels, {confirm.safe} of them safe, of part "
                f"{self._sender}, which has sent {self.end}"
            )
        self.committed = max(self.committed, confirm.committed)
        self.sent = max(self.sent, self.committed)
        if confirm.again:
            self.sent = self.committed
        forgets = confirm.generation > self.generation
        self.generation = max(self.generation, confirm.generation)
        trim_to = None
        if confirm.safe > self.safe:
            self.safe = trim_to = confirm.safe
            self.trimmed = Place(self.incarnation, confirm.safe)
        return Confirmed(trim_to=trim_to, forgets=forgets)


class Confirmed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a sender has to do after a confirmation."""

    trim_to: int | None = None
    """Delete the parcels up to this one, and store `Sender.trimmed`, in one step."""
    forgets: bool = False
    """Forget which URLs were sent to this receiver."""
