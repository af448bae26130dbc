"""What a frontier asks of the place where its URLs are kept.

Each transition method is atomic: after a crash, all of it is there or none. A store decides nothing: which queue is
next, when it may be asked again and what a failure means is settled before it is called. It numbers the journal itself.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from frontier.queues.lifecycle import Health, QueueState, Standing
from frontier.values import CrawlUrl, LedgerEntry

ORDINAL_BITS = 56
"""An order is a precedence (8 bits) above an ordinal: one number that sorts as the URLs of a queue are fetched."""


def order_of(precedence: int, ordinal: int) -> int:
    """The place of a URL in its queue: lower precedence first, then first come, first served."""
    return precedence << ORDINAL_BITS | ordinal


def precedence_of(order: int) -> int:
    return order >> ORDINAL_BITS


class Waiting(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A pending URL, and where it stands."""

    url: CrawlUrl
    number: int
    order: int
    found_at: int
    """Seconds since 1970."""


class Postponed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A URL that waits for another attempt."""

    waiting: Waiting
    """With the order it had; it gets another when it comes due."""
    due_ms: int
    """Milliseconds since 1970."""
    reason: str | None = None
    """Why it was not fetched."""


class QueueRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What outlives a restart of a queue."""

    key: str
    size: int
    wake_at: float
    health: Health = Health()
    precedence: int = 128
    spent: int = 0
    budget: int | None = None
    """Of its own; None for that of all."""
    retired: bool = False
    """By an operator."""
    head: int = -1
    """None of its URLs has an order up to this."""
    stands: Standing | None = None
    """Where it waits, or came from if it is active; None if it has no URL or is retired."""
    moved: bool = False
    """Whether `stands` is new: a store puts it there. Not kept."""
    left: Standing | None = None
    """Where it stood before it moved: a store removes it from there. Not kept."""
    pace_s: float = 0.0
    """How long it rested after its server's last good answer."""
    address: str | None = None
    """Where its server was found last."""
    group_rests: tuple[tuple[str, float], ...] = ()
    """Until when its groups rest: their names, and seconds since 1970. Kept apart from it, for each group."""


class Counters(msgspec.Struct, kw_only=True, array_like=True, gc=False):
    """Counts that need no scan; written with every transition, so they agree with it after a crash."""

    next_number: int = 1
    next_ordinal: int = 1
    next_turn: int = 1
    pending: int = 0
    """URLs in queues that are not retired."""
    queues: int = 0
    """Queues with URLs that are not retired."""
    retired_urls: int = 0
    retired_queues: int = 0
    """Queues with URLs that are retired."""
    admitted: int = 0
    retrying: int = 0
    done: int = 0
    failed: int = 0
    excluded: int = 0
    quarantined: int = 0
    journal_end: int = 0
    """Sequence number of the newest journal entry."""
    clock: float = 0.0
    """When that was, by the frontier's clock: seconds since 1970, never running backwards."""
    troubled_queues: int = 0
    """Queues with URLs that are not retired, and whose server failed when it was asked last."""
    batches: int = 0
    """Number of the newest batch that changed any of this, for stores on disk."""
    lost: int = 0
    """URLs that were admitted, and of which damage has left nothing."""

    @property
    def imbalance(self) -> str | None:
        """What does not add up; None if all does."""
        for name in COUNTS:
            if (count := getattr(self, name)) < 0:
                return f"{name.replace('_', ' ')} is {count}"
        waiting = self.pending + self.retired_urls + self.retrying
        settled = self.done + self.failed + self.excluded
        if abs(self.admitted - waiting - settled) > self.quarantined:
            return f"of {self.admitted} URLs {settled} are settled and {waiting} wait"
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
"""The counts of a store that follow from what else stands in it, `quarantined` and `lost` aside."""


class Damaged(msgspec.Struct, frozen=True):
    """A record that can't be decoded."""

    key: bytes
    message: str


class JournalEntry(msgspec.Struct, frozen=True, array_like=True):
    """Canonical URLs admitted and forgotten by one transition, in that order."""

    admitted: list[str]
    forgotten: list[str]


class JournalDamaged(Exception):
    """The journal does not tell all that happened since the snapshot."""


class JournalDropped(JournalDamaged):
    """There is neither a snapshot nor a journal. The ledger tells all."""


