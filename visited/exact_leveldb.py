"""The exact set for more than memory: MD5 digests in LevelDB."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import plyvel

from visited.digeststore import DIGEST_BYTES, DigestStore, cut
from visited.fulldisk import put_off_without_room
from visited.kernel import Kernel, best_kernel
from visited.memory import object_bytes
from visited.protocol import SnapshotRefused, VisitedStats
from visited.snapshot import Value, read_snapshot, write_snapshot

BACKEND = "exact-leveldb"


class LevelDBSet:
    """Knows each URL by its MD5 digest, on disk, and takes the same memory for any number of them: 5 to 8 MB.

    New digests gather in memory and are written `spill` at a time, together with a record of how to undo that. So the
    store may be ahead of the last snapshot, as after a crash, and is taken back to it by `load`: a URL of which nothing
    else was stored is new again. While the disk has no room they stay in memory; only forgetting then fails.

    It tells the most memory that it has taken: what LevelDB frees, in small pieces, the C library keeps as a rule.
    Tables are mapped, which is no memory of the process. But LevelDB maps a thousand in all: beside another store as
    large as that it keeps up to 16 MB of blocks, and filter and index of each table that is not mapped.
    """

    def __init__(
        self,
        directory: Path,
        *,
        spill: int = 4096,
        kernel: Kernel | None = None,
        open_database: Callable[[Path], plyvel.DB] | None = None,
    ) -> None:
        """`directory` is for this set alone. What is in it is deleted by the first URL, unless `load` comes before.

        `open_database` stands in for LevelDB where faults are to be injected.
        """
        self._store = DigestStore(directory, open_database=open_database)
        self._spill_at = spill
        self._kernel = kernel or best_kernel()
        self._fresh: set[bytes]
        self._count: int
        self._dumped_sequence: int
        self._empty()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        fresh = self._fresh
        digests = self._digests(urls)
        stored = self._store.stored(digest for digest in digests if digest not in fresh)
        verdicts = []
        for digest in digests:
            new = digest not in fresh and digest not in stored
            if new:
                fresh.add(digest)
            verdicts.append(new)
        self._count += sum(verdicts)
        if len(fresh) >= self._next_spill:
            self._spill()
        return verdicts

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Tell for each URL whether it is known, without remembering it; for inspection and comparison."""
        digests = self._digests(urls)
        stored = self._store.stored(digests)
        return [digest in self._fresh or digest in stored for digest in digests]

    async def forget_many(self, urls: Sequence[str], /) -> int:
        digests = set(self._digests(urls))
        young = digests & self._fresh
        stored = self._store.stored(digests - young)
        if stored:
            self._store.remove(stored)
        self._fresh -= young
        self._count -= len(young) + len(stored)
        return len(young) + len(stored)

    def describe(self) -> VisitedStats:
        return VisitedStats(
            backend=BACKEND,
            count=self._count,
            capacity=None,
            memory_bytes=max(self._most_fresh_bytes, self._fresh_bytes()) + self._store.memory_bytes(self._count),
            disk_bytes=self._store.disk_bytes,
            details={"unwritten": len(self._fresh), "writes": self._store.sequence},
        )

    def dump(self, file: BinaryIO, /) -> None:
        """Writes what is not in the store, and where the store stands; the store stays where it is."""
        self._store.open()
        state: dict[str, Value] = {
            "count": self._count,
            "identity": self._store.identity,
            "sequence": self._store.sequence,
        }
        parts = [b"".join(self._fresh)]
        write_snapshot(file, backend=BACKEND, parameters={"hash": "md5"}, state=state, parts=parts)
        # Up to the snapshot before this one, which may never come to its place.
        with put_off_without_room():
            self._store.forget_how_to_undo(self._dumped_sequence)
        self._dumped_sequence = self._store.sequence

    def load(self, file: BinaryIO, /) -> None:
        self._store.close()
        self._empty()
        snapshot = read_snapshot(file, backend=BACKEND, parameters={"hash": "md5"})
        count, sequence = snapshot.integer("count"), snapshot.integer("sequence")
        if len(snapshot.parts) != 1 or len(snapshot.parts[0]) % DIGEST_BYTES:
            raise SnapshotRefused("expected one list of digests in the snapshot")
        self._store.open_at(str(snapshot.state.get("identity")), sequence)
        self._fresh = set(cut(snapshot.parts[0]))
        self._count = count
        self._dumped_sequence = sequence

    def __len__(self) -> int:
        return self._count

    async def aclose(self) -> None:
        self._store.close()
        self._empty()

    def _empty(self) -> None:
        self._fresh = set()
        self._most_fresh_bytes = 0
        self._count = 0
        self._dumped_sequence = 0
        self._next_spill = self._spill_at

    def _digests(self, urls: Sequence[str]) -> list[bytes]:
        return cut(self._kernel.digest_many(urls))

    def _fresh_bytes(self) -> int:
        return sys.getsizeof(self._fresh) + len(self._fresh) * object_bytes(bytes(DIGEST_BYTES))

    def _spill(self) -> None:
        self._most_fresh_bytes = max(self._most_fresh_bytes, self._fresh_bytes())
        # Tried again after as many more, if there is no room.
        self._next_spill = len(self._fresh) + self._spill_at
        with put_off_without_room():
            self._store.add(self._fresh)
            self._fresh = set()
            self._next_spill = self._spill_at
