"""MD5 digests in LevelDB. Each write includes a record of how to undo it."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import plyvel

from visited.digests import undo_log
from visited.digests.leveldb_memory import WRITE_BUFFER_BYTES, LevelDBMemory
from visited.digests.undo_log import Batch, Meta
from visited.full_disk import message_of, raise_disk_full
from visited.protocol import SnapshotRefused

_CACHE_BYTES = 16 << 20
_TABLES_OF_A_WRITE = 64
"""Tables that one write changes little."""


class _Files(msgspec.Struct, frozen=True):
    """The files of a store."""

    sequence: int
    """Number of the last write before they were counted."""
    size_bytes: int
    tables: int


_NO_FILES = _Files(0, 0, 0)


class DigestStore:
    """A set of digests on disk, which can be rolled back to any of its last writes.

    If the disk is full a write raises OSError, and can be repeated. After such a failure LevelDB must be opened again,
    which may fail because the disk is full; until that succeeds, reading raises `DiskFull`.
    """

    def __init__(self, directory: Path, *, open_database: Callable[[Path], plyvel.DB] | None = None) -> None:
        """Nothing else may use `directory`. `open_database` replaces LevelDB in tests that inject faults."""
        self._directory = directory
        self._open_database = open_database or _open
        self._memory = LevelDBMemory(directory)
        self._db: plyvel.DB | None = None
        self._meta = Meta("", 0)
        self._files = _NO_FILES
        self._has_failed = False
        """Whether a write has failed: the log may end in a torn record, and LevelDB would not read what follows it."""

    @property
    def identity(self) -> str:
        """Distinguishes this store from any other."""
        return self._meta.identity

    @property
    def sequence(self) -> int:
        """Number of the last write."""
        return self._meta.sequence

    def open_at(self, identity: str, sequence: int) -> None:
        """Open the directory's store as it was after this write. Raises SnapshotRefused if that is impossible."""
        self.close()
        if not self._directory.exists():
            raise SnapshotRefused(f"the store {self._directory} is missing; rebuild it")
        try:
            with _telling_open_files(self._directory):
                db = plyvel.DB(str(self._directory), create_if_missing=False, paranoid_checks=True)
        except plyvel.Error as error:
            raise SnapshotRefused(
                f"the store {self._directory} can't be opened: {message_of(error)}; rebuild it"
            ) from error
        try:
            meta = undo_log.roll_back(db, identity, sequence)
        except plyvel.CorruptionError as error:
            raise SnapshotRefused(f"the store {self._directory} is damaged: {message_of(error)}; rebuild it") from error
        finally:
            db.close()
        self._db = self._open_database(self._directory)
        self._meta = meta

    def find(self, digests: Iterable[bytes]) -> set[bytes]:
        """Return those of the digests that are in the store. Raises `DiskFull`."""
        with raise_disk_full():
            db = self._database()
        with self._discard_if_damaged():
            return undo_log.find_digests(db, list(digests))

    def add(self, digests: Iterable[bytes]) -> None:
        self._write(undo_log.ADD, list(digests))

    def remove(self, digests: Iterable[bytes]) -> None:
        """Remove digests that are in the store."""
        self._write(undo_log.REMOVE, list(digests))

    def delete_undo_records(self, sequence: int) -> None:
        """Delete the undo records up to this write, because the store will not be rolled back further."""
        with self._batch() as batch:
            undo_log.delete_undo_records(self._database(), batch, sequence)

    @property
    def disk_bytes(self) -> int:
        return self._count_files().size_bytes

    def memory_bytes(self, count: int) -> int:
        """The process memory now in use, with `count` digests in the store."""
        return self._memory.used_bytes(self._db, count, tables=self._count_files().tables)

    def _count_files(self) -> _Files:
        """The files of the store. To look at tens of thousands takes long, so these may be what they were before the
        last writes, which have changed little."""
        if self._db is None:
            return _NO_FILES
        before = self._files
        if self.sequence - before.sequence >= before.tables // _TABLES_OF_A_WRITE:
            self._files = _files_of(self._directory, self.sequence)
        return self._files

    def open(self) -> None:
        """Create the store, unless it is open. Raises `DiskFull`."""
        if self._db is None:
            with raise_disk_full():
                self._create()

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db = None
        self._meta = Meta("", 0)
        self._files = _NO_FILES
        self._has_failed = False
        self._memory.reset()

    def _database(self) -> plyvel.DB:
        if self._db is None:
            return self._create()
        if self._db.closed:
            return self._reopen(self._db)
        return self._db

    def _create(self) -> plyvel.DB:
        plyvel.destroy_db(str(self._directory))
        self._directory.mkdir(parents=True, exist_ok=True)
        meta = Meta(os.urandom(16).hex(), 0)
        db = self._open_database(self._directory)
        with _close_on_error(db):
            undo_log.write_meta(db, meta)
        self._db, self._meta = db, meta
        return db

    def _reopen(self, before: plyvel.DB) -> plyvel.DB:
        trial = self._directory / "room"
        try:
            # Fails early if there is not enough space for LevelDB to open.
            with trial.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, 2 * WRITE_BUFFER_BYTES)
            # Waits for LevelDB's background work, which may need this space.
            before.close()
        finally:
            trial.unlink(missing_ok=True)
        db = self._open_database(self._directory)
        with _close_on_error(db):
            # LevelDB may have written a batch although it reported an error.
            undo_log.roll_back(db, self.identity, self.sequence)
        self._db = db
        self._has_failed = False
        return db

    @contextmanager
    def _batch(self) -> Iterator[Batch]:
        """A batch that is written atomically at the end."""
        db = self._database()
        if self._has_failed:
            db = self._reopen(db)
        self._has_failed = True
        with self._discard_if_damaged(), db.write_batch(transaction=True) as batch:
            yield batch
        self._has_failed = False

    @contextmanager
    def _discard_if_damaged(self) -> Iterator[None]:
        """Delete a damaged store and raise OSError. The next start finds no store, and rebuilds it."""
        try:
            yield
        except plyvel.CorruptionError as error:
            self.close()
            plyvel.destroy_db(str(self._directory))
            message = f"the visited set is damaged, and is rebuilt by the next start: {message_of(error)}"
            raise OSError(errno.EIO, message, str(self._directory)) from error

    def _write(self, change: bytes, digests: list[bytes]) -> None:
        meta = Meta(self.identity, self.sequence + 1)
        with self._batch() as batch:
            undo_log.write_change(batch, change, digests, meta)
        self._meta = meta
        self._memory.update(self._db)


