"""The frontier's store in LevelDB.

One database, whose keys are told in `keys`. Each transition is one WriteBatch, which LevelDB's log makes whole or void,
also under `kill -9`. With `power`, `synced` has the log on disk. After a write that failed there is no other: the log
may end in a torn record, behind which LevelDB would not find what follows.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Protocol

import msgspec
import plyvel

from frontier import encoding
from frontier.compaction import DRAINED_WORTH, Compaction
from frontier.encoding import DecodeError
from frontier.groupsync import GroupSync
from frontier.keys import (
    U64,
    U64_PAIR,
    ledger_key,
    order_in,
    pending_key,
    place_key,
    postponed_key,
    queue_key,
    standing_key,
    standing_of,
    text,
    untext,
)
from frontier.lifecycle import QueueState, Standing
from frontier.store import Counters, Damaged, JournalDamaged, JournalEntry, Postponed, QueueRecord, Waiting
from frontier.values import LedgerEntry, StoreFailed, StoreFull, StoreRefused, UrlState

log = logging.getLogger(__name__)

FORMAT = 2
NO_ROOM = "No space left"
"""How LevelDB tells ENOSPC."""
WRITE_BUFFER_BYTES = 16 * 1024 * 1024
CACHE_BYTES = 64 * 1024 * 1024
DAMAGED = "its record in the ledger was damaged"

_encode = msgspec.msgpack.Encoder().encode
_decode_counters = encoding.decoder(msgspec.msgpack.Decoder(Counters).decode)
_decode_journal = encoding.decoder(msgspec.msgpack.Decoder(JournalEntry).decode)
_decode_identity = encoding.decoder(msgspec.msgpack.Decoder(dict[str, str]).decode)


class _Batch(Protocol):
    """What plyvel has under no public name."""

    def put(self, key: bytes, value: bytes) -> None: ...

    def delete(self, key: bytes) -> None: ...

    def write(self) -> None: ...


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
        compact_after: int = DRAINED_WORTH,
        to_repair: bool = False,
    ) -> None:
        """`open_database` stands in for LevelDB where faults are to be injected; a queue's range is compacted after so
        many URLs have left it. With `to_repair`, damaged counters are no reason to refuse."""
        self._directory = directory
        self._open_database = open_database or _open
        self._sync = GroupSync(self._write_synced) if durability == "power" else None
        self._failure: Exception | None = None
        self._full = False
        self._notes_kept: dict[str, bytes] = {}
        """Notes that were taken while there was no room."""
        self._db = self._open_database(directory)
        try:
            self._check_identity(dict(identity))
            self.counters = self._read_counters(or_none=to_repair)
            snapshot = self._get(b"Msnapshot")
        except BaseException:
            self._db.close()
            raise
        self._snapshot_at: int | None = None if snapshot is None else int.from_bytes(snapshot, "big")
        self._compaction = Compaction(self._compact, worth=compact_after)

    def _check_identity(self, identity: dict[str, str]) -> None:
        found = self._get(b"Mformat")
        if found is None:
            if next(self._keys(b"", b"\xff"), None) is not None:
                raise StoreRefused(
                    f"{self._directory} holds a LevelDB that is not a frontier's; give the crawl another directory"
                )
            batch = self._batch()
            batch.put(b"Midentity", _encode(identity))
            batch.put(b"Mformat", str(FORMAT).encode())
            self._write(batch)
            return
        if found != str(FORMAT).encode():
            raise StoreRefused(
                f"{self._directory} has frontier format {found.decode('latin-1')}, this version reads format {FORMAT}; "
                "use the version that wrote it, or another directory"
            )
        try:
            stored = _decode_identity(self._get(b"Midentity") or b"\x80")
        except DecodeError as error:
            raise StoreFailed(f"the identity of {self._directory} is damaged ({error}); restore a copy") from error
        for name, value in identity.items():
            if stored.get(name) != value:
                raise StoreRefused(
                    f"{self._directory} was crawled with {name} = {stored.get(name)!r}, the configuration now says "
                    f"{value!r}; URLs would be mistaken for others. Restore the setting, or begin anew with --fresh"
                )

    def _read_counters(self, *, or_none: bool = False) -> Counters:
        value = self._get(b"Mcounters")
        if value is None:
            return Counters()
        try:
            return _decode_counters(value)
        except DecodeError as error:
            if or_none:
                return Counters()
            raise StoreFailed(
                f"the counters of {self._directory} are damaged ({error}); mend them with `onceover inspect DIR fsck "
                "--repair`, restore a copy, or begin anew with --fresh"
            ) from error

    # transitions

    def admit(
        self,
        admitted: Sequence[Waiting],
        superseded: Sequence[Waiting],
        queues: Sequence[QueueRecord],
        counters: Counters,
        /,
    ) -> None:
        batch = self._batch()
        put = batch.put
        for waiting in superseded:
            batch.delete(pending_key(waiting.url.queue_key, waiting.order))
        for waiting in admitted:
            url = waiting.url
            put(pending_key(url.queue_key, waiting.order), encoding.encode_waiting(waiting))
            put(ledger_key(url.canonical), encoding.encode_place(waiting))
        _journal(batch, counters, JournalEntry([waiting.url.canonical for waiting in admitted], []))
        self._commit(batch, queues, counters)

    def settle(self, waiting: Waiting, entry: LedgerEntry, queue: QueueRecord, counters: Counters, /) -> None:
        batch = self._batch()
        batch.delete(pending_key(waiting.url.queue_key, waiting.order))
        batch.put(ledger_key(entry.canonical), encoding.encode_entry(entry))
        self._commit(batch, [queue], counters)
        self._compaction.left(queue.key, waiting.order)

    def postpone(self, waiting: Waiting, postponed: Postponed, queue: QueueRecord, counters: Counters, /) -> None:
        batch = self._batch()
        batch.delete(pending_key(waiting.url.queue_key, waiting.order))
        batch.put(postponed_key(postponed.due_ms, waiting.number), encoding.encode_postponed(postponed))
        batch.put(ledger_key(waiting.url.canonical), encoding.encode_place(postponed.waiting, due_ms=postponed.due_ms))
        self._commit(batch, [queue], counters)

    def requeue(self, postponed: Sequence[Postponed], queues: Sequence[QueueRecord], counters: Counters, /) -> None:
        batch = self._batch()
        for item in postponed:
            waiting = item.waiting
            batch.delete(postponed_key(item.due_ms, waiting.number))
            batch.put(pending_key(waiting.url.queue_key, waiting.order), encoding.encode_waiting(waiting))
            batch.put(ledger_key(waiting.url.canonical), encoding.encode_place(waiting))
        self._commit(batch, queues, counters)

    def forget(self, canonicals: Sequence[str], counters: Counters, /) -> None:
        batch = self._batch()
        for canonical in canonicals:
            batch.delete(ledger_key(canonical))
        _journal(batch, counters, JournalEntry([], list(canonicals)))
        self._commit(batch, [], counters)

    def record(self, entries: Sequence[LedgerEntry], counters: Counters, /) -> None:
        batch = self._batch()
        for entry in entries:
            batch.put(ledger_key(entry.canonical), encoding.encode_entry(entry))
        _journal(batch, counters, JournalEntry([entry.canonical for entry in entries], []))
        self._commit(batch, [], counters)

    def rest(self, queues: Sequence[QueueRecord], counters: Counters, /) -> None:
        self._commit(self._batch(), queues, counters)

    def _commit(self, batch: _Batch, queues: Sequence[QueueRecord], counters: Counters) -> None:
        for queue in queues:
            batch.put(queue_key(queue.key), encoding.encode_queue(queue))
            if queue.left is not None:
                batch.delete(standing_key(queue.left))
            if queue.moved and queue.stands is not None:
                batch.put(standing_key(queue.stands), text(queue.key))
        batch.put(b"Mcounters", _encode(counters))
        self._write(batch)
        self.counters = counters

    def _batch(self) -> _Batch:
        if self._full:
            raise StoreFull(f"{self._directory} waits for room on the disk") from self._failure
        batch: _Batch = self._db.write_batch()
        return batch

    def _write(self, batch: _Batch) -> None:
        if self._failure is not None:
            raise StoreFailed(
                f"an earlier write to {self._directory} failed: {_told(self._failure)}"
            ) from self._failure
        try:
            batch.write()
        except plyvel.Error as error:
            self._failure = error
            if NO_ROOM in _told(error):
                self._full = True
                raise StoreFull(f"can't write to {self._directory}: {_told(error)}; make room") from error
            raise StoreFailed(
                f"can't write to {self._directory}: {_told(error)}; nothing that was settled is lost: "
                "make room or mend the disk, then start the crawl again"
            ) from error
        if self._sync is not None:
            self._sync.wrote()

    def mend(self) -> None:
        if not self._full:
            return
        self._try_room()
        # The log may end in a torn record, behind which nothing would be found: opening again begins a new one.
        self._db.close()
        try:
            self._db = self._open_database(self._directory)
            counters = self._read_counters()
        except StoreFailed as error:
            if NO_ROOM in str(error):
                raise StoreFull(str(error)) from error
            raise
        if counters != self.counters:
            raise StoreFailed(
                f"the write to {self._directory} that failed for want of room was kept after all; start the crawl again"
            )
        self._full, self._failure = False, None
        while self._notes_kept:
            key, value = next(iter(self._notes_kept.items()))
            self.put(key, value)
            del self._notes_kept[key]

    def _try_room(self) -> None:
        """Raises `StoreFull` if LevelDB could not write its log anew and go on for a while."""
        trial = self._directory / "room"
        try:
            with trial.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, 2 * WRITE_BUFFER_BYTES)
        except OSError as error:
            raise StoreFull(f"{self._directory}: {error.strerror}") from error
        finally:
            with suppress(OSError):
                trial.unlink(missing_ok=True)

    def _compact(self, key: str, order: int) -> None:
        with suppress(RuntimeError):  # it was closed meanwhile, to be opened again
            self._db.compact_range(start=pending_key(key, 0), stop=pending_key(key, order))

    async def synced(self) -> None:
        if self._sync is not None:
            await self._sync.synced()

    def _write_synced(self) -> None:
        # A synced write carries all that was logged before it to the disk.
        try:
            self._db.put(b"Msynced", b"", sync=True)
        except plyvel.Error as error:
            self._failure = error
            raise StoreFailed(
                f"can't sync {self._directory}: {_told(error)}; mend the disk, then start again"
            ) from error

    # questions

    def waiting(self, key: str, /, *, after: int, limit: int) -> list[Waiting]:
        prefix = b"P" + text(key) + b"\0"
        found: list[Waiting] = []
        for stored_key, value in self._items(prefix + U64.pack(after + 1), prefix[:-1] + b"\1"):
            try:
                found.append(encoding.decode_waiting(value, queue_key=key, order=order_in(stored_key)))
            except DecodeError as error:
                self._set_aside(stored_key, value, error, copy(self.counters))
            if len(found) == limit:
                break
        return found

    def due(self, now_ms: int, /, *, limit: int) -> list[Postponed]:
        found: list[Postponed] = []
        for stored_key, value in self._items(b"R", b"R" + U64.pack(now_ms + 1)):
            due_ms, _ = U64_PAIR.unpack(stored_key[1:])
            try:
                found.append(encoding.decode_postponed(value, due_ms=due_ms))
            except DecodeError as error:
                counters = copy(self.counters)
                counters.retrying -= 1
                self._set_aside(stored_key, value, error, counters)
            if len(found) == limit:
                break
        return found

    def next_due_ms(self) -> int | None:
        key = next(self._keys(b"R", b"S"), None)
        return None if key is None else U64_PAIR.unpack(key[1:])[0]

    def entry(self, canonical: str, /) -> LedgerEntry | None:
        key = ledger_key(canonical)
        value = self._get(key)
        if value is None:
            return None
        try:
            entry, place = encoding.decode_entry(value, canonical=canonical)
        except DecodeError as error:
            return self._replace_entry(canonical, value, error)
        return entry if place is None else self._with_details(entry, place)

    def _with_details(self, entry: LedgerEntry, place: encoding.Place) -> LedgerEntry:
        value = self._get(place_key(place))
        if value is None:
            return entry
        try:
            if place.due_ms is None:
                waiting = encoding.decode_waiting(value, queue_key=place.queue_key, order=place.order)
                return msgspec.structs.replace(entry, via=waiting.url.via)
            postponed = encoding.decode_postponed(value, due_ms=place.due_ms)
            return msgspec.structs.replace(entry, via=postponed.waiting.url.via, reason=postponed.reason)
        except DecodeError:
            return entry  # it is set aside when its turn comes

    def _replace_entry(self, canonical: str, value: bytes, error: Exception) -> LedgerEntry:
        """The key stays: the ledger lists every URL, so that the visited set can be rebuilt from it."""
        entry = LedgerEntry(canonical=canonical, state=UrlState.FAILED, number=0, found_at=0, reason=DAMAGED)
        counters = copy(self.counters)
        counters.failed += 1
        self._set_aside(ledger_key(canonical), value, error, counters, instead=encoding.encode_entry(entry))
        return entry

    def knows_many(self, canonicals: Sequence[str], /) -> list[bool]:
        return [self._get(ledger_key(canonical)) is not None for canonical in canonicals]

    def queue(self, key: str, /) -> QueueRecord | None:
        stored_key = queue_key(key)
        value = self._get(stored_key)
        return None if value is None else self._decode_queue(stored_key, value)

    def queues(self) -> Iterator[QueueRecord]:
        for key, value in self._items(b"Q", b"R"):
            yield self._decode_queue(key, value)

    def _decode_queue(self, key: bytes, value: bytes) -> QueueRecord:
        try:
            return encoding.decode_queue(value, key=untext(key[1:]))
        except DecodeError as error:
            prefix = b"P" + key[1:]
            size = sum(1 for _ in self._keys(prefix + b"\0", prefix + b"\1"))
            stands = self._stands(untext(key[1:])) if size else None
            record = QueueRecord(
                key=untext(key[1:]),
                size=size,
                wake_at=0.0,
                error_streak=0,
                stands=stands,
                precedence=128 if stands is None or stands.state is QueueState.SNOOZED else stands.at,
                retired=bool(size) and stands is None,
            )
            self._set_aside(key, value, error, copy(self.counters), instead=encoding.encode_queue(record))
            return record

    def standing(self, state: QueueState, /, *, after: Standing, limit: int) -> list[tuple[Standing, str]]:
        start = standing_key(msgspec.structs.replace(after, turn=after.turn + 1))
        found = []
        for key, value in self._items(start, b"J" if state is QueueState.INACTIVE else b"X"):
            found.append((standing_of(key), untext(value)))
            if len(found) == limit:
                break
        return found

    def _stands(self, key: str) -> Standing | None:
        """Where the queue stands, found by looking at all: what its record has told is lost."""
        for start, stop in ((b"I", b"J"), (b"W", b"X")):
            for stored_key, value in self._items(start, stop):
                if untext(value) == key:
                    return standing_of(stored_key)
        return None

    def ledger(self) -> Iterator[str]:
        for key in self._keys(b"L", b"M"):
            yield untext(key[1:])

    def journal(self, after: int, /) -> Iterator[JournalEntry]:
        expected = after + 1
        for key, value in self._items(b"J" + U64.pack(expected), b"K"):
            number = U64.unpack(key[1:])[0]
            if number != expected:
                raise JournalDamaged(f"entry {expected} of the journal in {self._directory} is missing")
            try:
                yield _decode_journal(value)
            except DecodeError as error:
                raise JournalDamaged(f"entry {number} of the journal in {self._directory}: {error}") from error
            expected += 1
        if expected <= self.counters.journal_end:
            raise JournalDamaged(f"entry {expected} of the journal in {self._directory} is missing")

    @property
    def snapshot_at(self) -> int | None:
        return self._snapshot_at

    def snapshot_saved(self, journal_end: int, /) -> None:
        batch = self._batch()
        for key in self._keys(b"J", b"J" + U64.pack(journal_end + 1)):
            batch.delete(key)
        batch.put(b"Msnapshot", U64.pack(journal_end))
        self._write(batch)
        self._snapshot_at = journal_end

    @property
    def in_use(self) -> bool:
        return self._get(b"Min-use") is not None

    def set_in_use(self, in_use: bool, /) -> None:
        batch = self._batch()
        if in_use:
            batch.put(b"Min-use", b"")
        else:
            batch.delete(b"Min-use")
        self._write(batch)

    # for repair

    def all_standing(self) -> Iterator[tuple[Standing, str]]:
        for start, stop in ((b"I", b"J"), (b"W", b"X")):
            for key, value in self._items(start, stop):
                yield standing_of(key), untext(value)

    def waiting_at(self, place: encoding.Place, /) -> Waiting | None:
        """The URL that stands there; None if none does, or if it can't be decoded."""
        value = self._get(place_key(place))
        if value is None:
            return None
        try:
            if place.due_ms is None:
                return encoding.decode_waiting(value, queue_key=place.queue_key, order=place.order)
            return encoding.decode_postponed(value, due_ms=place.due_ms).waiting
        except DecodeError:
            return None

    def raw(self, key: bytes, /) -> bytes:
        return self._get(key) or b""

    def forget_snapshot(self) -> None:
        batch = self._batch()
        for key in self._keys(b"J", b"K"):
            batch.delete(key)
        batch.delete(b"Msnapshot")
        self._write(batch)
        self._snapshot_at = None

    def write_raw(self, puts: dict[bytes, bytes], deletes: set[bytes], counters: Counters, /) -> None:
        batch = self._batch()
        for key in deletes - puts.keys():
            batch.delete(key)
        for key, value in puts.items():
            batch.put(key, value)
        self._commit(batch, [], counters)

    # for fsck

    def all_waiting(self) -> Iterator[Waiting | Damaged]:
        for key, value in self._items(b"P", b"Q"):
            try:
                yield encoding.decode_waiting(value, queue_key=untext(key[1:-9]), order=order_in(key))
            except DecodeError as error:
                yield Damaged(key, str(error))

    def all_postponed(self) -> Iterator[Postponed | Damaged]:
        for key, value in self._items(b"R", b"S"):
            try:
                yield encoding.decode_postponed(value, due_ms=U64_PAIR.unpack(key[1:])[0])
            except DecodeError as error:
                yield Damaged(key, str(error))

    def all_entries(self, after: str = "") -> Iterator[tuple[LedgerEntry, encoding.Place | None] | Damaged]:
        """In the order of canonical URLs, from the first behind `after`."""
        start = ledger_key(after) + b"\0" if after else b"L"
        for key, value in self._items(start, b"M"):
            try:
                yield encoding.decode_entry(value, canonical=untext(key[1:]))
            except DecodeError as error:
                yield Damaged(key, str(error))

    def place(self, canonical: str, /) -> encoding.Place | None:
        """Where the ledger says that the URL stands. Raises `DecodeError`."""
        value = self._get(ledger_key(canonical))
        return None if value is None else encoding.decode_entry(value, canonical=canonical)[1]

    def has(self, place: encoding.Place, /) -> bool:
        """Whether there is a record at that place, or was one that is now set aside."""
        key = place_key(place)
        return self._get(key) is not None or self._get(b"X" + key) is not None

    def set_aside(self) -> Iterator[bytes]:
        """The keys of the records that could not be decoded."""
        for key in self._keys(b"X", b"Y"):
            yield key[1:]

    def journal_numbers(self) -> Iterator[tuple[int, JournalEntry] | Damaged]:
        for key, value in self._items(b"J", b"K"):
            try:
                yield U64.unpack(key[1:])[0], _decode_journal(value)
            except DecodeError as error:
                yield Damaged(key, str(error))

    def _set_aside(
        self, key: bytes, value: bytes, error: Exception, counters: Counters, *, instead: bytes | None = None
    ) -> None:
        log.error("a record of %s can't be decoded and is set aside: key %r: %s", self._directory, key, error)
        counters.quarantined += 1
        batch = self._batch()
        if instead is None:
            batch.delete(key)
        else:
            batch.put(key, instead)
        batch.put(b"X" + key, value)
        self._commit(batch, [], counters)

    # notes

    def get(self, key: str, /) -> bytes | None:
        if key in self._notes_kept:
            return self._notes_kept[key]
        return self._get(b"N" + text(key))

    def put(self, key: str, value: bytes, /) -> None:
        try:
            batch = self._batch()
            batch.put(b"N" + text(key), value)
            self._write(batch)
        except StoreFull:
            self._notes_kept[key] = value

    def close(self) -> None:
        try:
            if self._sync is not None:
                self._sync.close(once_more=self._failure is None)
            self._compaction.close()
        finally:
            self._db.close()

    # reading

    def _get(self, key: bytes) -> bytes | None:
        self._check_open()
        try:
            return self._db.get(key)
        except plyvel.Error as error:
            raise self._unreadable(error) from error

    def _items(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        self._check_open()
        try:
            with self._db.iterator(start=start, stop=stop) as items:
                yield from items
        except plyvel.Error as error:
            raise self._unreadable(error) from error

    def _keys(self, start: bytes, stop: bytes) -> Iterator[bytes]:
        self._check_open()
        try:
            with self._db.iterator(start=start, stop=stop, include_value=False) as keys:
                yield from keys
        except plyvel.Error as error:
            raise self._unreadable(error) from error

    def _check_open(self) -> None:
        if self._db.closed:
            raise StoreFull(f"{self._directory} can't be opened again before there is room on the disk")

    def _unreadable(self, error: plyvel.Error) -> StoreFailed:
        return StoreFailed(f"can't read {self._directory}: {_told(error)}; mend the disk, then start the crawl again")


def _journal(batch: _Batch, counters: Counters, entry: JournalEntry) -> None:
    counters.journal_end += 1
    batch.put(b"J" + U64.pack(counters.journal_end), _encode(entry))


def _open(directory: Path) -> plyvel.DB:
    try:
        return plyvel.DB(
            str(directory),
            create_if_missing=True,
            write_buffer_size=WRITE_BUFFER_BYTES,
            lru_cache_size=CACHE_BYTES,
            bloom_filter_bits=10,
        )
    except plyvel.CorruptionError as error:
        raise StoreFailed(
            f"the frontier in {directory} is damaged: {_told(error)}; restore a copy, or begin anew with --fresh"
        ) from error
    except plyvel.IOError as error:
        # The name of the lock file is LOCK, and stands in other messages too.
        if "error: lock " in _told(error):
            raise StoreRefused(
                f"the frontier in {directory} is in use by another process; wait for its end, or stop it"
            ) from error
        raise StoreFailed(f"the frontier in {directory} can't be opened: {_told(error)}") from error


def _told(error: Exception) -> str:
    """LevelDB's message, which comes as bytes."""
    told = error.args[0] if error.args else ""
    return told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)
