"""A LevelDB that is read and written with one memory of what failed.

LevelDB's log makes a batch whole or void, also under `kill -9`. With `power`, `synced` has the log on disk. That is
done beside LevelDB, in a thread: while LevelDB syncs a write, all its other writers wait for the disk, and so would the
event loop. After a write that failed there is no other: the log may end in a torn record, behind which LevelDB would
not find what follows.
"""

import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Protocol

import plyvel

from frontier.leveldb.group_sync import GroupSync
from frontier.values import MEND, StoreFailed, StoreFull, StoreRefused

NO_ROOM = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))
"""How LevelDB tells that a disk, or a quota, is full."""
WRITE_BUFFER_BYTES = 32 * 1024 * 1024
"""With 16 MB, compaction takes a quarter to a half longer; with 64 MB a quarter less, but two tables in memory take
128 MB then. Measured by processor time, with 2,400,000 URLs on 1,000 hosts."""
CACHE_BYTES = 64 * 1024 * 1024
BLOOM_BITS = 10
TABLES = (".ldb", ".sst")
"""How the names of LevelDB's tables end."""


class Batch(Protocol):
    """What plyvel has under no public name."""

    def put(self, key: bytes, value: bytes) -> None: ...

    def delete(self, key: bytes) -> None: ...

    def write(self) -> None: ...


