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
from frontier.store_reads import LedgerScan, StoreReads
from frontier.values import CrawlUrl, LedgerEntry


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


class Claims(Protocol):
    """The URLs about which a visited set on a server was asked, while the ledger does not have the answer. After a
    crash nobody knows whether the server has remembered them, so they count as new unless the ledger has them."""

    @property
    def is_open(self) -> bool:
        """Whether there are any."""
        ...

    def urls(self) -> list[CrawlUrl]: ...

    def put(self, urls: Sequence[CrawlUrl], /) -> None:
        """Note URLs that are about to be asked, instead of those before."""
        ...

    def clear(self) -> None: ...


class Marks(Protocol):
    """Who uses the store, who has paused the crawl, and what the visited set remembers."""

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

    @property
    def memory(self) -> str | None:
        """The memory of a server that has every URL of the ledger (`visited.SharedSet`); None if none is known."""
        ...

    def set_memory(self, memory: str | None, /) -> None: ...


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
    def claims(self) -> Claims: ...

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
        Put parcels into the outbox, and note how many were admitted from another part's. Clear the claims."""
        ...

    def settle(self, pending: PendingUrl, entry: LedgerEntry, queue: QueueUpdate, counters: Counters, /) -> None:
        """Remove the URL from its queue and write its ledger entry, with the next visit if that is due some day."""
        ...

    def postpone(self, pending: PendingUrl, postponed: PostponedUrl, queue: QueueUpdate, counters: Counters, /) -> None:
        """Move a URL from its queue to the postponed URLs."""
        ...

    def rewrite(
        self, waiting: Sequence[PendingUrl | PostponedUrl], queues: Sequence[QueueUpdate], counters: Counters, /
    ) -> None:
        """Write URLs that wait again, each where it is."""
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

    @property
    def needs_sync(self) -> bool:
        """Whether `sync` has anything to do."""
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
