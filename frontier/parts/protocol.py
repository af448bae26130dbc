"""What a frontier promises when it is one part of a crawl.

The parts are numbered from 0. Each has a frontier of its own, and a queue belongs to one of them. `Frontier.add` admits
URLs of the part's own queues. The others go to the *outbox* in the same transition, as *parcels*: one for each part
that they belong to. Whoever carries parcels to the other parts uses `PartLinks`.

An *incarnation* is a random number of 64 bits, drawn each time a frontier is opened. Within it, the parcels for one
receiver have sequence numbers from 1, including those that an earlier incarnation has left in the outbox.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

INCARNATION_BITS = 64
MAX_PARTS = 1024
MAX_LINEAGE = (1 << 23) - 1
"""Numbers of URLs stay below 2**63, which databases and columns of tables can hold."""
NUMBER_BITS = 40
"""The number of a URL is the lineage of its part (23 bits, 0 for a crawl that is not in parts) above a counter."""
MAX_PARCEL_URLS = 512


def lineage_of(number: int) -> int:
    """The lineage of the part that has given a URL this number."""
    return number >> NUMBER_BITS


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of its crawl a state belongs to."""

    number: int
    parts: int
    """How many parts the crawl has."""
    lineage: int = 0
    """Stands above the counter in the numbers of URLs, so that they are unique in all parts. No two directories of a
    crawl have the same, not even one after the other."""

    def __post_init__(self) -> None:
        if not (0 <= self.number < self.parts <= MAX_PARTS and 0 <= self.lineage <= MAX_LINEAGE):
            raise ValueError(
                f"a part has a number below that of the parts, at most {MAX_PARTS} parts, and a lineage of up to "
                f"{MAX_LINEAGE}; found {self}"
            )

    def __str__(self) -> str:
        return f"part {self.number} of {self.parts} (lineage {self.lineage})"


class Place(msgspec.Struct, frozen=True, gc=False):
    """A place in the sequence of one incarnation of a sender: all parcels up to `sequence`."""

    incarnation: int
    sequence: int


class Misrouted(ValueError):
    """URLs came to a part that they do not belong to. Nothing of them was stored."""


class Allowance(msgspec.Struct, frozen=True, array_like=True):
    """How many pages a part may have, and by which instruction. `crawler.parts.allowances` says what the numbers
    mean."""

    epoch: int = 0
    number: int = 0
    allowed: int | None = None
    """Pages that may be settled, those of all runs; None for no limit."""
    total: int = 0
    """Pages that all parts together may settle; 0 if that is not known."""


class PartPages(Protocol):
    """The pages of a part, as far as the limit of its crawl is concerned."""

    @property
    def settled(self) -> int:
        """How often a URL was settled as a page, in all runs."""
        ...

    @property
    def allowance(self) -> Allowance: ...

    async def set_allowance(self, allowance: Allowance, /) -> None:
        """Store it, and wait until it is on the disk, whatever the durability of the store. Allows nothing by itself:
        whoever takes leases keeps to it."""
        ...


class GroupGate(Protocol):
    """Where the queues of a group wait until other parts of the crawl let them go on."""

    def now(self) -> float:
        """The time of the frontier, in seconds since 1970."""
        ...

    def open_group(self, group: str, /) -> None:
        """A request of the group may have become possible."""
        ...


class Reservations(Protocol):
    """Knows which groups of queues other parts of the crawl have requests for, too. A group is named by its kind and
    its name, as `ip 192.0.2.1`. `now` is the time of the frontier."""

    def watch(self, gate: GroupGate, /) -> None:
        """Begin to open this gate."""
        ...

    def covers(self, group: str, /) -> bool:
        """Whether requests of the group are to be reserved."""
        ...

    def begin(self, group: str, /, *, now: float) -> bool:
        """Begin a request of the group, if it is possible now. If it is not, the gate will be opened, or `wake_at`
        says when."""
        ...

    def begin_unasked(self, group: str, /) -> None:
        """A request of the group has begun although nobody was asked, because its server had another address than
        expected."""
        ...

    def wake_at(self, group: str, /) -> float | None:
        """When a request becomes possible; None if the gate will be opened."""
        ...

    def end(self, group: str, rest_s: float, /, *, now: float) -> None:
        """A request has ended, and the group is to rest."""
        ...

    def leave(self, group: str, /, *, now: float) -> None:
        """The part has no URL of the group any more, or rests longer than the group."""
        ...