class Database:
    """The LevelDB of a directory, created if need be. Raises `StoreRefused` if it is in use, `StoreFailed` if it can't
    be read, and `StoreFull` for a write that the disk has no room for: then nothing is written before `mend`.

    `open_database` stands in for LevelDB, and `sync_file` for `fsync`, where faults are to be injected.
    """

    def __init__(
        self,
        directory: Path,
        *,
        durability: str,
        open_database: Callable[[Path], plyvel.DB] | None = None,
        sync_file: Callable[[int], None] = os.fsync,
    ) -> None:
        self.directory = directory
        self._open_database = open_database or open_at
        self._sync_file = sync_file
        self._sync = GroupSync(self._sync_logs) if durability == "power" else None
        self._logs: set[Path] = set()
        """Those whose names are on the disk."""
        self._failure: Exception | None = None
        self._full = False
        self._logs_are_in_doubt = False
        self._db = self._open_database(directory)

    # writing

    def batch(self) -> Batch:
        if self._full:
            raise StoreFull(f"{self.directory} waits for room on the disk") from self._failure
        batch: Batch = self._db.write_batch()
        return batch

    def write(self, batch: Batch) -> None:
        if self._failure is not None:
            raise StoreFailed(f"an earlier write to {self.directory} failed: {_told(self._failure)}") from self._failure
        try:
            batch.write()
        except plyvel.Error as error:
            self._failure = error
            if _is_for_want_of_room(_told(error)):
                self._full = True
                raise StoreFull(f"can't write to {self.directory}: {_told(error)}; make room") from error
            if isinstance(error, plyvel.CorruptionError):
                raise _damaged(self.directory, error) from error
            raise StoreFailed(
                f"can't write to {self.directory}: {_told(error)}; nothing that was settled is lost: "
                "make room or mend the disk, then start the crawl again"
            ) from error
        if self._sync is not None:
            self._sync.wrote()

    async def synced(self) -> None:
        """Returns when all earlier writes are as safe as the database was asked to make them."""
        if self._sync is None:
            return
        try:
            await self._sync.synced()
        except OSError as error:
            raise self._unsynced(error) from error

    def _sync_logs(self) -> None:
        """What is in no log any more is in a table, which LevelDB has synced. Runs in a thread."""
        logs = set(self.directory.glob("*.log"))
        for path in sorted(logs):
            with suppress(FileNotFoundError):
                _with_descriptor(path, self._sync_file)
        if not logs <= self._logs:
            _with_descriptor(self.directory, self._sync_file)
        self._logs = logs

    def _unsynced(self, error: OSError) -> StoreFailed:
        self._failure = error
        self._logs_are_in_doubt = True
        if _is_for_want_of_room(str(error)):
            self._full = True
            return StoreFull(f"can't sync {self.directory}: {error.strerror}; make room")
        return StoreFailed(f"can't sync {self.directory}: {error.strerror}; mend the disk, then start again")

    def compact(self, start: bytes, stop: bytes) -> None:
        """Rewrite what lies in this range. Another thread may do it; the database must not be closed meanwhile."""
        self._db.compact_range(start=start, stop=stop)

    def close(self) -> None:
        try:
            if self._sync is not None:
                self._sync.close(once_more=self._failure is None)
        except OSError as error:
            raise self._unsynced(error) from error
        finally:
            self._db.close()

    # a disk without room

    @property
    def is_full(self) -> bool:
        return self._full

    def reopen(self) -> None:
        """Open again, as the log may end in a torn record, behind which nothing would be found. Writes are still
        refused until `mended`. Raises `StoreFull` if there is no room."""
        self._try_room()
        if self._logs_are_in_doubt and not self._db.closed and self._has_left_its_logs():
            return
        self._db.close()
        try:
            self._db = self._open_database(self.directory)
        except StoreFailed as error:
            if _is_for_want_of_room(str(error)):
                raise StoreFull(str(error)) from error
            raise

    def mended(self) -> None:
        """What was opened again is as it should be: take writes."""
        self._full, self._failure, self._logs_are_in_doubt = False, None, False
        if self._sync is not None:
            self._sync.mended()

    def _has_left_its_logs(self) -> bool:
        """The system may have forgotten what it could not sync; LevelDB has it in memory still, and writes it to a
        table, which it syncs, and begins another log."""
        self.compact(b"\xff", b"\xff\xff")
        try:
            self._db.put(b"Msynced", b"")
        except plyvel.Error:
            return False
        try:
            self._sync_logs()
        except OSError as error:
            raise self._unsynced(error) from error
        return True

    def _try_room(self) -> None:
        """Raises `StoreFull` if LevelDB could not write its log anew and go on for a while."""
        trial = self.directory / "room"
        try:
            with trial.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, 2 * WRITE_BUFFER_BYTES)
        except OSError as error:
            free_mib = shutil.disk_usage(self.directory).free / 2**20
            raise StoreFull(
                f"{self.directory}: {error.strerror}: the frontier needs {2 * WRITE_BUFFER_BYTES >> 20} MiB of free "
                f"room to go on, and {free_mib:.1f} MiB are free"
            ) from error
        finally:
            with suppress(OSError):
                trial.unlink(missing_ok=True)

    # reading

    def get(self, key: bytes) -> bytes | None:
        self._check_open()
        try:
            return self._db.get(key, verify_checksums=True)
        except plyvel.Error as error:
            raise self._unreadable(error) from error

    def first(self, start: bytes, stop: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """So many of the items at most, the first ones."""
        self._check_open()
        try:
            with self._db.iterator(start=start, stop=stop, verify_checksums=True) as items:
                return list(islice(items, limit))
        except plyvel.Error as error:
            raise self._unreadable(error) from error

    def first_of_each(self, ranges: Sequence[tuple[bytes, bytes]], limit: int) -> list[list[tuple[bytes, bytes]]]:
        """`first` of each range, in half the time that each would take by itself: one iterator goes through them."""
        self._check_open()
        found: list[list[tuple[bytes, bytes]]] = [[] for _ in ranges]
        try:
            with self._db.raw_iterator(verify_checksums=True) as items:
                for place, (start, stop) in sorted(enumerate(ranges), key=itemgetter(1)):
                    items.seek(start)
                    here = found[place]
                    while len(here) < limit and items.valid() and (key := items.key()) < stop:
                        here.append((key, items.value()))
                        items.next()
        except plyvel.Error as error:
            raise self._unreadable(error) from error
        return found

    def get_many(self, keys: Iterable[bytes]) -> list[bytes | None]:
        self._check_open()
        try:
            return list(map(self._db.get, keys))
        except plyvel.Error as error:
            raise self._unreadable(error) from error

    def has_many(self, keys: Iterable[bytes]) -> list[bool]:
        self._check_open()
        get = self._db.get
        try:
            return [get(key, verify_checksums=True) is not None for key in keys]
        except plyvel.Error as error:
            raise self._unreadable(error) from error

    def items(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        self._check_open()
        try:
            with self._db.iterator(start=start, stop=stop, verify_checksums=True) as items:
                yield from items
        except plyvel.Error as error:
            raise self._unreadable(error) from error

    def keys(self, start: bytes, stop: bytes) -> Iterator[bytes]:
        self._check_open()
        try:
            with self._db.iterator(start=start, stop=stop, include_value=False, verify_checksums=True) as keys:
                yield from keys
        except plyvel.Error as error:
            raise self._unreadable(error) from error

    def _check_open(self) -> None:
        if self._db.closed:
            raise StoreFull(f"{self.directory} can't be opened again before there is room on the disk")

    def _unreadable(self, error: plyvel.Error) -> StoreFailed:
        if isinstance(error, plyvel.CorruptionError):
            return _damaged(self.directory, error)
        return StoreFailed(
            f"can't read {self.directory}: {_told(error)}; mend the disk, then start the crawl again; "
            f"if the frontier is damaged, {MEND}"
        )


def _with_descriptor(path: Path, act: Callable[[int], None]) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        act(descriptor)
    finally:
        os.close(descriptor)


def _is_for_want_of_room(told: str) -> bool:
    return any(words in told for words in NO_ROOM)


def has_database(directory: Path) -> bool:
    """Whether a LevelDB lies there, be it damaged. One that had not been begun when its process died is none."""
    if (directory / "CURRENT").exists():
        return True
    return directory.is_dir() and any(
        path.suffix in (*TABLES, ".log") and path.stat().st_size for path in directory.iterdir()
    )


def open_at(directory: Path) -> plyvel.DB:
    """The LevelDB of a directory, created if need be. Raises `StoreRefused` and `StoreFailed`."""
    if has_database(directory) and not (directory / "CURRENT").exists():
        # LevelDB would begin another, and delete what is left of this one.
        raise StoreFailed(f"the frontier in {directory} is damaged: its file CURRENT is missing; {MEND}")
    try:
        return plyvel.DB(
            str(directory),
            create_if_missing=True,
            write_buffer_size=WRITE_BUFFER_BYTES,
            lru_cache_size=CACHE_BYTES,
            bloom_filter_bits=BLOOM_BITS,
            # Uncompressed, a URL takes three to four times the room (270 to 490 bytes of disk for 95 to 125), for a
            # tenth to a fifth less processor time, most of it that of compaction.
            compression="snappy",
            # Without, what is damaged in the log is dropped, and the rest is taken for all.
            paranoid_checks=True,
        )
    except plyvel.CorruptionError as error:
        raise _damaged(directory, error) from error
    except plyvel.IOError as error:
        # The name of the lock file is LOCK, and stands in other messages too.
        if "error: lock " in _told(error):
            raise StoreRefused(
                f"the frontier in {directory} is in use by another process; wait for its end, or stop it"
            ) from error
        advice = f"; {MEND}" if has_database(directory) else ""
        raise StoreFailed(f"the frontier in {directory} can't be opened: {_told(error)}{advice}") from error


def _damaged(directory: Path, error: plyvel.Error) -> StoreFailed:
    return StoreFailed(f"the frontier in {directory} is damaged: {_told(error)}; {MEND}")


def _told(error: Exception) -> str:
    """LevelDB's message, which comes as bytes."""
    told = error.args[0] if error.args else ""
    return told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)
