"""The exact set for more than memory: MD5 digests in LevelDB."""

import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import plyvel

from visited.bits.kernel import Kernel, best_kernel
from visited.bits.memory import object_bytes
from visited.digests.digest_store import DIGEST_BYTES, DigestStore, cut
from visited.full_disk import ignore_full_disk
from visited.protocol import SnapshotRefused, VisitedStats
from visited.snapshot import Value, read_snapshot, write_snapshot

BACKEND = "exact-leveldb"

_MOST_AT_ONCE = 8192
"""Digests that are written in one call, which takes some 30 ms: after a full disk there may be many more."""


class LevelDBSet:
    """Knows each URL by its MD5 digest, on disk, and takes the same memory for any number of them: 1 to 9 MB.

    What is added and forgotten gathers in memory and is written `spill` digests at a time, together with a record of
    how to undo that. So the store may be ahead of the last snapshot, as after a crash, and is taken back to it by
    `load`: a URL of which nothing else was stored is new again. While the disk has no room all of it stays in memory.

    Tables are mapped, which is no memory of the process. But LevelDB maps a thousand in all: beside another store as
    large as that it keeps up to 16 MB of blocks, and filter and index of each table that is not mapped.
    """

    def __init__(
        self,
        directory: Path,
        *,
        spill: int = 2048,
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
        """Not in the store yet."""
        self._gone: set[bytes]
        """In the store still, and forgotten."""
        self._count: int
        self._dumped_sequence: int
        self._empty()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        fresh, gone = self._fresh, self._gone
        digests = self._digests(urls)
        stored = self._store.stored(digest for digest in digests if digest not in fresh)
        verdicts = []
        for digest in digests:
            if gone and digest in gone:
                gone.remove(digest)
                verdicts.append(True)
                continue
            new = digest not in fresh and digest not in stored
            if new:
                fresh.add(digest)
            verdicts.append(new)
        self._count += sum(verdicts)
        self._spill_if_due()
        return verdicts

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Tell for each URL whether it is known, without remembering it; for inspection and comparison."""
        digests = self._digests(urls)
        known = self._fresh | (self._store.stored(digests) - self._gone)
        return [digest in known for digest in digests]

    async def forget_many(self, urls: Sequence[str], /) -> int:
        digests = set(self._digests(urls))
        fresh = digests & self._fresh
        stored = self._store.stored(digests - fresh - self._gone)
        self._fresh -= fresh
        self._gone |= stored
        self._count -= len(fresh) + len(stored)
        self._spill_if_due()
        return len(fresh) + len(stored)

    def describe(self) -> VisitedStats:
        return VisitedStats(
            backend=BACKEND,
            count=self._count,
            capacity=None,
            memory_bytes=self._unwritten_bytes() + self._store.memory_bytes(self._count),
            disk_bytes=self._store.disk_bytes,
            details={"unwritten": len(self._fresh) + len(self._gone), "writes": self._store.sequence},
        )

    def dump(self, file: BinaryIO, /) -> None:
        """Writes what is not in the store, and where the store stands; the store stays where it is."""
        self._store.open()
        state: dict[str, Value] = {
            "count": self._count,
            "identity": self._store.identity,
            "sequence": self._store.sequence,
        }
        parts = [b"".join(self._fresh), b"".join(self._gone)]
        write_snapshot(file, backend=BACKEND, parameters={"hash": "md5"}, state=state, parts=parts)
        # Up to the snapshot before this one, which may never come to its place.
        with ignore_full_disk():
            self._store.forget_how_to_undo(self._dumped_sequence)
        self._dumped_sequence = self._store.sequence

    def load(self, file: BinaryIO, /) -> None:
        self._store.close()
        self._empty()
        snapshot = read_snapshot(file, backend=BACKEND, parameters={"hash": "md5"})
        count, sequence = snapshot.integer("count"), snapshot.integer("sequence")
        if len(snapshot.parts) != 2 or any(len(part) % DIGEST_BYTES for part in snapshot.parts):
            raise SnapshotRefused("expected two lists of digests in the snapshot")
        self._store.open_at(str(snapshot.state.get("identity")), sequence)
        self._fresh, self._gone = (set(cut(part)) for part in snapshot.parts)
        self._count = count
        self._dumped_sequence = sequence

    def __len__(self) -> int:
        return self._count

    async def aclose(self) -> None:
        self._store.close()
        self._empty()

    def _empty(self) -> None:
        self._fresh = set()
        self._gone = set()
        self._count = 0
        self._dumped_sequence = 0
        self._next_spill = self._spill_at

    def _digests(self, urls: Sequence[str]) -> list[bytes]:
        return cut(self._kernel.digest_many(urls))

    def _unwritten_bytes(self) -> int:
        digests = len(self._fresh) + len(self._gone)
        return sys.getsizeof(self._fresh) + sys.getsizeof(self._gone) + digests * object_bytes(bytes(DIGEST_BYTES))

    def _spill_if_due(self) -> None:
        unwritten = len(self._fresh) + len(self._gone)
        if unwritten < self._next_spill:
            return
        # Tried again after as many more, if there is no room.
        self._next_spill = unwritten + self._spill_at
        with ignore_full_disk():
            self._spill()
            self._next_spill = self._spill_at

    def _spill(self) -> None:
        gone = set(islice(self._gone, _MOST_AT_ONCE))
        if gone:
            self._store.remove(gone)
            self._gone = self._gone - gone
        fresh = set(islice(self._fresh, _MOST_AT_ONCE))
        if fresh:
            self._store.add(fresh)
            self._fresh = self._fresh - fresh
