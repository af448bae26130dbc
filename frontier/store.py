"""What a frontier needs from the place that keeps its URLs.

Each transition method is atomic: after a crash, either all of its changes are there or none. A store decides nothing.
The caller has already decided which queue is next, when it may be asked again and what a failure means. Only the
journal numbers are given by the store.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from frontier.link_table.table import LinkCount
from frontier.parts.protocol import Part
from frontier.protocol.look_ups import Notes
from frontier.queues.queue import Position, QueueRecord
from frontier.records import (
    NO_TRANSIT,
    Counters,
    Incarnation,
    JournalEntry,
    PendingUrl,
    PostponedUrl,
    QueueUpdate,
    Transit,
    Trimmed,
)
from frontier.values import Damaged, KnownUrl, LedgerEntry


class StoreReads(Protocol):
    """Reads what a running crawl needs."""

    def pending_urls(self, key: str, /, *, after: int, limit: int) -> list[PendingUrl]:
        """The first URLs of a queue with an order above `after`, in order. Quarantines what can't be decoded."""
        ...

    def pending_urls_of_each(self, ranges: Sequence[tuple[str, int]], /, *, limit: int) -> list[list[PendingUrl]]:
        """The same as `pending_urls` for several queues. Each range is the key of a queue and its `after`."""
        ...

    def due(self, now_ms: int, /, *, limit: int) -> list[PostponedUrl]:
        """The postponed URLs whose time has come, earliest first."""
        ...

    def next_due_ms(self) -> int | None:
        """When the first postponed URL comes due, in milliseconds since 1970; None if there is none."""
        ...

    def revisits_due(self, now_ms: int, /, *, limit: int) -> list[tuple[int, str]]:
        """The visits whose time has come, earliest first: when each is due, and the canonical URL. A visit does not
        count any more if the URL's ledger entry says something else."""
        ...

    def next_revisit_ms(self) -> int | None:
        """When the first visit is due, in milliseconds since 1970; None if there is none."""
        ...

    def entry(self, canonical: str, /) -> LedgerEntry | None:
        """The ledger entry of a URL; None if it was never admitted."""
        ...

    def link_count(self, canonical: str, /) -> int:
        """The links that `add_links` has added for a URL."""
        ...

    def knows_many(self, canonicals: Sequence[str], /) -> list[bool]:
        """For each canonical URL, whether the ledger has it."""
        ...

    def queue(self, key: str, /) -> QueueRecord | None:
        """The record of a queue; None if the store has none."""
        ...

    def queues(self, after: str = "", /) -> Iterator[QueueRecord]:
        """The queues behind the key `after`, by key, including those without URLs."""
        ...

    def group_wake_at(self, group: str, /) -> float:
        """When the rest of a group ends, as last written, in seconds since 1970; 0 if nothing is known of it."""
        ...

    def queues_after(self, position: Position, /, *, limit: int) -> list[tuple[Position, str]]:
        """The queues after a position, in the order that the position's state names: positions and keys."""
        ...

    def ledger(self) -> Iterator[str]:
        """All canonical URLs ever admitted, in the store's order."""
        ...


class LedgerScan(Protocol):
    """Reads the ledger for look-ups, exports and checks. Changes nothing, even where a record is damaged. Later links
    are not in `LedgerEntry.hit_count`; see `StoreReads.link_count`."""

    def known(self, canonical: str, /) -> KnownUrl | None:
        """What is known about a URL; None if it was never admitted, or its entry can't be decoded."""
        ...

    def all_known(self, after: str = "", /) -> Iterator[KnownUrl | Damaged]:
        """The ledger after the URL `after`, in the order of canonical URLs."""
        ...


class Journal(Protocol):
    """What the visited set has learned since its last snapshot."""

    @property
    def snapshot_at(self) -> int | None:
        """The journal sequence number that the saved snapshot of the visited set includes; None without a snapshot."""
        ...

    def entries(self, after: int, /) -> Iterator[JournalEntry]:
        """The entries with a sequence number above `after`, in order. Raises `JournalDamaged` if one is missing or
        can't be decoded, and `JournalDropped` if the journal was dropped and no snapshot saved since."""
        ...

    def note_snapshot(self, journal_end: int, /) -> None:
        """Note that a snapshot is safe. The journal up to this number is not needed any more."""
        ...

    def trim(self, limit: int, /) -> bool:
        """Delete up to `limit` entries that are not needed any more. Returns whether there may be others."""
        ...


class Marks(Protocol):
    """Who uses the store, and who has paused the crawl."""

    @property
    def in_use(self) -> bool:
        """Whether a frontier uses the store, or used it when its process died."""
        ...

    @property
    def crashed_at(self) -> float | None:
        """When a crawl was last resumed after a crash, by the frontier's clock."""
        ...

    def set_in_use(self, in_use: bool, /, *, crashed_at: float | None = None) -> None:
        """Set `in_use`; and `crashed_at`, if given."""
        ...

    @property
    def paused(self) -> str | None:
        """Why an operator has paused the crawl; None while it is not paused."""
        ...

    def set_paused(self, reason: str | None, /) -> None: ...

    @property
    def revisits_planned(self) -> bool:
        """Whether each settled URL that is to be visited again is among the visits."""
        ...

    def set_revisits_planned(self, planned: bool, /) -> None: ...


