"""The frontier's store in LevelDB.

One database, whose keys are told in `keys`. Each transition is one WriteBatch, written by `database`; what is asked
stands in `questions`, the journal in `journal`, and what checks and repairs read in `contents`.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import plyvel

from frontier import encoding
from frontier.compaction import DRAINED_WORTH, Compaction
from frontier.contents import Contents
from frontier.database import Batch, Database
from frontier.identity import IN_USE, begin_rebuild, check_identity, end_rebuild, read_counters
from frontier.journal import Journal, write_journal
from frontier.keys import (
    SECONDS,
    U64,
    group_key,
    ledger_key,
    pending_key,
    pending_space,
    postponed_key,
    queue_key,
    standing_key,
    text,
    untext,
)
from frontier.lifecycle import QueueState, Standing
from frontier.questions import Questions
from frontier.queuerecords import encode_queue
from frontier.store import Counters, JournalEntry, Postponed, QueueRecord, Waiting
from frontier.values import LedgerEntry, StoreFailed, StoreFull

_encode = msgspec.msgpack.Encoder().encode


class LevelDBStore:
    """A `Store` in the LevelDB of a directory, created if need be.

    `identity` names what stored URLs depend on, as the canonicalization: each name must have the value it was created
    with. Raises `StoreRefused` if the database is in use, of another format or identity, and `StoreFailed` if it can't
    be read.
    """

    def __init__(
        self,
        directory: Path,
        *,
        identity: Mapping[str, str],
        durability: str = "process",
        open_database: Callable[[Path], plyvel.DB] | None = None,
        sync_file: Callable[[int], None] = os.fsync,
        compact_after: int = DRAINED_WORTH,
        to_repair: bool = False,
        to_rebuild: bool = False,
    ) -> None:
        """`open_database` and `sync_file` stand in for LevelDB and `fsync` where faults are to be injected; a queue's
        range is compacted after so many URLs have left it. With `to_repair`, damaged counters are no reason to refuse;
        with `to_rebuild`, another identity is none."""
        self._identity = dict(identity)
        self._notes_kept: dict[str, bytes] = {}
        """Notes that were taken while there was no room."""
        self._database = Database(directory, durability=durability, open_database=open_database, sync_file=sync_file)
        try:
            self.differs = check_identity(self._database, identity, to_rebuild=to_rebuild)
            """Whether it was opened to be rebuilt, and has to be."""
            self.counters = read_counters(self._database, or_none=to_repair)
            self._journal = Journal(self._database)
        except BaseException:
            self._database.close()
            raise
        self.contents = Contents(self._database)
        """All of it, for those who read all."""
        self._questions = Questions(
            self._database,
            counters=lambda: self.counters,
            commit=lambda batch, counters: self._commit(batch, [], counters),
        )
        self._compaction = Compaction(self._compact, worth=compact_after)

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

    def _commit(self, batch: Batch, queues: Sequence[QueueRecord], counters: Counters) -> None:
        for queue in queues:
            batch.put(queue_key(queue.key), encode_queue(queue))
            if queue.left is not None:
                batch.delete(standing_key(queue.left))
            if queue.moved and queue.stands is not None:
                batch.put(standing_key(queue.stands), text(queue.key))
            for group, until in queue.group_rests:
                batch.put(group_key(group), SECONDS.pack(until))
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
        return None if value is None else SECONDS.unpack(value)[0]

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
        return None if value is None else untext(value)

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
        end_rebuild(self._database, self._identity)
        self.differs = False

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