class PartLinks(Protocol):
    """Links on their way between the parts of a crawl, as one part sees them.

    What changes something is a transition, as in `Frontier`. Parcels are bytes that any part can read.
    """

    @property
    def part(self) -> Part: ...

    @property
    def incarnation(self) -> int: ...

    @property
    def generation(self) -> int:
        """Grows when URLs are forgotten. Senders must then forget that they have sent them."""
        ...

    @property
    def transitions(self) -> int:
        """How many changes the store has seen."""
        ...

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits, nothing is leased, and nothing pauses the part."""
        ...

    @property
    def has_counts(self) -> bool:
        """Whether there are counts of links that `send_counts` would send."""
        ...

    def owns(self, queue_key: str, /) -> bool:
        """Whether a queue belongs to this part."""
        ...

    @property
    def pages(self) -> PartPages: ...

    def reserve(self, reservations: Reservations, /) -> None:
        """From now on, begin requests of shared groups only as these allow. Call it before the first lease."""
        ...

    # out

    def waiting(self, receiver: int, /) -> int:
        """How many parcels for a part are in the outbox."""
        ...

    def trimmed(self, receiver: int, /) -> Place | None:
        """The last parcel for a part that was deleted from the outbox; None if there is none."""
        ...

    def watch(self, on_parcels: Callable[[int, int], None], on_forgotten: Callable[[], None], /) -> None:
        """Call `on_parcels` after each transition that has put parcels into the outbox, with the receiver and how many;
        and `on_forgotten` after the generation has grown."""
        ...

    def parcels(self, receiver: int, first: int, last: int, /, *, max_bytes: int | None = None) -> list[bytes]:
        """The parcels for a part from one sequence number to another, or the first of them: no other follows once
        `max_bytes` have been read. Raises `StoreFailed` if one is not there."""
        ...

    async def trim(self, receiver: int, place: Place, /) -> None:
        """Delete parcels for a part: it has them, and they are safe there. While parcels are held, they are deleted
        afterwards."""
        ...

    @property
    def holds_parcels(self) -> bool:
        """Whether parcels are held."""
        ...

    async def hold_parcels(self, seconds: float, /) -> None:
        """Delete no parcels for so long, or go on if that is 0. For copies of all parts: a parcel that is deleted after
        its receiver was copied, and before its sender is, would be in neither copy. An opening ends it."""
        ...

    def forget_sent(self, receiver: int, /) -> None:
        """A part may lack URLs that were sent to it. If a page links to them, send them again."""
        ...

    async def send_counts(self) -> None:
        """Put the counts of links that were not sent, because their URLs had been, into the outbox."""
        ...

    # in

    def positions(self) -> Mapping[tuple[int, int], int]:
        """How many parcels were admitted, by sender and its incarnation."""
        ...

    async def admit(self, sender: int, place: Place, parcels: Sequence[bytes], /) -> int:
        """Admit parcels of a part, the last of which is at `place`, and store that, in one transition. Returns how many
        of their URLs were new. Raises `Misrouted`, and `ValueError` for a parcel that can't be read."""
        ...

    async def skip(self, sender: int, place: Place, /) -> None:
        """Parcels up to this place are lost: store the place, and count the gap. A crawl with a gap is not complete."""
        ...

    async def make_safe(self) -> None:
        """Wait until all earlier transitions are on the disk, whatever the durability of the store."""
        ...


@runtime_checkable
class InParts(Protocol):
    """A frontier that may be one part of a crawl."""

    @property
    def part_links(self) -> PartLinks | None:
        """Links to and from the other parts; None if the crawl is not in parts."""
        ...


def part_links_of(frontier: object) -> PartLinks | None:
    """The links of a frontier to and from other parts; None if it is no part, or can't be one."""
    return frontier.part_links if isinstance(frontier, InParts) else None
