"""What the parts of a crawl tell each other about links on their way.

Parts are numbered from 0. An incarnation is a random number of 64 bits that a part draws each time it is opened. A
sequence number counts the parcels of one sender for one receiver, from 1 in each incarnation of the sender.
"""

from collections.abc import Mapping

import msgspec

from frontier import Place


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag="hello"):
    """A sender begins to send, or begins again."""

    sender: int
    receiver: int
    incarnation: int
    """The incarnation of the sender."""
    trimmed: Place | None = None
    """The last parcel that the sender has deleted because it was safe here; None if there is none yet."""
    agreement: Mapping[str, str] = {}
    """What all parts of a crawl must agree on, by name."""


class Welcome(msgspec.Struct, frozen=True, kw_only=True, tag="welcome"):
    """The receiver's answer to `Hello`."""

    receiver: int
    incarnation: int
    """The incarnation of the receiver."""
    position: int
    """How many parcels of the sender's incarnation were admitted."""
    trimmed_position: int = 0
    """The same for the incarnation that `Hello.trimmed` names."""
    generation: int = 0
    """The receiver's memory generation."""


class Skip(msgspec.Struct, frozen=True, kw_only=True, tag="skip"):
    """The receiver lacks parcels that the sender has deleted: a gap. From now on its position is at least `upto`."""

    upto: Place


class Parcels(msgspec.Struct, frozen=True, kw_only=True, tag="parcels"):
    """Consecutive parcels."""

    incarnation: int
    """The incarnation of the sender."""
    first: int
    """The sequence number of the first parcel."""
    parcels: list[bytes]
    """Encoded by the sender's store. Each holds the links that one page has to the receiver."""

    @property
    def last(self) -> int:
        return self.first + len(self.parcels) - 1


class Confirm(msgspec.Struct, frozen=True, kw_only=True, tag="confirm"):
    """How far a receiver has come."""

    incarnation: int
    """The incarnation of the receiver."""
    sender_incarnation: int
    committed: int
    """All parcels up to this one are admitted."""
    safe: int
    """All parcels up to this one are admitted, and that is synced to the disk."""
    generation: int = 0
    """Grows when the receiver forgets URLs. A sender must then forget which URLs it has sent."""
    again: bool = False
    """Parcels beyond `committed + 1` have arrived and were ignored: the sender is to send from there again."""


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag="refused"):
    """The receiver takes nothing from this sender. The message says what was expected and what was found."""

    message: str
    passes: bool = False
    """Whether that passes by itself, so that the sender may try again."""


class ProtocolBroken(Exception):
    """The other part said what it can't have meant. Nothing of it was stored."""