class Outbox(Protocol):
    """Parcels for other parts. See `frontier.parts.protocol`."""

    def trimmed(self, receiver: int, /) -> Trimmed:
        """Up to where parcels have been deleted."""
        ...

    def end(self, receiver: int, /) -> int:
        """The index of the last parcel; of the last one that was deleted if there is none."""
        ...

    def parcels(self, receiver: int, first: int, last: int, /, *, max_bytes: int | None = None) -> list[bytes]:
        """The parcels from one index to another, or the first of them: no other follows once `max_bytes` have been
        read. Raises `StoreFailed` if one is missing."""
        ...

    def trim(self, receiver: int, trimmed: Trimmed, /) -> None:
        """Delete parcels, and note up to where."""
        ...

    def begin(self, incarnation: Incarnation, /) -> None:
        """Note that the part has been opened."""
        ...


class Store(Protocol):
    """Keeps pending URLs, postponed URLs, the ledger, queue records and the journal; for a part of a crawl, also the
    links on their way to and from other parts."""

    @property
    def part(self) -> Part | None:
        """Which part of its crawl the store belongs to; None if the crawl has no parts."""
        ...

    @property
    def outbox(self) -> Outbox: ...

    def positions(self) -> Mapping[tuple[int, int], int]:
        """How many parcels were admitted, by sender and its incarnation."""
        ...

    @property
    def counters(self) -> Counters:
        """As last written. To change them, the caller hands a changed copy to a transition."""
        ...

    @property
    def identity(self) -> Mapping[str, str]:
        """The settings that the stored URLs depend on, by name."""
        ...

    @property
    def notes(self) -> Notes: ...

    @property
    def reads(self) -> StoreReads: ...

    @property
    def ledger(self) -> LedgerScan: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def marks(self) -> Marks: ...

    # transitions

    def admit(
        self,
        admitted: Sequence[PendingUrl],
        superseded: Sequence[PendingUrl],
        queues: Sequence[QueueUpdate],
        counters: Counters,
        /,
        *,
        transit: Transit = NO_TRANSIT,
    ) -> None:
        """Write URLs as pending, and into ledger and journal. Remove the URLs that they supersede from their queues.
        Put parcels into the outbox, and note how many were admitted from another part's."""
        ...

    def settle(self, pending: PendingUrl, entry: LedgerEntry, queue: QueueUpdate, counters: Counters, /) -> None:
        """Remove the URL from its queue and write its ledger entry, with the next visit if that is due some day."""
        ...

    def postpone(self, pending: PendingUrl, postponed: PostponedUrl, queue: QueueUpdate, counters: Counters, /) -> None:
        """Move a URL from its queue to the postponed URLs."""
        ...

    def rewrite(self, pending: PendingUrl, queue: QueueUpdate, counters: Counters, /) -> None:
        """Write a pending URL again under its order."""
        ...

    def requeue(self, postponed: Sequence[PostponedUrl], queues: Sequence[QueueUpdate], counters: Counters, /) -> None:
        """Move postponed URLs back into their queues."""
        ...

    def forget(self, entries: Sequence[LedgerEntry], counters: Counters, /) -> None:
        """Remove ledger entries of settled URLs with their visits, and write that into the journal."""
        ...

    def record(self, entries: Sequence[LedgerEntry], counters: Counters, /) -> None:
        """Write ledger entries of settled URLs that were never admitted, with their next visits, and write that into
        the journal."""
        ...

    def plan_revisits(self, entries: Sequence[LedgerEntry], /) -> None:
        """Write ledger entries of settled URLs again, with their next visits."""
        ...

    def drop_revisits(self, revisits: Sequence[tuple[int, str]], /) -> None:
        """Remove visits."""
        ...

    def update_queues(self, queues: Sequence[QueueUpdate], counters: Counters, /) -> None:
        """Write queue updates alone."""
        ...

    def add_links(self, links: Sequence[LinkCount], /) -> None:
        """Add to the link counts of URLs, in the order of their digests."""
        ...

    # disk

    def resume(self) -> None:
        """After `StoreFull`: accept writes again if the disk has enough space. Raises `StoreFull` if it has not, or if
        the store's background work has not ended."""
        ...

    async def sync(self) -> None:
        """Wait until all earlier transitions are as safe as the store was asked to make them."""
        ...

    async def make_safe(self) -> None:
        """Wait until all earlier transitions are on the disk, whatever the store was asked."""
        ...

    def close(self) -> None:
        """Closing twice is harmless."""
        ...
