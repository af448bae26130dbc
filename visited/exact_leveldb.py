"""The exact set for more than memory: MD5 digests in LevelDB."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec
import plyvel

from visited.kernel import Kernel, best_kernel
from visited.memory import Memory, mapped_files, object_bytes
from visited.protocol import SnapshotRefused, VisitedStats
from visited.snapshot import Value, read_snapshot, write_snapshot

BACKEND = "exact-leveldb"

_DIGEST = b"d"
_UNDO = b"u"
_META = b"m"
_SLOT = 16
_CACHE_BYTES = 16 << 20
_WRITE_BUFFER_BYTES = 4 << 20
_OPEN_TABLES = 990
"""As many LevelDB has open by its default."""
_TABLE_BYTES_PER_URL = 2
"""Filter and index of a table, as the process takes them."""


class _Meta(msgspec.Struct, frozen=True):
    identity: str
    sequence: int


class LevelDBSet:
    """Knows each URL by its MD5 digest, on disk, and takes the same memory for any number of them: 5 to 8 MB.

    It tells the most that it has taken: what LevelDB frees, in small pieces, the C library keeps as a rule. Tables are
    mapped, which is no memory of the process. But LevelDB maps a thousand in all: beside another store as large as
    that it keeps up to 16 MB of blocks, and filter and index of each table that is not mapped.

    New digests gather in memory and are written `spill` at a time, together with a record of how to undo that. So the
    store may be ahead of the last snapshot, as after a crash, and is taken back to it by `load`: a URL of which nothing
    else was stored is new again.

        d + digest     nothing
        u + sequence   "+" or "-", and the digests that were added or taken away
        m              identity of the store, and the last sequence
    """

    def __init__(self, directory: Path, *, spill: int = 4096, kernel: Kernel | None = None) -> None:
        """`directory` is for this set alone. What is in it is deleted by the first URL, unless `load` comes before."""
        self._directory = directory
        self._spill_at = spill
        self._kernel = kernel or best_kernel()
        self._store: plyvel.DB | None = None
        self._meta = _Meta("", 0)
        self._fresh: set[bytes] = set()
        self._count = 0
        self._dumped_sequence = 0
        self._most_fresh_bytes = 0
        self._most_used_bytes = 0
        """By LevelDB, at the end of any write."""

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        get = self._opened().get
        fresh = self._fresh
        verdicts = []
        for digest in self._digests(urls):
            new = digest not in fresh and get(_DIGEST + digest) is None
            if new:
                fresh.add(digest)
            verdicts.append(new)
        self._count += sum(verdicts)
        if len(fresh) >= self._spill_at:
            self._spill()
        return verdicts

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Tell for each URL whether it is known, without remembering it; for inspection and comparison."""
        get = self._opened().get
        return [digest in self._fresh or get(_DIGEST + digest) is not None for digest in self._digests(urls)]

    async def forget_many(self, urls: Sequence[str], /) -> int:
        store = self._opened()
        digests = set(self._digests(urls))
        young = digests & self._fresh
        stored = [digest for digest in digests - young if store.get(_DIGEST + digest) is not None]
        self._fresh -= young
        if stored:
            self._write(b"-", stored)
        self._count -= len(young) + len(stored)
        return len(young) + len(stored)

    def describe(self) -> VisitedStats:
        files = list(self._directory.iterdir()) if self._store is not None else []
        tables = sum(path.suffix == ".ldb" for path in files)
        memory = max(self._most_fresh_bytes, self._fresh_bytes()) + max(self._most_used_bytes, self._used_bytes())
        return VisitedStats(
            backend=BACKEND,
            count=self._count,
            capacity=None,
            memory_bytes=memory + self._unmapped_bytes(tables),
            disk_bytes=sum(path.stat().st_size for path in files if path.exists()),
            details={"unwritten": len(self._fresh), "writes": self._meta.sequence},
        )

    def dump(self, file: BinaryIO, /) -> None:
        """Writes what is not in the store, and where the store stands; the store stays where it is."""
        self._opened()
        write_snapshot(
            file,
            backend=BACKEND,
            parameters={"hash": "md5"},
            state=self._state(),
            parts=[b"".join(self._fresh)],
        )
        self._forget_how_to_undo(self._dumped_sequence)
        self._dumped_sequence = self._meta.sequence

    def load(self, file: BinaryIO, /) -> None:
        self._close()
        snapshot = read_snapshot(file, backend=BACKEND, parameters={"hash": "md5"})
        count, sequence = snapshot.integer("count"), snapshot.integer("sequence")
        if len(snapshot.parts) != 1 or len(snapshot.parts[0]) % _SLOT:
            raise SnapshotRefused("expected one list of digests in the snapshot")
        if not self._directory.exists():
            raise SnapshotRefused(f"the store {self._directory} is missing; rebuild it")
        try:
            store = plyvel.DB(str(self._directory), create_if_missing=False)
        except plyvel.Error as error:
            raise SnapshotRefused(f"the store {self._directory} can't be opened: {error}; rebuild it") from error
        try:
            meta = _take_back(store, str(snapshot.state.get("identity")), sequence)
        finally:
            store.close()
        self._open(meta)
        self._fresh = set(_cut(snapshot.parts[0]))
        self._count = count
        self._dumped_sequence = sequence

    def __len__(self) -> int:
        return self._count

    async def aclose(self) -> None:
        self._close()

    def _digests(self, urls: Sequence[str]) -> list[bytes]:
        return _cut(self._kernel.digest_many(urls))

    def _opened(self) -> plyvel.DB:
        if self._store is None:
            plyvel.destroy_db(str(self._directory))
            self._directory.mkdir(parents=True, exist_ok=True)
            self._open(_Meta(os.urandom(16).hex(), 0))
        assert self._store is not None
        return self._store

    def _open(self, meta: _Meta) -> None:
        self._store = plyvel.DB(
            str(self._directory),
            create_if_missing=True,
            lru_cache_size=_CACHE_BYTES,
            write_buffer_size=_WRITE_BUFFER_BYTES,
            bloom_filter_bits=10,
            # Digests do not compress.
            compression=None,
        )
        self._meta = meta
        self._store.put(_META, msgspec.json.encode(meta))

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()
        self._store = None
        self._meta = _Meta("", 0)
        self._fresh = set()
        self._count = 0
        self._dumped_sequence = 0
        self._most_fresh_bytes = 0
        self._most_used_bytes = 0

    def _fresh_bytes(self) -> int:
        return sys.getsizeof(self._fresh) + len(self._fresh) * object_bytes(bytes(_SLOT))

    def _used_bytes(self) -> int:
        used = None if self._store is None else self._store.get_property(b"leveldb.approximate-memory-usage")
        return int(used or 0)

    def _unmapped_bytes(self, tables: int) -> int:
        if not tables:
            return 0
        unmapped = max(0, min(tables, _OPEN_TABLES) - mapped_files(self._directory))
        return int(self._count * _TABLE_BYTES_PER_URL * unmapped / tables)

    def _spill(self) -> None:
        self._most_fresh_bytes = max(self._most_fresh_bytes, self._fresh_bytes())
        self._write(b"+", list(self._fresh))
        self._fresh = set()

    def _write(self, change: bytes, digests: list[bytes]) -> None:
        meta = _Meta(self._meta.identity, self._meta.sequence + 1)
        with self._opened().write_batch(transaction=True) as batch:
            for digest in digests:
                if change == b"+":
                    batch.put(_DIGEST + digest, b"")
                else:
                    batch.delete(_DIGEST + digest)
            batch.put(_undo_key(meta.sequence), change + b"".join(digests))
            batch.put(_META, msgspec.json.encode(meta))
        self._meta = meta
        self._most_used_bytes = max(self._most_used_bytes, self._used_bytes())

    def _forget_how_to_undo(self, sequence: int) -> None:
        """Up to the snapshot before the last: the last may not be in its place yet."""
        store = self._opened()
        with store.write_batch() as batch:
            for key in store.iterator(start=_UNDO, stop=_undo_key(sequence + 1), include_value=False):
                batch.delete(key)

    def _state(self) -> dict[str, Value]:
        return {"count": self._count, "identity": self._meta.identity, "sequence": self._meta.sequence}


