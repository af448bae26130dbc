"""The exact set for more URLs than fit into memory: MD5 digests in LevelDB."""

import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

import plyvel

from visited.bits.kernel import Kernel, best_kernel
from visited.bits.memory import object_bytes
from visited.descriptor import Cost, Descriptor, NoOptions, Parameters
from visited.digests.digest_store import DigestStore
from visited.digests.undo_log import DIGEST_BYTES, split_digests
from visited.full_disk import ignore_full_disk
from visited.protocol import SnapshotRefused, VisitedStats
from visited.snapshot import Value, read_snapshot, write_snapshot

BACKEND = "exact-leveldb"

_MOST_BYTES = 9 << 20
"""Two write buffers and what LevelDB needs beside them. More if it can't map its tables."""
_DISK_BYTES_PER_URL = 40
"""A digest, its share of blocks and index, and what compaction has not removed yet."""

_MAX_AT_ONCE = 8192
"""Digests to write in one call, which takes about 30 ms. After the disk was full there may be many more."""


class LevelDBSet:
    """Stores the MD5 digest of each URL on disk. Uses 1 to 9 MB of memory for any number of URLs.

    Digests that are added or forgotten gather in memory. They are written `spill` at a time, together with an undo
    record. So after a crash the store may be ahead of the last snapshot; `load` rolls it back, so that a URL whose
    other records are lost is new again. While the disk is full all digests stay in memory.

    LevelDB maps its tables, which does not count as memory of the process. But it maps only a thousand tables of all
    stores together. If another store uses these maps, it keeps up to 16 MB of blocks in memory, and filter and index of
    each table that is not mapped.
    """

    is_prompt: Final = True

    def __init__(
        self,
        directory: Path,
        *,
        spill: int = 2048,
        kernel: Kernel | None = None,
        open_database: Callable[[Path], plyvel.DB] | None = None,
    ) -> None:
        """Nothing else may use `directory`. Adding the first URL deletes what is in it, unless `load` was called
        before.

        `open_database` replaces LevelDB in tests that inject faults.
        """
        self._store = DigestStore(directory, open_database=open_database)
        self._spill_at = spill
        self._kernel = kernel or best_kernel()
        self._to_add: set[bytes]
        """Known digests that are not in the store yet."""
        self._to_remove: set[bytes]
        """Forgotten digests that are still in the store."""
        self._count: int
        self._dumped_sequence: int
        self._reset()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        to_add, to_remove = self._to_add, self._to_remove
        digests = self._digests(urls)
        stored = self._store.find(digest for digest in digests if digest not in to_add)
        verdicts = []
        for digest in digests:
            if to_remove and digest in to_remove:
                to_remove.remove(digest)
                verdicts.append(True)
                continue
            new = digest not in to_add and digest not in stored
            if new:
                to_add.add(digest)
            verdicts.append(new)
        self._count += sum(verdicts)
        self._spill_if_due()
        return verdicts

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        digests = self._digests(urls)
        known = self._to_add | (self._store.find(digests) - self._to_remove)
        return [digest in known for digest in digests]

    async def forget_many(self, urls: Sequence[str], /) -> int:
        digests = set(self._digests(urls))
        unwritten = digests & self._to_add
        stored = self._store.find(digests - unwritten - self._to_remove)
        self._to_add -= unwritten
        self._to_remove |= stored
        self._count -= len(unwritten) + len(stored)
        self._spill_if_due()
        return len(unwritten) + len(stored)

    def describe(self) -> VisitedStats:
        return VisitedStats(
            backend=BACKEND,
            count=self._count,
            capacity=None,
            memory_bytes=self._unwritten_bytes() + self._store.memory_bytes(self._count),
            disk_bytes=self._store.disk_bytes,
            details={"unwritten": len(self._to_add) + len(self._to_remove), "writes": self._store.sequence},
        )

    def dump(self, file: BinaryIO, /) -> None:
        """Write the digests that are not in the store, and the number of the store's last write."""
        self._store.open()
        state: dict[str, Value] = {
            "count": self._count,
            "identity": self._store.identity,
            "sequence": self._store.sequence,
        }
        parts = [b"".join(self._to_add), b"".join(self._to_remove)]
        write_snapshot(file, backend=BACKEND, parameters={"hash": "md5"}, state=state, parts=parts)
        # Keeps the undo records since the snapshot before, because writing this one may still fail.
        with ignore_full_disk():
            self._store.delete_undo_records(self._dumped_sequence)
        self._dumped_sequence = self._store.sequence

    def load(self, file: BinaryIO, /) -> None:
        self._store.close()
        self._reset()
        snapshot = read_snapshot(file, backend=BACKEND, parameters={"hash": "md5"})
        count, sequence = snapshot.integer("count"), snapshot.integer("sequence")
        if len(snapshot.parts) != 2 or any(len(part) % DIGEST_BYTES for part in snapshot.parts):
            raise SnapshotRefused("expected two lists of digests in the snapshot")
        self._store.open_at(str(snapshot.state.get("identity")), sequence)
        self._to_add, self._to_remove = (set(split_digests(part)) for part in snapshot.parts)
        self._count = count
        self._dumped_sequence = sequence

    def __len__(self) -> int:
        return self._count

    async def aclose(self) -> None:
        self._store.close()
        self._reset()

    def _reset(self) -> None:
        self._to_add = set()
        self._to_remove = set()
        self._count = 0
        self._dumped_sequence = 0
        self._next_spill = self._spill_at

    def _digests(self, urls: Sequence[str]) -> list[bytes]:
        return split_digests(self._kernel.digest_many(urls))

    def _unwritten_bytes(self) -> int:
        digests = len(self._to_add) + len(self._to_remove)
        return (
            sys.getsizeof(self._to_add) + sys.getsizeof(self._to_remove) + digests * object_bytes(bytes(DIGEST_BYTES))
        )

    def _spill_if_due(self) -> None:
        unwritten = len(self._to_add) + len(self._to_remove)
        if unwritten < self._next_spill:
            return
        # If the disk is full, the next attempt follows after as many more digests.
        self._next_spill = unwritten + self._spill_at
        with ignore_full_disk():
            self._spill()
            self._next_spill = self._spill_at

    def _spill(self) -> None:
        to_remove = set(islice(self._to_remove, _MAX_AT_ONCE))
        if to_remove:
            self._store.remove(to_remove)
            self._to_remove = self._to_remove - to_remove
        to_add = set(islice(self._to_add, _MAX_AT_ONCE))
        if to_add:
            self._store.add(to_add)
            self._to_add = self._to_add - to_add


def _make(parameters: Parameters, _options: NoOptions) -> LevelDBSet:
    assert parameters.directory is not None
    return LevelDBSet(parameters.directory)


DESCRIPTOR = Descriptor(
    name=BACKEND,
    make=_make,
    needs=frozenset({"directory"}),
    folder="exact",
    cost=lambda count, _error_rate, _options: Cost(memory_bytes=_MOST_BYTES, disk_bytes=count * _DISK_BYTES_PER_URL),
    is_advised=True,
    is_exact=True,
    can_forget=True,
)
