"""The frontier's store in LevelDB. Each transition becomes one write batch."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from frontier.leveldb.compaction import COMPACT_AFTER, Compaction
from frontier.leveldb.database import Batch, Database, SystemCalls
from frontier.leveldb.format.encoding import (
    encode_count,
    encode_entry,
    encode_location,
    encode_pending,
    encode_postponed,
)
from frontier.leveldb.format.keys import (
    U64,
    ledger_key,
    links_key,
    parcel_key,
    pending_key,
    pending_space,
    postponed_key,
    revisit_key,
)
from frontier.leveldb.full_scan import FullScan
from frontier.leveldb.identity import (
    begin_rebuild,
    check_terms,
    empty_error,
    end_rebuild,
    read_counters,
    read_identity,
)
from frontier.leveldb.journal import LevelDBJournal, write_journal
from frontier.leveldb.marks import LevelDBClaims, LevelDBMarks
from frontier.leveldb.notes import LevelDBNotes
from frontier.leveldb.opening import damage_error
from frontier.leveldb.outbox import LevelDBOutbox, read_positions, write_transit
from frontier.leveldb.reads import LevelDBReads
from frontier.leveldb.writer import Writer
from frontier.link_table.table import LinkCount, url_digest
from frontier.records import (
    NO_TRANSIT,
    Counters,
    JournalEntry,
    PendingUrl,
    PostponedUrl,
    QueueUpdate,
    Transit,
)
from frontier.terms import Terms
from frontier.values import LedgerEntry, StoreFailed, StoreFull

_URLS_OF_PARCEL = 10
"""A usual parcel takes the space of this many URLs."""


class LevelDBStore:
    """A `Store` in the LevelDB of a directory; it is created if necessary. Raises `StoreRefused` if the database is in
    use, of another format or not on these terms, and `StoreFailed` if it can't be read."""

    def __init__(
        self,
        directory: Path,
        terms: Terms,
        *,
        durability: str = "process",
        compact_after: int = COMPACT_AFTER,
        calls: SystemCalls | None = None,
    ) -> None:
        """The range of a queue is compacted after `compact_after` URLs have left it."""
        self._new_identity = dict(terms.identity)
        self.database = Database(directory, durability=durability, calls=calls)
        try:
            self.needs_rebuild = check_terms(self.database, terms)
            """Whether it was opened to be rebuilt, and has to be."""
            self.identity: Mapping[str, str] = read_identity(self.database)
            self.part = terms.part
            self.writer = Writer(self.database, self._read_counters(to_repair=terms.to_repair))
            if not terms.to_repair:
                self._check_intact(may_begin=terms.may_begin)
            self.journal = LevelDBJournal(self.database, end=lambda: self.counters.journal_end)
            self.reads = LevelDBReads(self.database, self.writer)
        except BaseException:
            self.database.close()
            raise
        self.marks, self.claims = LevelDBMarks(self.database), LevelDBClaims(self.database)
        self.notes = LevelDBNotes(self.database, self.writer)
        self.full_scan = self.ledger = FullScan(self.database)
        self.needs_sync = self.database.syncs_always
        self.sync, self.make_safe = self.database.sync, self.database.make_safe
        self._compaction = Compaction(self._compact, compact_after=compact_after)
        self.outbox = LevelDBOutbox(self.database, count_deleted=self._count_deleted)
        self._closed = False

    def _check_intact(self, *, may_begin: bool) -> None:
        """Raise `StoreFailed` if batches are missing, counts don't add up, or the store is empty and must not be."""
        directory = self.database.directory
        if not self.counters.admitted and not self.counters.generation and not may_begin:  # nor was all forgotten
            raise empty_error(directory)
        if missing := self.writer.missing_batches():
            raise damage_error(directory, f"{missing} of its changes are missing, but later ones are there")
        if (imbalance := self.counters.imbalance) is not None:
            raise damage_error(directory, imbalance)

    def _read_counters(self, *, to_repair: bool) -> Counters:
        return read_counters(self.database, self.part, to_repair=to_repair)

    @property
    def counters(self) -> Counters:
        return self.writer.counters

    def positions(self) -> Mapping[tuple[int, int], int]:
        return read_positions(self.database)

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
        batch = self.database.batch()
        put, pack = batch.put, U64.pack
        for pending in superseded:
            batch.delete(pending_key(pending.url.queue_key, pending.order))
        spaces = {key: pending_space(key) for key in {pending.url.queue_key for pending in admitted}}
        for pending in admitted:
            url = pending.url
            put(spaces[url.queue_key] + pack(pending.order), encode_pending(pending))
            put(ledger_key(url.canonical), encode_location(pending))
        if admitted:
            write_journal(batch, counters, JournalEntry([pending.url.canonical for pending in admitted], []))
        write_transit(batch, transit)
        self.claims.delete_with(batch)
        self.writer.commit(batch, queues, counters)
        self.claims.is_open = False

    def settle(self, pending: PendingUrl, entry: LedgerEntry, queue: QueueUpdate, counters: Counters, /) -> None:
        batch = self.database.batch()
        batch.delete(pending_key(pending.url.queue_key, pending.order))
        self._put_entry(batch, entry)
        self.writer.commit(batch, [queue], counters)
        self._compaction.count_drained(queue.record.key, pending.order)

    def postpone(self, pending: PendingUrl, postponed: PostponedUrl, queue: QueueUpdate, counters: Counters, /) -> None:
        batch = self.database.batch()
        batch.delete(pending_key(pending.url.queue_key, pending.order))
        key = postponed_key(postponed.due_ms, pending.number)
        self.reads.postponed.note_written(key)
        batch.put(key, encode_postponed(postponed))
        batch.put(ledger_key(pending.url.canonical), encode_location(postponed.pending, due_ms=postponed.due_ms))
        self.writer.commit(batch, [queue], counters)

    def rewrite(
        self, waiting: Sequence[PendingUrl | PostponedUrl], queues: Sequence[QueueUpdate], counters: Counters, /
    ) -> None:
        batch = self.database.batch()
        for item in waiting:
            if isinstance(item, PendingUrl):
                batch.put(pending_key(item.url.queue_key, item.order), encode_pending(item))
            else:
                batch.put(postponed_key(item.due_ms, item.pending.number), encode_postponed(item))
        self.writer.commit(batch, queues, counters)

    def requeue(self, postponed: Sequence[PostponedUrl], queues: Sequence[QueueUpdate], counters: Counters, /) -> None:
        batch = self.database.batch()
        for item in postponed:
            pending = item.pending
            batch.delete(postponed_key(item.due_ms, pending.number))
            batch.put(pending_key(pending.url.queue_key, pending.order), encode_pending(pending))
            batch.put(ledger_key(pending.url.canonical), encode_location(pending))
        self.writer.commit(batch, queues, counters)

    def forget(self, entries: Sequence[LedgerEntry], counters: Counters, /) -> None:
        batch = self.database.batch()
        for entry in entries:
            canonical = entry.canonical
            batch.delete(ledger_key(canonical))
            batch.delete(links_key(url_digest(canonical)))
            if entry.due_ms is not None:
                batch.delete(revisit_key(entry.due_ms, canonical))
        write_journal(batch, counters, JournalEntry([], [entry.canonical for entry in entries]))
        self.writer.commit(batch, [], counters)

    def record(self, entries: Sequence[LedgerEntry], counters: Counters, /) -> None:
        batch = self.database.batch()
        for entry in entries:
            self._put_entry(batch, entry)
        write_journal(batch, counters, JournalEntry([entry.canonical for entry in entries], []))
        self.writer.commit(batch, [], counters)

    def plan_revisits(self, entries: Sequence[LedgerEntry], /) -> None:
        batch = self.database.batch()
        for entry in entries:
            self._put_entry(batch, entry)
        self.database.write(batch)

    def drop_revisits(self, revisits: Sequence[tuple[int, str]], /) -> None:
        batch = self.database.batch()
        for due_ms, canonical in revisits:
            batch.delete(revisit_key(due_ms, canonical))
        self.database.write(batch)

    def _put_entry(self, batch: Batch, entry: LedgerEntry) -> None:
        """Put the ledger entry of a settled URL into a batch, with its next visit if there is one."""
        batch.put(ledger_key(entry.canonical), encode_entry(entry))
        if entry.due_ms is not None:
            visit = revisit_key(entry.due_ms, entry.canonical)
            self.reads.visits.note_written(visit)
            batch.put(visit, b"")

    def update_queues(self, queues: Sequence[QueueUpdate], counters: Counters, /) -> None:
        self.writer.commit(self.database.batch(), queues, counters)

    def add_links(self, links: Sequence[LinkCount], /) -> None:
        keys = [links_key(digest) for digest, _ in links]
        known = self.reads.counts(keys)
        batch = self.database.batch()
        for key, (_, more), before in zip(keys, links, known, strict=True):
            batch.put(key, encode_count(before + more))
        self.database.write(batch)
        self.reads.has_links = True

    # disk

    def resume(self) -> None:
        if not self.database.is_full:
            return
        if not self._compaction.drop_waiting():
            raise StoreFull(f"{self.database.directory} can't be opened again while it is being compacted")
        self.database.reopen()
        if self._read_counters(to_repair=False) != self.counters:
            raise StoreFailed(
                f"the disk was full, but the last write to {self.database.directory} was stored all the same; start "
                "the crawl again"
            )
        self.database.accept_writes()
        self.notes.write_rest()

    def _compact(self, key: str | int, order: int) -> None:
        if isinstance(key, int):
            self.database.compact(parcel_key(key, 0), parcel_key(key, order))
        else:
            self.database.compact(pending_key(key, 0), pending_key(key, order))

    def _count_deleted(self, receiver: int, index: int, count: int) -> None:
        self._compaction.count_drained(receiver, index, entries=_URLS_OF_PARCEL * count)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            self._compaction.close()
        finally:
            self.database.close()

    # rebuild

    def begin_rebuild(self) -> None:
        """Mark the store as being rebuilt, and drop the snapshot and the journal of the visited set."""
        begin_rebuild(self.database)
        self.marks.set_revisits_planned(False)
        self.reads.has_links = True
        self.journal.drop()

    def end_rebuild(self) -> None:
        end_rebuild(self.database, self._new_identity)
        self.identity = self._new_identity
        self.needs_rebuild = False