def _take_back(store: plyvel.DB, identity: str, sequence: int) -> _Meta:
    """Undo what was written after `sequence`. Raises SnapshotRefused when that can't be."""
    try:
        meta = msgspec.json.decode(store.get(_META) or b"", type=_Meta)
    except msgspec.DecodeError as error:
        raise SnapshotRefused(f"the store has no identity: {error}; rebuild it") from error
    if meta.identity != identity:
        raise SnapshotRefused("the store is not the one of this snapshot; rebuild it")
    if meta.sequence < sequence:
        raise SnapshotRefused(f"the store stands at write {meta.sequence}, the snapshot at {sequence}; rebuild it")
    for later in range(meta.sequence, sequence, -1):
        record = store.get(_undo_key(later))
        if record is None:
            raise SnapshotRefused(f"the store is newer than the snapshot, and can't undo write {later}; rebuild it")
        before = _Meta(identity, later - 1)
        with store.write_batch(transaction=True) as batch:
            for digest in _cut(record[1:]):
                if record[:1] == b"+":
                    batch.delete(_DIGEST + digest)
                else:
                    batch.put(_DIGEST + digest, b"")
            batch.delete(_undo_key(later))
            batch.put(_META, msgspec.json.encode(before))
    return _Meta(identity, sequence)


def _cut(digests: bytes | Memory) -> list[bytes]:
    return [bytes(digests[at : at + _SLOT]) for at in range(0, len(digests), _SLOT)]


def _undo_key(sequence: int) -> bytes:
    return _UNDO + sequence.to_bytes(8, "big")
