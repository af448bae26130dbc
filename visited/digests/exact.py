"""The exact set: MD5 digests in a compact table in memory."""

import sys
from collections.abc import Sequence
from typing import BinaryIO, Final

import numpy as np

from visited.bits.kernel import (
    ADD,
    FORGET,
    TEST,
    Kernel,
    best_kernel,
)
from visited.bits.memory import Memory, allocated_bytes, zeros
from visited.bits.numpy_table import SLOT, spread
from visited.descriptor import Cost, Descriptor, NoOptions, Parameters
from visited.protocol import SnapshotRefused, VisitedStats
from visited.snapshot import Value, read_snapshot, write_snapshot

BACKEND = "exact"

_BYTES_PER_URL = 20.3
"""The table's mean size between two growths, as tests/bench/visited.py measures."""

_SHARD_BITS = 5
# A larger set has 32 shards. They grow one at a time, which takes little time and memory, and each is large enough for
# a memory map of its own.
_MAX_IN_ONE_SHARD = 32_768


class ExactSet:
    """Stores the MD5 digest of each URL: 18 to 22 bytes per URL.

    Two of n URLs have the same digest with a probability of n²/2^129. A shard grows by a fifth, one of 32 at a time.
    """

    is_prompt: Final = True

    def __init__(self, *, kernel: Kernel | None = None) -> None:
        self._kernel = kernel or best_kernel()
        self._shards: list[Memory]
        self._reset()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        absent, added = self._kernel.table_probe(urls, self._shards, self._counts, ADD)
        self._count += added
        if len(self._shards) == 1 and self._count > _MAX_IN_ONE_SHARD:
            self._split_into_shards()
        return absent

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Return for each URL whether it is known, without remembering it. For inspection and comparison."""
        absent, _ = self._kernel.table_probe(urls, self._shards, self._counts, TEST)
        return [not verdict for verdict in absent]

    async def forget_many(self, urls: Sequence[str], /) -> int:
        _, change = self._kernel.table_probe(urls, self._shards, self._counts, FORGET)
        self._count += change
        return -change

    def describe(self) -> VisitedStats:
        sizes = list(map(len, self._shards))
        slots = sum(sizes) // SLOT
        return VisitedStats(
            backend=BACKEND,
            count=self._count,
            capacity=None,
            memory_bytes=sum(map(allocated_bytes, sizes)) + sys.getsizeof(self._shards) + self._counts.nbytes,
            fill=self._count / slots if slots else 0.0,
            details={"shards": len(self._shards), "kernel": self._kernel.name},
        )

    def dump(self, file: BinaryIO, /) -> None:
        state: dict[str, Value] = {"count": self._count, "counts": self._counts.tolist()}
        write_snapshot(file, backend=BACKEND, parameters=self._parameters(), state=state, parts=self._shards)

    def load(self, file: BinaryIO, /) -> None:
        self._reset()
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

    def _reset(self) -> None:
        self._shards = [zeros(0)]
        self._counts = np.zeros(1, dtype=np.int64)
        self._count = 0

    def _split_into_shards(self) -> None:
        """Split the one shard into 32, by the first bits of the digests. They are in order."""
        rows = np.frombuffer(self._shards[0], dtype=np.uint8).reshape(-1, SLOT)
        count = 1 << _SHARD_BITS
        # An empty slot belongs to the shard of the digest before it.
        ends = np.searchsorted(np.maximum.accumulate(rows[:, 0] >> 8 - _SHARD_BITS), np.arange(count + 1))
        shards: list[Memory] = []
        counts = np.zeros(count, dtype=np.int64)
        for first in range(count):
            part = rows[ends[first] : ends[first + 1]]
            counts[first] = part.any(axis=1).sum()
            # With different initial sizes the shards grow at different times, so that memory rises evenly.
            slots = int(counts[first] * (1.2 + 0.24 * first / count)) + 8
            shards.append(spread(bytearray(part.tobytes()), slots, _SHARD_BITS))
        self._counts = counts
        self._shards = shards

    def _parameters(self) -> dict[str, Value]:
        return {"hash": "md5", "layout": "ordered"}


def _make(_parameters: Parameters, _options: NoOptions) -> ExactSet:
    return ExactSet()


def _cost(count: int, _error_rate: float, _options: NoOptions) -> Cost:
    return Cost(memory_bytes=count * _BYTES_PER_URL)


DESCRIPTOR = Descriptor(
    name=BACKEND,
    make=_make,
    cost=_cost,
    is_advised=True,
    is_exact=True,
    can_forget=True,
)
