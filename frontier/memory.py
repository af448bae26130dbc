"""The reference store: dictionaries. A crawl that is kept in it ends with the process."""

import logging
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from operator import attrgetter

import msgspec

from frontier.link_table.table import LinkCount, url_digest
from frontier.parts import Part
from frontier.queues.lifecycle import QueueState
from frontier.queues.queue import Position, QueueRecord
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
from frontier.values import Damaged, KnownUrl, LedgerEntry, StoreFailed, UrlState

log = logging.getLogger(__name__)

_order = attrgetter("order")
_due = attrgetter("due_ms", "pending.number")


class MemoryReads:
    """The tables of a `MemoryStore`, and how they are read."""

    def __init__(self) -> None:
        self.pending_by_queue: dict[str, list[PendingUrl]] = {}
        self.postponed: list[PostponedUrl] = []
        self.entries: dict[str, LedgerEntry] = {}
        self.links: Counter[bytes] = Counter()
        """By the digests of canonical URLs."""
        self.records: dict[str, QueueRecord] = {}
        self.group_wakes: dict[str, float] = {}
        self.positions: dict[QueueState, list[tuple[int, int, str]]] = {
            QueueState.INACTIVE: [],
            QueueState.SNOOZED: [],
        }

    def pending_urls(self, key: str, /, *, after: int, limit: int) -> list[PendingUrl]:
        found = self.pending_by_queue.get(key, [])
        start = bisect_right(found, after, key=_order)
        return found[start : start + limit]

    def pending_urls_of_each(self, ranges: Sequence[tuple[str, int]], /, *, limit: int) -> list[list[PendingUrl]]:
        return [self.pending_urls(key, after=after, limit=limit) for key, after in ranges]

    def due(self, now_ms: int, /, *, limit: int) -> list[PostponedUrl]:
        return [item for item in self.postponed[:limit] if item.due_ms <= now_ms]

    def next_due_ms(self) -> int | None:
        return self.postponed[0].due_ms if self.postponed else None

    def entry(self, canonical: str, /) -> LedgerEntry | None:
        return self.entries.get(canonical)

    def link_count(self, canonical: str, /) -> int:
        return self.links[url_digest(canonical)]

    def knows_many(self, canonicals: Sequence[str], /) -> list[bool]:
        return [canonical in self.entries for canonical in canonicals]

    def queue(self, key: str, /) -> QueueRecord | None:
        return self.records.get(key)

    def queues(self) -> Iterator[QueueRecord]:
        yield from sorted(self.records.values(), key=attrgetter("key"))

    def group_wake_at(self, group: str, /) -> float:
        return self.group_wakes.get(group, 0.0)

    def queues_after(self, position: Position, /, *, limit: int) -> list[tuple[Position, str]]:
        positions = self.positions[position.state]
        start = bisect_left(positions, (position.rank, position.turn + 1, ""))
        found = positions[start : start + limit]
        return [(Position(position.state, rank, turn), key) for rank, turn, key in found]

    def ledger(self) -> Iterator[str]:
        yield from self.entries

    # the ledger

    def known(self, canonical: str, /) -> KnownUrl | None:
        return next((known for known in self._known([canonical])), None)

    def all_known(self, after: str = "", /) -> Iterator[KnownUrl | Damaged]:
        return self._known(sorted(canonical for canonical in self.entries if canonical > after))

    def _known(self, canonicals: Sequence[str]) -> Iterator[KnownUrl]:
        waiting = {each.url.canonical: each.url for urls in self.pending_by_queue.values() for each in urls}
        due_at = {each.pending.url.canonical: each.due_ms / 1000 for each in self.postponed}
        waiting |= {each.pending.url.canonical: each.pending.url for each in self.postponed}
        for canonical in canonicals:
            entry = self.entries.get(canonical)
            if entry is not None:
                is_pending = entry.state is UrlState.PENDING
                yield KnownUrl(
                    entry=entry,
                    waiting=waiting.get(canonical) if is_pending else None,
                    due_at=due_at.get(canonical) if is_pending else None,
                )


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

    def set_in_use(self, in_use: bool, /, *, crashed_at: float | None = None) -> None:
        self.in_use = in_use
        self.crashed_at = self.crashed_at if crashed_at is None else crashed_at

    def set_paused(self, reason: str | None, /) -> None:
        self.paused = reason


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
        self.reads.entries[entry.canonical] = entry
        self._write([queue], counters)

    def postpone(self, pending: PendingUrl, postponed: PostponedUrl, queue: QueueUpdate, counters: Counters, /) -> None:
        self._remove(pending)
        insort(self.reads.postponed, postponed, key=_due)
        self._set_reason(pending.url.canonical, postponed.reason)
        self._write([queue], counters)

    def rewrite(self, pending: PendingUrl, queue: QueueUpdate, counters: Counters, /) -> None:
        urls = self.reads.pending_by_queue[pending.url.queue_key]
        urls[bisect_right(urls, pending.order, key=_order) - 1] = pending
        self._write([queue], counters)

    def requeue(self, postponed: Sequence[PostponedUrl], queues: Sequence[QueueUpdate], counters: Counters, /) -> None:
        numbers = {item.pending.number for item in postponed}
        self.reads.postponed = [item for item in self.reads.postponed if item.pending.number not in numbers]
        for item in postponed:
            self._insert(item.pending)
            self._set_reason(item.pending.url.canonical, None)
        self._write(queues, counters)

    def forget(self, canonicals: Sequence[str], counters: Counters, /) -> None:
        for canonical in canonicals:
            del self.reads.entries[canonical]
            del self.reads.links[url_digest(canonical)]
        self._write([], counters)

    def record(self, entries: Sequence[LedgerEntry], counters: Counters, /) -> None:
        for entry in entries:
            self.reads.entries[entry.canonical] = entry
        self._write([], counters)

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
        insort(self.reads.pending_by_queue.setdefault(pending.url.queue_key, []), pending, key=_order)

    def _remove(self, pending: PendingUrl) -> None:
        by_queue = self.reads.pending_by_queue
        urls = by_queue[pending.url.queue_key]
        del urls[bisect_right(urls, pending.order, key=_order) - 1]
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


class MemoryNotes:
    """`Notes` that end with the process."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    def get(self, key: str, /) -> bytes | None:
        return self._values.get(key)

    def put(self, key: str, value: bytes, /) -> None:
        self._values[key] = value

    def items(self, prefix: str, /) -> Iterator[tuple[str, bytes]]:
        return (item for item in sorted(self._values.items()) if item[0].startswith(prefix))

    def set_aside(self, key: str, why: Exception, /) -> None:
        log.error("the value of %r can't be read and is set aside: %s", key, why)
        self._values.pop(key, None)
