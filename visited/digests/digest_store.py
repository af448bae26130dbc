"""MD5 digests in LevelDB, each write with a record of how to undo it."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import msgspec
import plyvel

from visited.bits.memory import Memory, count_mapped_files, trim_heap
from visited.full_disk import raise_disk_full
from visited.protocol import SnapshotRefused

DIGEST_BYTES = 16

_DIGEST = b"d"
_UNDO = b"u"
_META = b"m"
_CACHE_BYTES = 16 << 20
_WRITE_BUFFER_BYTES = 4 << 20
_OPEN_TABLES = 990
"""As many LevelDB has open by its default."""
_FILE_BYTES = 128 << 10
"""LevelDB has 64 KiB for what it writes to its log, and as much for the list of its tables."""
_THREAD_BYTES = 400 << 10
"""What is kept of the memory in which LevelDB writes tables, mostly by its thread; 200 to 600 KiB were found."""
_TABLE_BYTES_PER_URL = 3
"""Filter and index of a table, as the process takes them."""


class _Meta(msgspec.Struct, frozen=True):
    identity: str
    sequence: int


class _Batch(Protocol):
    """What plyvel has under no public name."""

    def put(self, key: bytes, value: bytes) -> None: ...

    def delete(self, key: bytes) -> None: ...


class DigestStore:
    """A set of digests on disk, which can be taken back to any of its last writes.

        d + digest     nothing
        u + sequence   "+" or "-", and the digests that were added or taken away
        m              identity of the store, and the last sequence

    A write for which there is no room raises OSError, and can be made again. After it LevelDB has to be opened anew,
    for which there may be no room either: until there is, nothing can be read, which raises `DiskFull`.
    """

    def __init__(self, directory: Path, *, open_database: Callable[[Path], plyvel.DB] | None = None) -> None:
        """`directory` is for this store alone. `open_database` stands in for LevelDB where faults are injected."""
        self._directory = directory
        self._open_database = open_database or _open
        self._db: plyvel.DB | None = None
        self._meta = _Meta("", 0)
        self._is_torn = False
        """A write has failed: the log may end in a torn record, behind which LevelDB would not find what follows."""
        self._held_bytes = 0
        """The most that LevelDB has used since what it had freed was given back."""

    @property
    def identity(self) -> str:
        """Tells this store from any other."""
        return self._meta.identity

    @property
    def sequence(self) -> int:
        """Number of the last write."""
        return self._meta.sequence

    def open_at(self, identity: str, sequence: int) -> None:
        """Open what the directory holds, as it was after this write. Raises SnapshotRefused where that can't be."""
        self.close()
        if not self._directory.exists():
            raise SnapshotRefused(f"the store {self._directory} is missing; rebuild it")
        try:
            db = plyvel.DB(str(self._directory), create_if_missing=False, paranoid_checks=True)
        except plyvel.Error as error:
            raise SnapshotRefused(f"the store {self._directory} can't be opened: {error}; rebuild it") from error
        try:
            meta = _take_back(db, identity, sequence)
        except plyvel.CorruptionError as error:
            raise SnapshotRefused(f"the store {self._directory} is damaged: {error}; rebuild it") from error
        finally:
            db.close()
        self._db = self._open_database(self._directory)
        self._meta = meta

    def stored(self, digests: Iterable[bytes]) -> set[bytes]:
        """Those of the digests that are in the store. Raises `DiskFull`."""
        with raise_disk_full():
            get = self._opened().get
        with self._given_up_if_damaged():
            return {digest for digest in digests if get(_DIGEST + digest, verify_checksums=True) is not None}

    def add(self, digests: Iterable[bytes]) -> None:
        self._write(b"+", list(digests))

    def remove(self, digests: Iterable[bytes]) -> None:
        """Take away digests that are in the store."""
        self._write(b"-", list(digests))

    def forget_how_to_undo(self, sequence: int) -> None:
        """The store will not be taken back to before this write."""
        with self._batch() as batch:
            for key in self._opened().iterator(start=_UNDO, stop=_undo_key(sequence + 1), include_value=False):
                batch.delete(key)

    @property
    def disk_bytes(self) -> int:
        return sum(map(_size_of, self._files()))

    def memory_bytes(self, count: int) -> int:
        """Taken of the process's memory now, with so many digests in the store."""
        self._give_back()
        tables = sum(path.suffix == ".ldb" for path in self._files())
        unmapped = max(0, min(tables, _OPEN_TABLES) - count_mapped_files(self._directory)) if tables else 0
        of_tables = count * _TABLE_BYTES_PER_URL * unmapped // max(tables, 1)
        own = 0 if self._db is None else _FILE_BYTES + (_THREAD_BYTES if tables else 0)
        return self._held_bytes + own + of_tables

    def open(self) -> None:
        """Make the store anew, unless there is one. Raises `DiskFull`."""
        if self._db is None:
            with raise_disk_full():
                self._create()

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db = None
        self._meta = _Meta("", 0)
        self._is_torn = False
        self._held_bytes = 0

    def _opened(self) -> plyvel.DB:
        if self._db is None:
            return self._create()
        if self._db.closed:
            return self._reopen(self._db)
        return self._db

    def _create(self) -> plyvel.DB:
        plyvel.destroy_db(str(self._directory))
        self._directory.mkdir(parents=True, exist_ok=True)
        meta = _Meta(os.urandom(16).hex(), 0)
        db = self._open_database(self._directory)
        with _closed_on_error(db):
            db.put(_META, msgspec.json.encode(meta))
        self._db, self._meta = db, meta
        return db

    def _reopen(self, before: plyvel.DB) -> plyvel.DB:
        trial = self._directory / "room"
        try:
            with trial.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, 2 * _WRITE_BUFFER_BYTES)
            # This waits for what LevelDB does in the background, which may take what room there is.
            before.close()
        finally:
            trial.unlink(missing_ok=True)
        db = self._open_database(self._directory)
        with _closed_on_error(db):
            # What failed may have been written nevertheless.
            _take_back(db, self.identity, self.sequence)
        self._db = db
        self._is_torn = False
        return db

    @contextmanager
    def _batch(self) -> Iterator[_Batch]:
        """Written as one, at the end."""
        db = self._opened()
        if self._is_torn:
            db = self._reopen(db)
        self._is_torn = True
        with self._given_up_if_damaged(), db.write_batch(transaction=True) as batch:
            yield batch
        self._is_torn = False

    @contextmanager
    def _given_up_if_damaged(self) -> Iterator[None]:
        """Raises OSError for damage. The next opening finds no store, and has it rebuilt."""
        try:
            yield
        except plyvel.CorruptionError as error:
            self.close()
            plyvel.destroy_db(str(self._directory))
            told = f"the visited set is damaged, and is rebuilt by the next start: {error}"
            raise OSError(errno.EIO, told, str(self._directory)) from error

    def _write(self, change: bytes, digests: list[bytes]) -> None:
        meta = _Meta(self.identity, self.sequence + 1)
        with self._batch() as batch:
            for digest in digests:
                if change == b"+":
                    batch.put(_DIGEST + digest, b"")
                else:
                    batch.delete(_DIGEST + digest)
            batch.put(_undo_key(meta.sequence), change + b"".join(digests))
            batch.put(_META, msgspec.json.encode(meta))
        self._meta = meta
        self._give_back()

    def _give_back(self) -> None:
        """Have the system have what LevelDB has freed since the last call, as soon as that is a good part of a buffer.

        LevelDB's buffers are made of pieces of 4 KiB, which the C library would keep, or not, as chance has it.
        """
        used = self._used_bytes()
        if used < self._held_bytes - _WRITE_BUFFER_BYTES // 4:
            trim_heap()
            self._held_bytes = used
        self._held_bytes = max(self._held_bytes, used)

    def _used_bytes(self) -> int:
        if self._db is None or self._db.closed:
            return 0
        return int(self._db.get_property(b"leveldb.approximate-memory-usage") or 0)

    def _files(self) -> list[Path]:
        return list(self._directory.iterdir()) if self._db is not None else []


