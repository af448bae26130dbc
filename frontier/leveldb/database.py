"""Reads and writes a LevelDB, and remembers failures.

LevelDB's log makes a batch atomic, also under `kill -9`. With durability `power`, `sync` brings the log to the disk. A
thread does this beside LevelDB: while LevelDB itself syncs a write, all its other writers wait for the disk, and the
event loop would wait too. After a failed write there is no other write: the log may end in a torn record, and LevelDB
would not find what follows it.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Protocol, TypeVar

import msgspec
import plyvel

from frontier.leveldb.group_sync import GroupSync
from frontier.leveldb.opening import (
    WRITE_BUFFER_BYTES,
    check_end,
    damage_error,
    message_of,
    open_leveldb,
    says_disk_is_full,
    what_to_do,
)
from frontier.values import REPAIR_ADVICE, StoreFailed, StoreFull

_Record = TypeVar("_Record")

SPACE_TO_REOPEN_BYTES = 2 * WRITE_BUFFER_BYTES
"""Enough to write the log again and go on for a while."""


class Batch(Protocol):
    """A plyvel write batch; plyvel has no public name for it."""

    def put(self, key: bytes, value: bytes) -> None: ...

    def delete(self, key: bytes) -> None: ...

    def write(self) -> None: ...


class SystemCalls(msgspec.Struct, frozen=True, kw_only=True):
    """What a database asks of LevelDB and of the system. Tests replace it to inject faults."""

    open_database: Callable[[Path], plyvel.DB] = open_leveldb
    sync_file: Callable[[int], None] = os.fsync
    before_write: Callable[[], object] | None = None
    """Called right before each batch is written."""


class Database:
    """The LevelDB of a directory; it is created if necessary. Raises `StoreRefused` if it is in use, `StoreFailed` if
    it can't be read, and `StoreFull` if the disk is full. After that, writes fail until `reopen` and `accept_writes`.
    """

    def __init__(self, directory: Path, *, durability: str, calls: SystemCalls | None = None) -> None:
        self.directory = directory
        self._calls = calls or SystemCalls()
        self._group_sync = GroupSync(self._sync_logs)
        self.syncs_always = durability == "power"
        """Whether `sync` waits for the disk."""
        self._synced_logs: set[Path] = set()
        """Log files whose directory entries are on the disk."""
        self._failure: Exception | None = None
        self.is_full = False
        self._sync_failed = False
        self._reading = _Reading(self)
        self._db = self._calls.open_database(directory)

    # writing

    def batch(self) -> Batch:
        if self.is_full:
            raise StoreFull(f"{self.directory} waits for space on the disk") from self._failure
        batch: Batch = self._db.write_batch()
        return batch

    def write(self, batch: Batch) -> None:
        if self._failure is not None:
            raise StoreFailed(
                f"an earlier write to {self.directory} failed: {message_of(self._failure)}"
            ) from self._failure
        if (before_write := self._calls.before_write) is not None:
            before_write()
        try:
            batch.write()
        except plyvel.Error as error:
            self._failure = error
            if says_disk_is_full(message_of(error)):
                self.is_full = True
                raise StoreFull(f"can't write to {self.directory}: {message_of(error)}; free some space") from error
            if isinstance(error, plyvel.CorruptionError):
                raise damage_error(self.directory, message_of(error)) from error
            message = message_of(error)
            raise StoreFailed(
                f"can't write to {self.directory}: {message}; everything settled so far is safe: "
                f"{what_to_do(message) or 'repair the disk'}, then start the crawl again"
            ) from error
        self._group_sync.count_write()

    def write_one(self, key: bytes, value: bytes | None) -> None:
        """Write one record; with None, delete it."""
        batch = self.batch()
        if value is None:
            batch.delete(key)
        else:
            batch.put(key, value)
        self.write(batch)

    async def sync(self) -> None:
        """Wait until all earlier writes are as safe as the durability asks."""
        if self.syncs_always:
            await self.make_safe()

    async def make_safe(self) -> None:
        """Wait until all earlier writes are on the disk."""
        try:
            await self._group_sync.wait()
        except OSError as error:
            raise self._sync_failure(error) from error

    def _sync_logs(self) -> None:
        """Sync all logs. What has left the logs is in a table, which LevelDB has synced. Runs in a thread."""
        logs = set(self.directory.glob("*.log"))
        for path in sorted(logs):
            with suppress(FileNotFoundError):
                _call_with_descriptor(path, self._calls.sync_file)
        if not logs <= self._synced_logs:
            _call_with_descriptor(self.directory, self._calls.sync_file)
        self._synced_logs = logs

    def _sync_failure(self, error: OSError) -> StoreFailed:
        self._failure = error
        self._sync_failed = True
        if says_disk_is_full(str(error)):
            self.is_full = True
            return StoreFull(f"can't sync {self.directory}: {error.strerror}; free some space")
        return StoreFailed(f"can't sync {self.directory}: {error.strerror}; repair the disk, then start again")

    def compact(self, start: bytes, stop: bytes) -> None:
        """Rewrite a range of keys. May run in a thread; the database must not be closed meanwhile."""
        self._db.compact_range(start=start, stop=stop)

    def close(self) -> None:
        try:
            self._group_sync.close(sync_rest=self.syncs_always and self._failure is None)
        except OSError as error:
            raise self._sync_failure(error) from error
        finally:
            self._db.close()

    # a full disk

    def reopen(self) -> None:
        """Open the database again, because its log may end in a torn record, which would hide what follows. Writes
        still fail until `accept_writes`. Raises `StoreFull` if the disk is still full."""
        self._check_space()
        if self._sync_failed and not self._db.closed and self._move_logs_into_tables():
            return
        self._db.close()
        self._db = self._calls.open_database(self.directory)

    def accept_writes(self) -> None:
        """The caller has checked the reopened database: writes succeed again."""
        self.is_full, self._failure, self._sync_failed = False, None, False
        self._group_sync.reset()

    def _move_logs_into_tables(self) -> bool:
        """Bring what the system could not sync to the disk. The system may have forgotten it, but LevelDB still has it
        in memory. A compaction writes that memory to a table, syncs the table and begins a new log."""
        self.compact(b"\xff", b"\xff\xff")
        try:
            self._db.put(b"Msynced", b"")
        except plyvel.Error:
            return False
        try:
            self._sync_logs()
        except OSError as error:
            raise self._sync_failure(error) from error
        return True

    def _check_space(self) -> None:
        """Raise `StoreFull` if there is too little space to write the log again and go on for a while."""
        trial = self.directory / "room"
        try:
            with trial.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, SPACE_TO_REOPEN_BYTES)
        except OSError as error:
            free_mib = shutil.disk_usage(self.directory).free / 2**20
            raise StoreFull(
                f"{self.directory}: {error.strerror}: to go on, the frontier needs {SPACE_TO_REOPEN_BYTES >> 20} MiB "
                f"of free space, and {free_mib:.1f} MiB are free"
            ) from error
        finally:
            with suppress(OSError):
                trial.unlink(missing_ok=True)

    # reading

    def get(self, key: bytes) -> bytes | None:
        with self._reading:
            return self._db.get(key, verify_checksums=True)

    def first(self, start: bytes, stop: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """The first items of a range, at most `limit`."""
        return self.first_of_each([(start, stop)], limit)[0]

    def first_of_each(self, ranges: Sequence[tuple[bytes, bytes]], limit: int) -> list[list[tuple[bytes, bytes]]]:
        """The same as `first` for each range. One iterator visits them all."""
        found: list[list[tuple[bytes, bytes]]] = [[] for _ in ranges]
        with self._reading, self._db.raw_iterator(verify_checksums=True) as items:
            for index, (start, stop) in sorted(enumerate(ranges), key=itemgetter(1)):
                items.seek(start)
                here = found[index]
                while len(here) < limit and items.valid() and (key := items.key()) < stop:
                    here.append((key, items.value()))
                    items.next()
        return found

    def last_key(self, start: bytes, stop: bytes) -> bytes | None:
        """The last key of a range; None if the range is empty."""
        with self._reading, self._db.raw_iterator(verify_checksums=True) as items:
            items.seek(stop)
            if items.valid():
                items.prev()
            else:
                items.seek_to_last()
            key: bytes | None = items.key() if items.valid() else None
            return None if key is None or key < start else key

    def get_many(self, keys: Iterable[bytes]) -> list[bytes | None]:
        with self._reading:
            get = self._db.get
            return [get(key, verify_checksums=True) for key in keys]

    def decode(self, decode: Callable[[bytes], _Record], value: bytes, what: str) -> _Record:
        """Decode a value that nothing replaces. Raises `StoreFailed`, which says `what` is damaged."""
        try:
            return decode(value)
        except msgspec.DecodeError as error:
            raise damage_error(self.directory, f"{what}: {error}") from error

    def items(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        key: bytes | None = None
        with self._reading, self._db.iterator(start=start, stop=stop, verify_checksums=True) as items:
            for key, value in items:
                yield key, value
            check_end(self._db, start if key is None else key, is_last_key=key is not None)

    def keys(self, start: bytes, stop: bytes) -> Iterator[bytes]:
        key: bytes | None = None
        with (
            self._reading,
            self._db.iterator(start=start, stop=stop, include_value=False, verify_checksums=True) as keys,
        ):
            for key in keys:
                yield key
            check_end(self._db, start if key is None else key, is_last_key=key is not None)


class _Reading:
    """Translates LevelDB's errors. One object serves all reads, as a generator would cost more than some reads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> None:
        if self._database._db.closed:
            raise StoreFull(f"{self._database.directory} can't be opened again while the disk is full")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, plyvel.CorruptionError):
            raise damage_error(self._database.directory, message_of(error)) from error
        if isinstance(error, plyvel.Error):
            failure = f"can't read {self._database.directory}: {message_of(error)}"
            if (do := what_to_do(failure)) is not None:
                raise StoreFailed(f"{failure}; {do}, then run the same command again") from error
            raise StoreFailed(f"{failure}; if the frontier is damaged, {REPAIR_ADVICE}") from error


def _call_with_descriptor(path: Path, call: Callable[[int], None]) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        call(descriptor)
    finally:
        os.close(descriptor)
