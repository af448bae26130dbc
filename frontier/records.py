"""What a store keeps, and the updates it is given."""

from collections.abc import Sequence

import msgspec

from frontier.parts.protocol import NUMBER_BITS, Allowance, Place, lineage_of
from frontier.queues.queue import Position, QueueRecord
from frontier.values import CrawlUrl

ORDINAL_BITS = 56
ORDINAL_MASK = (1 << ORDINAL_BITS) - 1
"""An order is a precedence (8 bits) above an ordinal: one number that sorts as the URLs of a queue are fetched."""


def order_of(precedence: int, ordinal: int) -> int:
    """The order of a URL in its queue: lower precedence first, then first come, first served."""
    return precedence << ORDINAL_BITS | ordinal


def precedence_of(order: int) -> int:
    return order >> ORDINAL_BITS


def first_number(lineage: int) -> int:
    """The first number that a part gives."""
    return lineage << NUMBER_BITS | 1


def number_after(next_number: int, used: int) -> int:
    """The next number to be given, after one was found in use. Numbers of other lineages do not matter."""
    return max(next_number, used + 1) if lineage_of(used) == lineage_of(next_number) else next_number


class PendingUrl(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A URL that waits in its queue."""

    url: CrawlUrl
    number: int
    order: int
    found_at: int
    """Seconds since 1970."""


class PostponedUrl(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A URL that waits for another attempt."""

    pending: PendingUrl
    """With its old order. It gets a new one when it comes due."""
    due_ms: int
    """Milliseconds since 1970."""
    reason: str | None = None
    """Why it was not fetched."""


class Parcel(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """URLs of another part of the crawl, in the outbox."""

    receiver: int
    index: int
    """Counts the parcels for this receiver. The next one to be read follows the last one that was deleted."""
    content: bytes
    """As `frontier.parts.parcels` encodes it."""


class InboxPosition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How many parcels of a sender were admitted."""

    sender: int
    place: Place


class Trimmed(msgspec.Struct, frozen=True, gc=False):
    """Up to where the outbox for one receiver has been deleted."""

    index: int = 0
    place: Place | None = None
    """The same in the sequence that the receiver knows; None if nothing was deleted."""


class Incarnation(msgspec.Struct, frozen=True, array_like=True):
    """The last opening of a part, for checks."""

    number: int
    bases: dict[int, int] = {}
    """By receiver, the index of the parcel before the one that has sequence number 1."""


class Transit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a transition writes about links on their way between parts."""

    parcels: Sequence[Parcel] = ()
    position: InboxPosition | None = None


NO_TRANSIT = Transit()


class QueueUpdate(msgspec.Struct, frozen=True, gc=False):
    """A change of a queue, as a transition writes it."""

    record: QueueRecord
    """The queue after the change."""
    old_position: Position | None
    """Its position before. If the record has another, the store removes this one and writes the new one."""
    group_rests: tuple[tuple[str, float], ...] = ()
    """The groups of the queue that rest from now on: their names, and until when, in seconds since 1970."""
    is_new: bool = False
    """Whether nothing is stored of the queue. Then it has a position, but neither an old one, a history nor a budget.
    """

    @property
    def new_position(self) -> Position | None:
        """The position to be written; None if it is the old one or there is none."""
        return None if self.record.position == self.old_position else self.record.position


class Counters(msgspec.Struct, kw_only=True, array_like=True, gc=False):
    """Counts that need no scan. Every transition writes them, so after a crash they agree with the rest."""

    next_number: int = 1
    next_ordinal: int = 1
    next_turn: int = 1
    pending: int = 0
    """URLs in queues that are not retired."""
    queues: int = 0
    """Queues that have URLs and are not retired."""
    retired_urls: int = 0
    retired_queues: int = 0
    """Queues that have URLs and are retired."""
    admitted: int = 0
    retrying: int = 0
    done: int = 0
    failed: int = 0
    excluded: int = 0
    quarantined: int = 0
    journal_end: int = 0
    """The sequence number of the newest journal entry."""
    clock: float = 0.0
    """The time of the last transition by the frontier's clock, in seconds since 1970. It never runs backwards."""
    troubled_queues: int = 0
    """Queues that have URLs, are not retired, and whose server failed the last time it was asked."""
    batches: int = 0
    """The number of the newest batch that changed any of this, for stores on disk."""
    lost: int = 0
    """Admitted URLs that damage has destroyed without a trace."""
    generation: int = 0
    """How often URLs were forgotten, or merged into others by new rules."""
    gaps: int = 0
    """How often links from another part were lost on their way."""
    pages: int = 0
    """How often a URL was settled as a page."""
    allowance: Allowance = Allowance()
    """For a part of a crawl: how many pages it may have."""
    earlier: dict[int, int] = {}
    """The numbers that would have come next in lineages from before the crawl was restored or divided. Never changed in
    place."""
    ahead_s: float = 0.0
    """How far `clock` was ahead of the system's, because that had been set back."""
    fetched_at: float = 0.0
    """The latest time at which a settled URL was fetched, in seconds since 1970 by the system's clock of that day; 0 in
    stores of earlier versions. It never runs backwards."""

    def ahead_of(self, now: float) -> float:
        """How far the frontier's clock has to be ahead of one that says `now`, so that it never runs backwards, and
        goes on while the crawl does not run."""
        return 0.0 if now >= self.clock else max(self.ahead_s, self.clock - now)

    def has_given(self, number: int) -> bool:
        """Whether the store, or one from which it was made, has given a URL this number."""
        lineage = lineage_of(number)
        is_own = lineage == lineage_of(self.next_number)
        return number < (self.next_number if is_own else self.earlier.get(lineage, 0))

    def note_number(self, number: int) -> None:
        """A number was found in use. None up to it is given from now on. 0 stands for none."""
        self.next_number = number_after(self.next_number, number)
        if number and not self.has_given(number):
            self.earlier = {**self.earlier, lineage_of(number): number + 1}

    def note_fetch(self, at: float | None) -> None:
        """A URL is settled that was fetched then."""
        if at is not None and at > self.fetched_at:
            self.fetched_at = at

    def all_earlier(self) -> dict[int, int]:
        """The lineages from before, with this one, if it has given a number."""
        lineage = lineage_of(self.next_number)
        is_used = self.next_number > first_number(lineage)
        return {**self.earlier, lineage: self.next_number} if is_used else self.earlier

    @property
    def imbalance(self) -> str | None:
        """The first inconsistency; None if the counts add up."""
        for name in COUNTS:
            if (count := getattr(self, name)) < 0:
                return f"{name.replace('_', ' ')} is {count}"
        waiting = self.pending + self.retired_urls + self.retrying
        settled = self.done + self.failed + self.excluded
        if abs(self.admitted - waiting - settled) > self.quarantined:
            return f"of {self.admitted} URLs, {settled} are settled and {waiting} wait"
        return None


COUNTS = (
    "pending",
    "queues",
    "retired_urls",
    "retired_queues",
    "admitted",
    "retrying",
    "done",
    "failed",
    "excluded",
    "troubled_queues",
)
"""The counts that can be computed from the other records of a store."""


class JournalEntry(msgspec.Struct, frozen=True, array_like=True):
    """The canonical URLs that one transition admitted, and then those it forgot."""

    admitted: list[str]
    forgotten: list[str]


class JournalDamaged(Exception):
    """The journal is incomplete since the last snapshot."""


class JournalDropped(JournalDamaged):
    """There is no snapshot and no journal. The ledger is complete."""
