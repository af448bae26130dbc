"""The exact set: MD5 digests in a compact table in memory."""

import sys
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np

from visited.kernel import ADD, FORGET, TEST, Kernel, best_kernel
from visited.numpy_table import SLOT, spread
from visited.protocol import SnapshotRefused, VisitedStats
from visited.snapshot import Value, read_snapshot, write_snapshot

BACKEND = "exact"

_SHARD_BITS = 5
# A small set is one shard; beyond this, 32, of which one grows at a time, in a moment and with little memory.
_ONE_SHARD_MOST = 16_384


class ExactSet:
    """Knows each URL by its MD5 digest, at 18 to 22 bytes per URL, and never errs (n²/2^129 by chance).

    Growth is in steps of a fifth, one shard of 32 at a time.
    """

    def __init__(self, *, kernel: Kernel | None = None) -> None:
        self._kernel = kernel or best_kernel()
        self._empty()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        absent, added = self._kernel.table_probe(urls, self._shards, self._counts, ADD)
        self._count += added
        if len(self._shards) == 1 and self._count > _ONE_SHARD_MOST:
            self._divide()
        return absent

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Tell for each URL whether it is known, without remembering it; for inspection and comparison."""
        absent, _ = self._kernel.table_probe(urls, self._shards, self._counts, TEST)
        return [not verdict for verdict in absent]

    async def forget_many(self, urls: Sequence[str], /) -> int:
        _, change = self._kernel.table_probe(urls, self._shards, self._counts, FORGET)
        self._count += change
        return -change

    def describe(self) -> VisitedStats:
        memory = sum(map(sys.getsizeof, self._shards)) + sys.getsizeof(self._shards) + self._counts.nbytes
        slots = sum(map(len, self._shards)) // SLOT
        return VisitedStats(
            backend=BACKEND,
            count=self._count,
            capacity=None,
            memory_bytes=memory,
            fill=self._count / slots if slots else 0.0,
            details={"shards": len(self._shards), "kernel": self._kernel.name},
        )

    def dump(self, file: BinaryIO, /) -> None:
        state: dict[str, Value] = {"count": self._count, "counts": self._counts.tolist()}
        write_snapshot(file, backend=BACKEND, parameters=self._parameters(), state=state, parts=self._shards)

    def load(self, file: BinaryIO, /) -> None:
        self._empty()
        snapshot = read_snapshot(file, backend=BACKEND, parameters=self._parameters())
        counts, count = snapshot.integers("counts"), snapshot.integer("count")
        if len(snapshot.parts) != len(counts) or len(counts) not in (1, 1 << _SHARD_BITS) or sum(counts) != count:
            raise SnapshotRefused(f"the snapshot's {len(snapshot.parts)} shards and {len(counts)} counts do not agree")
        self._shards = snapshot.parts
        self._counts = np.array(counts, dtype=np.int64)
        self._count = count

    def __len__(self) -> int:
        return self._count

    async def aclose(self) -> None:
        """Nothing to close."""

    def _empty(self) -> None:
        self._shards = [bytearray()]
        self._counts = np.zeros(1, dtype=np.int64)
        self._count = 0

    def _divide(self) -> None:
        """Cut the one shard into 32 by the first bits of the digests, which stand in order."""
        rows = np.frombuffer(self._shards[0], dtype=np.uint8).reshape(-1, SLOT)
        live = rows[rows.any(axis=1)]
        count = 1 << _SHARD_BITS
        ends = np.searchsorted(live[:, 0] >> (8 - _SHARD_BITS), np.arange(count + 1))
        shards = []
        for first in range(count):
            part = live[ends[first] : ends[first + 1]]
            # Unequal starting sizes let the shards grow at different times, so that memory rises evenly.
            slots = int(len(part) * (1.2 + 0.24 * first / count)) + 8
            shards.append(spread(bytearray(part.tobytes()), slots, _SHARD_BITS))
        self._counts = np.diff(ends).astype(np.int64)
        self._shards = shards

    def _parameters(self) -> dict[str, Value]:
        return {"hash": "md5", "layout": "ordered"}
