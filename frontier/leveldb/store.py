"""The frontier's store in LevelDB.

One database, whose keys are told in `keys`. Each transition is one WriteBatch, written by `database`; what is asked
stands in `questions`, the journal in `journal`, and what checks and repairs read in `contents`.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path

import msgspec
import plyvel

from frontier.leveldb import encoding
from frontier.leveldb.compaction import DRAINED_WORTH, Compaction
from frontier.leveldb.database import Batch, Database
from frontier.leveldb.full_scan import FullScan
from frontier.leveldb.identity import (
    IN_USE,
    begin_rebuild,
    check_identity,
    empty,
    end_rebuild,
    read_counters,
    read_identity,
)
from frontier.leveldb.journal import Journal, write_journal
from frontier.leveldb.keys import (
    SECONDS,
    U64,
    group_key,
    hits_key,
    ledger_key,
    pending_key,
    pending_space,
    postponed_key,
    queue_key,
    standing_key,
    text,
    untext,
)
from frontier.leveldb.queue_records import encode_queue
from frontier.leveldb.reads import Reads
from frontier.leveldb.sequence import begin_anew, missing_batches, write_number
from frontier.queues.lifecycle import QueueState, Standing
from frontier.store import Counters, JournalEntry, Postponed, QueueRecord, Waiting
from frontier.values import MEND, LedgerEntry, StoreFailed, StoreFull

_encode = msgspec.msgpack.Encoder().encode


class LevelDBStore:
    """A `Store` in the LevelDB of a directory, created if need be.

    `identity` names what stored URLs depend on, as the canonicalization. Each name must have had that value when the
    store was created, or one of those that are `accepted`. Raises `StoreRefused` if the database is in use, of another
    format or identity, and `StoreFailed` if it can't be read.
    """

    def __init__(
        self,
        directory: Path,
        *,
        identity: Mapping[str, str],
        accepted: Mapping[str, Collection[str]] | None = None,
        durability: str = "process",
        open_database: Callable[[Path], plyvel.DB] | None = None,
        sync_file: Callable[[int], None] = os.fsync,
        compact_after: int = DRAINED_WORTH,
        to_repair: bool = False,
        to_rebuild: bool = False,
        may_begin: bool = True,
    ) -> None:
        """`open_database` and `sync_file` stand in for LevelDB and `fsync` where faults are to be injected; a queue's
        range is compacted after so many URLs have left it. With `to_repair`, damage is no reason to refuse;
        with `to_rebuild`, another identity is none. It must not be empty unless a crawl `may_begin`."""
        self._newest = dict(identity)
        self._notes_kept: dict[str, bytes] = {}
        """Notes that were taken while there was no room."""
        self._database = Database(directory, durability=durability, open_database=open_database, sync_file=sync_file)
        try:
            self.differs = check_identity(
                self._database,
                identity,
                accepted=accepted or {},
                to_rebuild=to_rebuild,
                to_repair=to_repair,
                may_begin=may_begin,
            )
            """Whether it was opened to be rebuilt, and has to be."""
            self.identity: Mapping[str, str] = read_identity(self._database)
            """What the stored URLs depend on, by name."""
            self.counters = read_counters(self._database, or_none=to_repair)
            if not to_repair:
                self._check_whole(may_begin=may_begin)
            self._journal = Journal(self._database)
            self._has_hits = next(self._database.keys(b"H", b"I"), None) is not None
            """Whether any were written: mostly all are added up in memory until the end."""
        except BaseException:
            self._database.close()
            raise
        self.contents = FullScan(self._database)
        """All of it, for those who read all."""
        self._questions = Reads(
            self._database,
            counters=lambda: self.counters,
            commit=lambda batch, counters: self._commit(batch, [], counters),
        )
        self._compaction = Compaction(self._compact, worth=compact_after)

    def _check_whole(self, *, may_begin: bool) -> None:
        """Raises `StoreFailed` if batches are missing, counts don't add up, or nothing was admitted and should be."""
        if not self.counters.admitted and not may_begin:
            raise empty(self._database.directory)
        if missing := self.missing_batches():
            raise StoreFailed(
                f"the frontier in {self._database.directory} is damaged: {missing} of its changes are missing, and "
                f"later ones are not; {MEND}"
            )
        if (imbalance := self.counters.imbalance) is not None:
            raise StoreFailed(f"the frontier in {self._database.directory} is damaged: {imbalance}; {MEND}")

    def missing_batches(self) -> int:
        return missing_batches(self._database, self.counters)

    # transitions

    def admit(
        self,
        admitted: Sequence[Waiting],
        superseded: Sequence[Waiting],
        queues: Sequence[QueueRecord],
        counters: Counters,
        /,
    ) -> None:
        batch = self._database.batch()
        put, pack, encode_waiting, encode_place = batch.put, U64.pack, encoding.encode_waiting, encoding.encode_place
        for waiting in superseded:
            batch.delete(pending_key(waiting.url.queue_key, waiting.order))
        spaces = {key: pending_space(key) for key in {waiting.url.queue_key for waiting in admitted}}
        for waiting in admitted:
            url = waiting.url
            put(spaces[url.queue_key] + pack(waiting.order), encode_waiting(waiting))
            put(ledger_key(url.canonical), encode_place(waiting))
        write_journal(batch, counters, JournalEntry([waiting.url.canonical for waiting in admitted], []))
        self._commit(batch, queues, counters)

    def settle(self, waiting: Waiting, entry: LedgerEntry, queue: QueueRecord, counters: Counters, /) -> None:
        batch = self._database.batch()
        batch.delete(pending_key(waiting.url.queue_key, waiting.order))
        batch.put(ledger_key(entry.canonical), encoding.encode_entry(entry))
        self._commit(batch, [queue], counters)
        self._compaction.left(queue.key, waiting.order)

    def postpone(self, waiting: Waiting, postponed: Postponed, queue: QueueRecord, counters: Counters, /) -> None:
        batch = self._database.batch()
        batch.delete(pending_key(waiting.url.queue_key, waiting.order))
        batch.put(postponed_key(postponed.due_ms, waiting.number), encoding.encode_postponed(postponed))
        batch.put(ledger_key(waiting.url.canonical), encoding.encode_place(postponed.waiting, due_ms=postponed.due_ms))
        self._commit(batch, [queue], counters)

    def keep(self, waiting: Waiting, queue: QueueRecord, counters: Counters, /) -> None:
        batch = self._database.batch()
        batch.put(pending_key(waiting.url.queue_key, waiting.order), encoding.encode_waiting(waiting))
        self._commit(batch, [queue], counters)

    def requeue(self, postponed: Sequence[Postponed], queues: Sequence[QueueRecord], counters: Counters, /) -> None:
        batch = self._database.batch()
        for item in postponed:
            waiting = item.waiting
            batch.delete(postponed_key(item.due_ms, waiting.number))
            batch.put(pending_key(waiting.url.queue_key, waiting.order), encoding.encode_waiting(waiting))
            batch.put(ledger_key(waiting.url.canonical), encoding.encode_place(waiting))
        self._commit(batch, queues, counters)

    def forget(self, canonicals: Sequence[str], counters: Counters, /) -> None:
        batch = self._database.batch()
        for canonical in canonicals:
            batch.delete(ledger_key(canonical))
            batch.delete(hits_key(canonical))
        write_journal(batch, counters, JournalEntry([], list(canonicals)))
        self._commit(batch, [], counters)

    def record(self, entries: Sequence[LedgerEntry], counters: Counters, /) -> None:
        batch = self._database.batch()
        for entry in entries:
            batch.put(ledger_key(entry.canonical), encoding.encode_entry(entry))
        write_journal(batch, counters, JournalEntry([entry.canonical for entry in entries], []))
        self._commit(batch, [], counters)

    def rest(self, queues: Sequence[QueueRecord], counters: Counters, /) -> None:
        self._commit(self._database.batch(), queues, counters)

    def add_hits(self, hits: Sequence[tuple[str, int]], /) -> None:
        known = self._questions.hits([canonical for canonical, _ in hits])
        batch = self._database.batch()
        put, encode = batch.put, encoding.encode_hits
        for (canonical, more), before in zip(hits, known, strict=True):
            put(hits_key(canonical), encode(before + more))
        self._database.write(batch)
        self._has_hits = True

    def _commit(self, batch: Batch, queues: Sequence[QueueRecord], counters: Counters) -> None:
        for queue in queues:
            batch.put(queue_key(queue.key), encode_queue(queue))
            if queue.left is not None:
                batch.delete(standing_key(queue.left))
            if queue.moved and queue.stands is not None:
                batch.put(standing_key(queue.stands), text(queue.key))
            for group, until in queue.group_rests:
                batch.put(group_key(group), SECONDS.pack(until))
        write_number(batch, counters)
        batch.put(b"Mcounters", _encode(counters))
        self._database.write(batch)
        self.counters = counters

    # questions

    def waiting(self, key: str, /, *, after: int, limit: int) -> list[Waiting]:
        return self._questions.waiting(key, after=after, limit=limit)

    def waiting_of_each(self, places: Sequence[tuple[str, int]], /, *, limit: int) -> list[list[Waiting]]:
        return self._questions.waiting_of_each(places, limit=limit)

    def due(self, now_ms: int, /, *, limit: int) -> list[Postponed]:
        return self._questions.due(now_ms, limit=limit)

    def next_due_ms(self) -> int | None:
        return self._questions.next_due_ms()

    def entry(self, canonical: str, /) -> LedgerEntry | None:
        return self._questions.entry(canonical)

    def hits(self, canonical: str, /) -> int:
        return self._questions.hits([canonical])[0] if self._has_hits else 0

    def knows_many(self, canonicals: Sequence[str], /) -> list[bool]:
        return self._questions.knows_many(canonicals)

    def queue(self, key: str, /) -> QueueRecord | None:
        return self._questions.queue(key)

    def queues(self) -> Iterator[QueueRecord]:
        return self._questions.queues()

    def rested_until(self, group: str, /) -> float:
        return self._questions.rested_until(group)

    def standing(self, state: QueueState, /, *, after: Standing, limit: int) -> list[tuple[Standing, str]]:
        return self._questions.standing(state, after=after, limit=limit)

    def ledger(self) -> Iterator[str]:
        for key in self._database.keys(b"L", b"M"):
            yield untext(key[1:])

    # the visited set's snapshot

    def journal(self, after: int, /) -> Iterator[JournalEntry]:
        return self._journal.entries(after, self.counters.journal_end)

    @property
    def snapshot_at(self) -> int | None:
        return self._journal.snapshot_at

    def snapshot_saved(self, journal_end: int, /) -> None:
        self._journal.saved(journal_end)

    def trim_journal(self, limit: int, /) -> bool:
        return self._journal.trim(limit)

    def forget_snapshot(self) -> None:
        self._journal.forget()

    # who uses it

    @property
    def in_use(self) -> bool:
        return self._database.get(IN_USE) is not None

    @property
    def crashed_at(self) -> float | None:
        value = self._database.get(b"Mcrashed")
        # Damaged, it is as good as unknown: the rests of queues are stored beside.
        return None if value is None or len(value) != SECONDS.size else SECONDS.unpack(value)[0]

    def set_in_use(self, in_use: bool, /, *, crashed_at: float | None = None) -> None:
        batch = self._database.batch()
        if crashed_at is not None:
            batch.put(b"Mcrashed", SECONDS.pack(crashed_at))
        if in_use:
            batch.put(IN_USE, b"")
        else:
            batch.delete(IN_USE)
        self._database.write(batch)

    @property
    def held(self) -> str | None:
        value = self._database.get(b"Mheld")
        return None if value is None else value.decode("utf-8", "replace")  # words, which hold also when damaged

    def set_held(self, reason: str | None, /) -> None:
        batch = self._database.batch()
        if reason is None:
            batch.delete(b"Mheld")
        else:
            batch.put(b"Mheld", text(reason))
        self._database.write(batch)

    def mend(self) -> None:
        if not self._database.is_full:
            return
        if not self._compaction.drop():
            raise StoreFull(f"{self._database.directory} can't be opened again while it is being compacted")
        self._database.reopen()
        if read_counters(self._database) != self.counters:
            raise StoreFailed(
                f"the write to {self._database.directory} that failed for want of room was kept after all; "
                "start the crawl again"
            )
        self._database.mended()
        while self._notes_kept:
            key, value = next(iter(self._notes_kept.items()))
            self.put(key, value)
            del self._notes_kept[key]

    async def synced(self) -> None:
        await self._database.synced()

    def _compact(self, key: str, order: int) -> None:
        self._database.compact(pending_key(key, 0), pending_key(key, order))

    def close(self) -> None:
        try:
            self._compaction.close()
        finally:
            self._database.close()

    # repair and rebuild

    def begin_rebuild(self) -> None:
        begin_rebuild(self._database)
        self._journal.forget()

    def end_rebuild(self) -> None:
        end_rebuild(self._database, self._newest)
        self.identity = self._newest
        self.differs = False

    def forget_batches(self) -> None:
        """Those that are missing have been dealt with."""
        counters, batch = copy(self.counters), self._database.batch()
        begin_anew(self._database, batch, counters)
        self._commit(batch, [], counters)

    def write_raw(
        self,
        puts: Mapping[bytes, bytes],
        deletes: set[bytes],
        counters: Counters,
        /,
        *,
        queues: Sequence[QueueRecord] = (),
    ) -> None:
        batch = self._database.batch()
        for key in deletes - puts.keys():
            batch.delete(key)
        for key, value in puts.items():
            batch.put(key, value)
        self._commit(batch, queues, counters)

    # notes

    def get(self, key: str, /) -> bytes | None:
        if key in self._notes_kept:
            return self._notes_kept[key]
        return self._database.get(b"N" + text(key))

    def put(self, key: str, value: bytes, /) -> None:
        try:
            batch = self._database.batch()
            batch.put(b"N" + text(key), value)
            self._database.write(batch)
        except StoreFull:
            self._notes_kept[key] = value

    def set_aside(self, key: str, why: Exception, /) -> None:
        self._notes_kept.pop(key, None)
        with suppress(StoreFull):
            self._questions.set_aside_note(key, why)