class Store(Protocol):
    """Keeps pending URLs, postponed ones, the ledger, queue records and the journal."""

    @property
    def counters(self) -> Counters:
        """As last written. The caller hands a changed copy to the transition that makes it true."""
        ...

    # transitions

    def admit(
        self,
        admitted: Sequence[Waiting],
        superseded: Sequence[Waiting],
        queues: Sequence[QueueRecord],
        counters: Counters,
        /,
    ) -> None:
        """Write the URLs as pending, and into ledger and journal. Those they supersede leave their queues."""
        ...

    def settle(self, waiting: Waiting, entry: LedgerEntry, queue: QueueRecord, counters: Counters, /) -> None:
        """Remove the URL from its queue and write its ledger entry."""
        ...

    def postpone(self, waiting: Waiting, postponed: Postponed, queue: QueueRecord, counters: Counters, /) -> None:
        """Move a URL from its queue to the postponed ones."""
        ...

    def keep(self, waiting: Waiting, queue: QueueRecord, counters: Counters, /) -> None:
        """Write a pending URL anew, where it stands."""
        ...

    def requeue(self, postponed: Sequence[Postponed], queues: Sequence[QueueRecord], counters: Counters, /) -> None:
        """Move postponed URLs back into their queues."""
        ...

    def forget(self, canonicals: Sequence[str], counters: Counters, /) -> None:
        """Remove ledger entries, and journal that."""
        ...

    def record(self, entries: Sequence[LedgerEntry], counters: Counters, /) -> None:
        """Write ledger entries of settled URLs that were never admitted, and journal that."""
        ...

    def rest(self, queues: Sequence[QueueRecord], counters: Counters, /) -> None:
        """Write queue records alone."""
        ...

    def add_hits(self, hits: Sequence[tuple[str, int]], /) -> None:
        """More links to URLs were seen: canonical forms, in order, and how many links."""
        ...

    # questions

    def waiting(self, key: str, /, *, after: int, limit: int) -> list[Waiting]:
        """The first URLs of a queue with an order above `after`, in order. What can't be decoded is set aside."""
        ...

    def waiting_of_each(self, places: Sequence[tuple[str, int]], /, *, limit: int) -> list[list[Waiting]]:
        """What `waiting` tells of each of several queues, given by key and the order `after` which to look."""
        ...

    def due(self, now_ms: int, /, *, limit: int) -> list[Postponed]:
        """Postponed URLs whose time has come, earliest first."""
        ...

    def next_due_ms(self) -> int | None: ...

    def entry(self, canonical: str, /) -> LedgerEntry | None: ...

    def hits(self, canonical: str, /) -> int:
        """The links that `add_hits` told of."""
        ...

    def knows_many(self, canonicals: Sequence[str], /) -> list[bool]:
        """For each canonical URL, whether the ledger has it."""
        ...

    def queue(self, key: str, /) -> QueueRecord | None: ...

    def queues(self) -> Iterator[QueueRecord]:
        """All of them, those without URLs too, by key."""
        ...

    def rested_until(self, group: str, /) -> float:
        """Until when a group rests, as last written: seconds since 1970; 0 if nothing is known of it."""
        ...

    def standing(self, state: QueueState, /, *, after: Standing, limit: int) -> list[tuple[Standing, str]]:
        """Queues that stand as INACTIVE or SNOOZED behind a place, in order: rank and turn; with their keys."""
        ...

    def ledger(self) -> Iterator[str]:
        """All canonical URLs ever admitted, in the store's order."""
        ...

    def journal(self, after: int, /) -> Iterator[JournalEntry]:
        """Entries whose sequence number is above `after`, in order. Raises `JournalDamaged` if one is missing or can't
        be decoded, and `JournalDropped` if it was dropped, and no snapshot saved since."""
        ...

    # the visited set's snapshot

    @property
    def snapshot_at(self) -> int | None:
        """Journal sequence number that the saved snapshot of the visited set includes; None if there is none."""
        ...

    def snapshot_saved(self, journal_end: int, /) -> None:
        """Note that a snapshot is safe: the journal up to it is not needed any more."""
        ...

    def trim_journal(self, limit: int, /) -> bool:
        """Drop so many of the journal's entries that are not needed any more, and tell whether there may be others."""
        ...

    # who uses it

    @property
    def in_use(self) -> bool:
        """Whether a frontier has it, or had it when its process died."""
        ...

    @property
    def crashed_at(self) -> float | None:
        """When a crawl that had not been closed in order was last taken up, by the frontier's clock."""
        ...

    def set_in_use(self, in_use: bool, /, *, crashed_at: float | None = None) -> None:
        """With `crashed_at`, that is noted too."""
        ...

    @property
    def held(self) -> str | None:
        """Why an operator has it that nothing is leased; None while it may be."""
        ...

    def set_held(self, reason: str | None, /) -> None: ...

    def mend(self) -> None:
        """After `StoreFull`: take writes again, if there is room. Raises `StoreFull` if there is none yet, or if what
        the store does in the background has not ended."""
        ...

    async def synced(self) -> None:
        """Returns when all earlier transitions are as safe as the store was asked to make them."""
        ...

    def close(self) -> None: ...
