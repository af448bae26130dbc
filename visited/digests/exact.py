"""The exact set: MD5 digests in a compact table in memory."""

import os
import sys
from array import array
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import BinaryIO, Final

from visited.bits.kernel import (
    ADD,
    FORGET,
    TEST,
    Kernel,
    best_kernel,
)
from visited.bits.memory import Memory, allocated_bytes, object_bytes, zeros
from visited.descriptor import Cost, Descriptor
from visited.protocol import SnapshotRefused, VisitedStats
from visited.snapshot import Value, read_snapshot, write_snapshot

BACKEND = "exact"

_BYTES_PER_URL = 20.3
"""The table's mean size between two growths, as tests/bench/visited.py measures."""

_SLOT = 16
"""The bytes of a digest."""
_EMPTY = bytes(_SLOT)
_PARAMETERS: Final[Mapping[str, Value]] = {"hash": "md5", "layout": "ordered"}
_SHARD_BITS = 5
# A larger set has 32 shards. They grow one at a time, which takes little time and memory, and each is large enough for
# a memory map of its own.
_MAX_IN_ONE_SHARD = 32_768


class ExactSet:
    """Stores the MD5 digest of each URL: 18 to 22 bytes per URL.

    Two of n URLs have the same digest with a probability of n²/2^129. A shard grows by a fifth, one of 32 at a time.

    The order of the digests in the table depends on a random factor. Without it, a site could choose URLs whose digests
    all have the same place: to find one among a million of them would take milliseconds, and at the end of the table
    each would take a kilobyte.
    """

    is_prompt: Final = True

    def __init__(self, *, kernel: Kernel | None = None, factor: int | None = None) -> None:
        """`factor`, an odd number below 2^64, is random by default. A snapshot brings its own."""
        self._kernel = kernel or best_kernel()
        self._factor = int.from_bytes(os.urandom(8)) | 1 if factor is None else factor
        self._shards: list[Memory]
        self._reset()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        absent, added = self._kernel.table_probe(urls, self._shards, self._counts, ADD, self._factor)
        self._count += added
        if len(self._shards) == 1 and self._count > _MAX_IN_ONE_SHARD:
            self._split_into_shards()
        return absent

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        absent, _ = self._kernel.table_probe(urls, self._shards, self._counts, TEST, self._factor)
        return [not verdict for verdict in absent]

    async def forget_many(self, urls: Sequence[str], /) -> int:
        _, change = self._kernel.table_probe(urls, self._shards, self._counts, FORGET, self._factor)
        self._count += change
        return -change

    def describe(self) -> VisitedStats:
        sizes = list(map(len, self._shards))
        slots = sum(sizes) // _SLOT
        return VisitedStats(
            backend=BACKEND,
            count=self._count,
            capacity=None,
            memory_bytes=sum(map(allocated_bytes, sizes)) + sys.getsizeof(self._shards) + object_bytes(self._counts),
            fill=self._count / slots if slots else 0.0,
            details={"shards": len(self._shards), "kernel": self._kernel.name},
        )

    def dump(self, file: BinaryIO, /) -> None:
        state: dict[str, Value] = {"count": self._count, "counts": self._counts.tolist(), "factor": self._factor}
        write_snapshot(file, backend=BACKEND, parameters=_PARAMETERS, state=state, parts=self._shards)

    def load(self, file: BinaryIO, /) -> None:
        self._reset()
        snapshot = read_snapshot(file, backend=BACKEND, parameters=_PARAMETERS)
        factor = snapshot.integer("factor")
        if factor % 2 == 0 or not 0 < factor < 2**64:
            raise SnapshotRefused(f"the snapshot should have an odd factor below 2^64, found {factor!r}")
        counts, count = snapshot.integers("counts"), snapshot.integer("count")
        if len(snapshot.parts) != len(counts) or len(counts) not in (1, 1 << _SHARD_BITS) or sum(counts) != count:
            raise SnapshotRefused(f"the snapshot's {len(snapshot.parts)} shards and {len(counts)} counts do not agree")
        self._shards = snapshot.parts
        self._counts = array("q", counts)
        self._count, self._factor = count, factor

    def __len__(self) -> int:
        return self._count

    async def aclose(self) -> None:
        """Nothing to close."""

    def _reset(self) -> None:
        self._shards = [zeros(0)]
        self._counts = array("q", [0])
        self._count = 0

    def _split_into_shards(self) -> None:
        """Split the one shard into 32, by the first bits of the digests. They are in order."""
        count = 1 << _SHARD_BITS
        undivided = memoryview(self._shards[0])
        shards: list[Memory] = [zeros(0) for _ in range(count)]
        counts = array("q", bytes(8 * count))
        # One after the other: what all parts took at once, the C library might keep.
        for number, (start, end) in enumerate(pairwise(_starts(undivided))):
            part = bytearray(undivided[start:end])
            digests = sum(part[at : at + _SLOT] != _EMPTY for at in range(0, len(part), _SLOT))
            shards[number], counts[number] = part, digests
            # With different initial sizes the shards grow at different times, so that memory rises evenly.
            self._kernel.table_spread(shards, number, int(digests * (1.2 + 0.24 * number / count)) + 8)
        self._counts = counts
        self._shards = shards


def _starts(undivided: memoryview) -> list[int]:
    """Where the digests of each shard begin in a shard that is not divided yet, and its end. An empty slot goes with
    the digest before it."""
    starts = [0]
    for slot, first in enumerate(undivided[::_SLOT]):
        starts += [slot * _SLOT] * ((first >> 8 - _SHARD_BITS) + 1 - len(starts))
    return starts + [len(undivided)] * ((1 << _SHARD_BITS) + 1 - len(starts))


DESCRIPTOR = Descriptor(
    name=BACKEND,
    make=lambda _parameters, _options: ExactSet(),
    cost=lambda count, _error_rate, _options: Cost(memory_bytes=count * _BYTES_PER_URL),
    is_advised=True,
    is_exact=True,
    can_forget=True,
)
