"""The reference store: dictionaries."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from operator import attrgetter

import msgspec

from frontier.link_table.table import LinkCount, url_digest
from frontier.memory.notes import MemoryNotes
from frontier.memory.reads import MemoryReads, by_order
from frontier.parts.protocol import Part
from frontier.records import (
    NO_TRANSIT,
    Counters,
    Incarnation,
    JournalEntry,
    Parcel,
    PendingUrl,
    PostponedUrl,
    QueueUpdate,
    Transit,
    Trimmed,
    first_number,
)
from frontier.values import CrawlUrl, LedgerEntry, StoreFailed, UrlState

_due = attrgetter("due_ms", "pending.number")


class MemoryJournal:
    """Always empty: what it would restore ends with the process."""

    snapshot_at: int | None = None

    def entries(self, after: int, /) -> Iterator[JournalEntry]:
        yield from ()

    def note_snapshot(self, journal_end: int, /) -> None:
        raise ValueError("a store in memory has no snapshots")

    def trim(self, limit: int, /) -> bool:
        return False


class MemoryMarks:
    """The `Marks` of a `MemoryStore`."""

    def __init__(self) -> None:
        self.in_use = False
        self.crashed_at: float | None = None
        self.paused: str | None = None
        self.revisits_planned = False
        self.memory: str | None = None

    def set_in_use(self, in_use: bool, /, *, crashed_at: float | None = None) -> None:
        self.in_use = in_use
        self.crashed_at = self.crashed_at if crashed_at is None else crashed_at

    def set_paused(self, reason: str | None, /) -> None:
        self.paused = reason

    def set_revisits_planned(self, planned: bool, /) -> None:
        self.revisits_planned = planned

    def set_memory(self, memory: str | None, /) -> None:
        self.memory = memory


class MemoryClaims:
    """The `Claims` of a `MemoryStore`."""

    def __init__(self) -> None:
        self._urls: list[CrawlUrl] = []

    @property
    def is_open(self) -> bool:
        return bool(self._urls)

    def urls(self) -> list[CrawlUrl]:
        return list(self._urls)

    def put(self, urls: Sequence[CrawlUrl], /) -> None:
        self._urls = list(urls)

    def clear(self) -> None:
        self._urls = []


class MemoryOutbox:
    """The `Outbox` of a `MemoryStore`."""

    def __init__(self) -> None:
        self.incarnation: Incarnation | None = None
        self._trimmed: dict[int, Trimmed] = {}
        self._parcels: dict[int, list[bytes]] = {}
        """By receiver; the first one follows the last one that was deleted."""

    def trimmed(self, receiver: int, /) -> Trimmed:
        return self._trimmed.get(receiver, Trimmed())

    def end(self, receiver: int, /) -> int:
        return self.trimmed(receiver).index + len(self._parcels.get(receiver, []))

    def parcels(self, receiver: int, first: int, last: int, /, *, max_bytes: int | None = None) -> list[bytes]:
        base = self.trimmed(receiver).index
        found = self._parcels.get(receiver, [])[first - base - 1 : last - base] if first > base else []
        if len(found) <= last - first:
            raise StoreFailed(f"of the parcels {first} to {last} for part {receiver}, only {len(found)} are there")
        if max_bytes is not None:
            sizes = accumulate(map(len, found))
            return found[: 1 + sum(size < max_bytes for size in sizes)]
        return found

    def trim(self, receiver: int, trimmed: Trimmed, /) -> None:
        del self._parcels.get(receiver, [])[: trimmed.index - self.trimmed(receiver).index]
        self._trimmed[receiver] = trimmed

    def begin(self, incarnation: Incarnation, /) -> None:
        self.incarnation = incarnation

    def append(self, parcel: Parcel) -> None:
        self._parcels.setdefault(parcel.receiver, []).append(parcel.content)


class MemoryStore:
    """A `Store` in memory."""

    needs_sync = False

    def __init__(self, identity: Mapping[str, str] | None = None, *, part: Part | None = None) -> None:
        self.identity = identity or {}
        self.part = part
        self.counters = Counters(next_number=first_number(part.lineage if part is not None else 0))
        self.outbox = MemoryOutbox()
        self._positions: dict[tuple[int, int], int] = {}
        self.reads = self.ledger = MemoryReads()
        self.notes = MemoryNotes()
        self.journal = MemoryJournal()
        self.marks = MemoryMarks()
        self.claims = MemoryClaims()

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
        for parcel in transit.parcels:
            self.outbox.append(parcel)
        if transit.position is not None:
            place = transit.position.place
            self._positions[transit.position.sender, place.incarnation] = place.sequence
        self.claims.clear()
        for pending in superseded:
            self._remove(pending)
        for pending in admitted:
            url = pending.url
            self._insert(pending)
            self.reads.entries[url.canonical] = LedgerEntry(
                canonical=url.canonical,
                state=UrlState.PENDING,
                number=pending.number,
                found_at=pending.found_at,
                via=url.via,
                hit_count=url.link_count,
            )
        self._write(queues, counters)

    def settle(self, pending: PendingUrl, entry: LedgerEntry, queue: QueueUpdate, counters: Counters, /) -> None:
        self._remove(pending)
        self.plan_revisits([entry])
        self._write([queue], counters)

    def postpone(self, pending: PendingUrl, postponed: PostponedUrl, queue: QueueUpdate, counters: Counters, /) -> None:
        self._remove(pending)
        insort(self.reads.postponed, postponed, key=_due)
        self._set_reason(pending.url.canonical, postponed.reason)
        self._write([queue], counters)

    def rewrite(
        self, waiting: Sequence[PendingUrl | PostponedUrl], queues: Sequence[QueueUpdate], counters: Counters, /
    ) -> None:
        for item in waiting:
            if isinstance(item, PendingUrl):
                urls = self.reads.pending_by_queue[item.url.queue_key]
                urls[bisect_right(urls, item.order, key=by_order) - 1] = item
            else:
                postponed = self.reads.postponed
                postponed[bisect_left(postponed, _due(item), key=_due)] = item
        self._write(queues, counters)

    def requeue(self, postponed: Sequence[PostponedUrl], queues: Sequence[QueueUpdate], counters: Counters, /) -> None:
        numbers = {item.pending.number for item in postponed}
        self.reads.postponed = [item for item in self.reads.postponed if item.pending.number not in numbers]
        for item in postponed:
            self._insert(item.pending)
            self._set_reason(item.pending.url.canonical, None)
        self._write(queues, counters)

    def forget(self, entries: Sequence[LedgerEntry], counters: Counters, /) -> None:
        for entry in entries:
            del self.reads.entries[entry.canonical]
            del self.reads.links[url_digest(entry.canonical)]
        self.drop_revisits([(entry.due_ms, entry.canonical) for entry in entries if entry.due_ms is not None])
        self._write([], counters)

    def record(self, entries: Sequence[LedgerEntry], counters: Counters, /) -> None:
        self.plan_revisits(entries)
        self._write([], counters)

    def plan_revisits(self, entries: Sequence[LedgerEntry], /) -> None:
        for entry in entries:
            self.reads.entries[entry.canonical] = entry
            if entry.due_ms is not None:
                self.drop_revisits([(entry.due_ms, entry.canonical)])
                insort(self.reads.revisits, (entry.due_ms, entry.canonical))

    def drop_revisits(self, revisits: Sequence[tuple[int, str]], /) -> None:
        dropped = set(revisits)
        self.reads.revisits = [each for each in self.reads.revisits if each not in dropped]

    def update_queues(self, queues: Sequence[QueueUpdate], counters: Counters, /) -> None:
        self._write(queues, counters)

    def add_links(self, links: Sequence[LinkCount], /) -> None:
        for digest, more in links:
            self.reads.links[digest] += more

    def positions(self) -> Mapping[tuple[int, int], int]:
        return self._positions.copy()

    def resume(self) -> None:
        return

    async def sync(self) -> None:
        return

    async def make_safe(self) -> None:
        return

    def close(self) -> None:
        return

    def _insert(self, pending: PendingUrl) -> None:
        insort(self.reads.pending_by_queue.setdefault(pending.url.queue_key, []), pending, key=by_order)

    def _remove(self, pending: PendingUrl) -> None:
        by_queue = self.reads.pending_by_queue
        urls = by_queue[pending.url.queue_key]
        del urls[bisect_right(urls, pending.order, key=by_order) - 1]
        if not urls:
            del by_queue[pending.url.queue_key]

    def _set_reason(self, canonical: str, reason: str | None) -> None:
        entries = self.reads.entries
        entries[canonical] = msgspec.structs.replace(entries[canonical], reason=reason)

    def _write(self, queues: Sequence[QueueUpdate], counters: Counters) -> None:
        for queue in queues:
            record, old, new = queue.record, queue.old_position, queue.record.position
            if new != old:
                if old is not None:
                    positions = self.reads.positions[old.state]
                    del positions[bisect_left(positions, (old.rank, old.turn, ""))]
                if new is not None:
                    insort(self.reads.positions[new.state], (new.rank, new.turn, record.key))
            self.reads.group_wakes.update(queue.group_rests)
            self.reads.records[record.key] = record
        counters.batches += 1
        self.counters = counters
