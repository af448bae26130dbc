"""Gives each URL of a store the canonical form and the queue of new rules.

The store is changed in place, one batch of URLs at a time. After each batch all parts of the store agree. A mark says
that the store has URLs of both rules; until the last URL has been renamed, only a rebuild may open it. A rebuild that
was interrupted starts again at the first URL: URLs that have their new names keep them.

URLs that become the same are merged. The one that has progressed further stays: fetched before given up, before tried,
before waiting; of two fetched ones, the later. Afterwards the visited set has to be filled from the ledger.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from copy import copy

import msgspec

from frontier.descriptor import Naming, RenameResult
from frontier.leveldb.format.encoding import (
    Location,
    encode_count,
    encode_entry,
    encode_location,
    encode_pending,
    encode_postponed,
)
from frontier.leveldb.format.keys import (
    ledger_key,
    links_key,
    parcel_key,
    pending_key,
    postponed_key,
)
from frontier.leveldb.store import LevelDBStore
from frontier.link_table.table import url_digest
from frontier.parts.parcels import decode_parcel, encode_parcel
from frontier.queues.queue import Queue, QueueRecord
from frontier.queues.settings import QueueSettings
from frontier.records import PendingUrl, PostponedUrl
from frontier.transitions.accounting import count_state, plan_fill
from frontier.values import Damaged, LedgerEntry, UrlState

RENAMED_TOGETHER = 1000
"""URLs that are read between two writes, and renamed in one batch."""


async def rebuild(
    store: LevelDBStore, naming: Naming, *, settings: QueueSettings, progress: Callable[[int], None] | None = None
) -> RenameResult:
    """Rename all URLs of a store that nobody else writes to. `progress` is called with the number of URLs so far.

    May raise `StoreFailed` or be cancelled. The store must then be rebuilt again.
    """
    store.begin_rebuild()
    urls, renaming = 0, _Renaming(store, naming, settings)
    for found in store.full_scan.entries():
        urls += 1
        if not isinstance(found, Damaged):
            renaming.rename(*found)
        if urls % RENAMED_TOGETHER == 0:
            renaming.flush()
            if progress is not None:
                progress(urls)
            await asyncio.sleep(0)
    renaming.flush()
    renaming.rename_parcels()
    if store.claims.is_open:
        store.claims.put([naming.name_pending(url) for url in store.claims.urls()])
    store.end_rebuild()
    return RenameResult(urls=urls, renamed=renaming.renamed, merged=renaming.merged)


class _Known(msgspec.Struct, frozen=True):
    """What the store has of one URL."""

    entry: LedgerEntry
    location: Location | None
    record: PendingUrl | PostponedUrl | None
    """None if the URL is settled, or its record is lost."""

    @property
    def pending(self) -> PendingUrl | None:
        return self.record.pending if isinstance(self.record, PostponedUrl) else self.record

    @property
    def link_count(self) -> int:
        """The links that its own record counts."""
        return self.entry.hit_count if self.pending is None else self.pending.url.link_count

    @property
    def progress(self) -> tuple[int, float, int]:
        """Sorts URLs by how far they have progressed."""
        if self.location is not None:
            return (self.record is not None) + isinstance(self.record, PostponedUrl), 0.0, -self.entry.number
        return 4 if self.entry.state is UrlState.DONE else 3, self.entry.fetched_at or 0.0, -self.entry.number


class _Renaming:
    """Collects a batch of renamed URLs and writes it."""

    def __init__(self, store: LevelDBStore, naming: Naming, settings: QueueSettings) -> None:
        self.renamed = 0
        self.merged = 0
        self._store = store
        self._naming = naming
        self._settings = settings
        self._begin()

    def _begin(self) -> None:
        self._counters = copy(self._store.counters)
        self._puts: dict[bytes, bytes] = {}
        self._deletes: set[bytes] = set()
        self._touched: set[str] = set()
        """The canonical forms that the batch changes."""
        self._entering: list[PendingUrl] = []
        self._removed: Counter[str] = Counter()
        """How many URLs leave which queue."""
        self._sources: dict[str, set[str]] = {}
        """For each queue that URLs enter, the queues they come from."""

    def flush(self) -> None:
        """Write the batch."""
        if not self._touched:
            return
        keys = {*self._removed, *(pending.url.queue_key for pending in self._entering)}
        records = {key: self._store.reads.queue(key) or QueueRecord(key=key) for key in keys}
        for key, sources in self._sources.items():
            for source in sources:
                records[key] = _inherit(records[key], records[source])
        queues = {key: Queue(record) for key, record in records.items()}
        fills = plan_fill(self._entering, queues, self._counters, self._settings, removed=self._removed)
        updates = [fill.update for fill in fills]
        self._store.writer.write_records(self._puts, self._deletes, self._counters, queues=updates)
        self._begin()

    def rename(self, entry: LedgerEntry, location: Location | None) -> None:
        """Rename a URL if the new rules give it another canonical form or queue."""
        canonical = self._new_name(self._read(entry, location))
        if canonical is None:
            return
        if canonical in self._touched or entry.canonical in self._touched:
            self.flush()
        # Read it again: since the scan read it, it may have been merged with another URL.
        found = self._store.full_scan.entry(entry.canonical)
        if found is None:
            return
        known = self._read(*found)
        canonical = self._new_name(known)
        if canonical is None:
            return
        self.renamed += 1
        self._touched |= {canonical, entry.canonical}
        if self._merge(known, canonical):
            self._move(known, canonical)

    def rename_parcels(self) -> None:
        """Rename the URLs in the outbox. They stay in their parcels, because rules never move a URL to another part."""
        for receiver, index, content in self._store.outbox.all_parcels():
            urls = decode_parcel(content)
            renamed = [self._naming.name_pending(url) for url in urls]
            if renamed != urls:
                batch = {parcel_key(receiver, index): encode_parcel(renamed)}
                self._store.writer.write_records(batch, (), copy(self._store.counters))

    def _merge(self, known: _Known, canonical: str) -> bool:
        """Merge a URL with the one that has its new name, if there is one. Returns whether the URL itself stays."""
        old = known.entry.canonical
        link_count = self._store.reads.link_count(old)
        other = None if canonical == old else self._store.full_scan.entry(canonical)
        if other is None:
            self._move_link_count(old, canonical, link_count)
            return True
        self.merged += 1
        rival = self._read(*other)
        loser = rival if rival.progress < known.progress else known
        link_count += self._store.reads.link_count(canonical) + loser.link_count
        self._remove(loser)
        self._counters.generation += 1  # no URL has the loser's number from now on
        self._move_link_count(old, canonical, link_count)
        if loser is known:
            self._deletes.add(ledger_key(old))
        return loser is not known

    def _move_link_count(self, old: str, new: str, link_count: int) -> None:
        if link_count:
            self._deletes.add(links_key(url_digest(old)))
            self._puts[links_key(url_digest(new))] = encode_count(link_count)

    def _new_name(self, known: _Known) -> str | None:
        """The new canonical form; None if neither form nor queue changes."""
        old = known.entry.canonical
        if known.location is None:
            new = self._naming.name_settled(known.entry).canonical
            return None if new == old else new
        if known.pending is None:
            return None  # quarantined under its old name
        url = self._naming.name_pending(known.pending.url)
        return None if (url.canonical, url.queue_key) == (old, known.location.queue_key) else url.canonical

    def _read(self, entry: LedgerEntry, location: Location | None) -> _Known:
        record = None if location is None else self._store.full_scan.record_at(location)
        return _Known(entry, location, record)

    def _remove(self, known: _Known) -> None:
        """Remove a URL that is merged into another. Its ledger entry is left to the caller."""
        counters = self._counters
        counters.admitted -= 1
        count_state(counters, known.entry.state, sign=-1)
        if isinstance(known.record, PostponedUrl):
            counters.retrying -= 1
            self._deletes.add(postponed_key(known.record.due_ms, known.record.pending.number))
        elif known.record is not None:
            self._leave_queue(known.record)

    def _leave_queue(self, pending: PendingUrl) -> None:
        self._deletes.add(pending_key(pending.url.queue_key, pending.order))
        self._removed[pending.url.queue_key] += 1

    def _move(self, known: _Known, canonical: str) -> None:
        """Write a URL under its new name and into its new queue."""
        self._deletes.add(ledger_key(known.entry.canonical))
        old = known.pending
        if old is None:
            self._puts[ledger_key(canonical)] = encode_entry(self._naming.name_settled(known.entry))
            return
        pending = msgspec.structs.replace(old, url=self._naming.name_pending(old.url))
        if isinstance(known.record, PostponedUrl):
            postponed = msgspec.structs.replace(known.record, pending=pending)
            self._puts[ledger_key(canonical)] = encode_location(pending, due_ms=postponed.due_ms)
            self._puts[postponed_key(postponed.due_ms, pending.number)] = encode_postponed(postponed)
            return
        self._puts[ledger_key(canonical)] = encode_location(pending)
        self._leave_queue(old)
        self._puts[pending_key(pending.url.queue_key, pending.order)] = encode_pending(pending)
        self._entering.append(pending)
        self._sources.setdefault(pending.url.queue_key, set()).add(old.url.queue_key)


def _inherit(record: QueueRecord, source: QueueRecord) -> QueueRecord:
    """A queue that takes in URLs of the same servers from `source` must be as polite to them."""
    # The health of a queue that has URLs is already counted, and its next answer will tell.
    healths = (record.health, source.health) if record.size == 0 else (record.health,)
    return msgspec.structs.replace(
        record,
        wake_at=max(record.wake_at, source.wake_at),
        pace_s=max(record.pace_s, source.pace_s),
        health=max(healths, key=lambda health: health.error_streak),
    )