@contextmanager
def _close_on_error(db: plyvel.DB) -> Iterator[None]:
    try:
        yield
    except BaseException:
        db.close()
        raise


def _files_of(directory: Path, sequence: int) -> _Files:
    size_bytes = tables = 0
    for path in directory.iterdir():
        with suppress(FileNotFoundError):  # LevelDB may delete a file while the directory is read
            size_bytes += path.stat().st_size
        tables += path.suffix == ".ldb"
    return _Files(sequence, size_bytes, tables)


@contextmanager
def _telling_open_files(directory: Path) -> Iterator[None]:
    """A store that can't be opened because too many files are open is not damaged: raise what the system says."""
    try:
        yield
    except plyvel.IOError as error:
        for number in (errno.EMFILE, errno.ENFILE):
            if os.strerror(number) in message_of(error):
                raise OSError(number, os.strerror(number), str(directory)) from error
        raise


def _open(directory: Path) -> plyvel.DB:
    with _telling_open_files(directory):
        return plyvel.DB(
            str(directory),
            # If LevelDB can't see a database that is there, as after an error of the disk, it must not replace it.
            create_if_missing=not (directory / "CURRENT").exists(),
            lru_cache_size=_CACHE_BYTES,
            write_buffer_size=WRITE_BUFFER_BYTES,
            bloom_filter_bits=10,
            # Digests do not compress.
            compression=None,
            paranoid_checks=True,
        )