def cut(digests: bytes | Memory) -> list[bytes]:
    """Digests that stand one after the other."""
    return [bytes(digests[at : at + DIGEST_BYTES]) for at in range(0, len(digests), DIGEST_BYTES)]


@contextmanager
def _closed_on_error(db: plyvel.DB) -> Iterator[None]:
    try:
        yield
    except BaseException:
        db.close()
        raise


def _size_of(path: Path) -> int:
    # LevelDB deletes files while they are looked at.
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _open(directory: Path) -> plyvel.DB:
    return plyvel.DB(
        str(directory),
        create_if_missing=True,
        lru_cache_size=_CACHE_BYTES,
        write_buffer_size=_WRITE_BUFFER_BYTES,
        bloom_filter_bits=10,
        # Digests do not compress.
        compression=None,
        paranoid_checks=True,
    )


def _take_back(db: plyvel.DB, identity: str, sequence: int) -> _Meta:
    """Undo what was written after `sequence`. Raises SnapshotRefused when that can't be."""
    try:
        meta = msgspec.json.decode(db.get(_META, verify_checksums=True) or b"", type=_Meta)
    except msgspec.DecodeError as error:
        raise SnapshotRefused(f"the store has no identity: {error}; rebuild it") from error
    if meta.identity != identity:
        raise SnapshotRefused("the store is not the one of this snapshot; rebuild it")
    if meta.sequence < sequence:
        raise SnapshotRefused(f"the store stands at write {meta.sequence}, the snapshot at {sequence}; rebuild it")
    for later in range(meta.sequence, sequence, -1):
        record = db.get(_undo_key(later), verify_checksums=True)
        if record is None:
            raise SnapshotRefused(f"the store is newer than the snapshot, and can't undo write {later}; rebuild it")
        before = _Meta(identity, later - 1)
        with db.write_batch(transaction=True) as batch:
            for digest in cut(record[1:]):
                if record[:1] == b"+":
                    batch.delete(_DIGEST + digest)
                else:
                    batch.put(_DIGEST + digest, b"")
            batch.delete(_undo_key(later))
            batch.put(_META, msgspec.json.encode(before))
    return _Meta(identity, sequence)


def _undo_key(sequence: int) -> bytes:
    return _UNDO + sequence.to_bytes(8, "big")
