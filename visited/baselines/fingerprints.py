"""The hash map of the literature: 64-bit fingerprints in open addressing, with at least half of the slots empty."""

import math
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from visited.bits.kernel import Kernel, best_kernel
from visited.bits.memory import allocated_bytes, zeros
from visited.descriptor import Descriptor
from visited.protocol import SnapshotRefused, VisitedStats
from visited.snapshot import Value, read_snapshot, write_snapshot

BACKEND = "fingerprints"

_MIN_SLOTS = 64
_PIECE = 1 << 14
_EMPTY, _DELETED = 0, 1

Words = NDArray[np.uint64]


class FingerprintSet:
    """Stores the first 64 bits of each URL's MD5: 16 to 32 bytes per URL.

    Two URLs have the same fingerprint with a probability of 2^-64. So with n URLs the next one is lost with a
    probability of n/2^64: 5e-11 at a billion.
    """

    def __init__(self, *, kernel: Kernel | None = None) -> None:
        self._kernel = kernel or best_kernel()
        self._slots: Words
        self._reset()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        fingerprints = self._fingerprints(urls)
        unique, first = np.unique(fingerprints, return_index=True)
        _, absent = self._find(unique)
        added = int(absent.sum())
        if (self._used + added) * 2 > len(self._slots):
            self._rehash(self._count + added)
        fresh = np.zeros(len(urls), dtype=np.bool_)
        fresh[first[absent]] = True
        self._insert(unique[absent])
        self._count += added
        self._used += added
        self._expected_lost += added * self._count / 2**64
        return fresh.tolist()

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        known: list[bool] = (~self._find(self._fingerprints(urls))[1]).tolist()
        return known

    async def forget_many(self, urls: Sequence[str], /) -> int:
        places, absent = self._find(np.unique(self._fingerprints(urls)))
        self._slots[places[~absent]] = _DELETED
        forgotten = int((~absent).sum())
        self._count -= forgotten
        return forgotten

    def describe(self) -> VisitedStats:
        return VisitedStats(
            backend=BACKEND,
            count=self._count,
            capacity=None,
            memory_bytes=allocated_bytes(self._slots.nbytes),
            fill=self._used / len(self._slots),
            false_positive_rate=self._count / 2**64,
            expected_lost=self._expected_lost,
            lost_sigma=math.sqrt(self._expected_lost),
            details={"slots": len(self._slots)},
        )

    def dump(self, file: BinaryIO, /) -> None:
        state: dict[str, Value] = {
            "count": self._count,
            "used": self._used,
            "expected_lost": self._expected_lost,
        }
        parts = [self._slots.data]
        write_snapshot(file, backend=BACKEND, parameters={"hash": "md5-64"}, state=state, parts=parts)

    def load(self, file: BinaryIO, /) -> None:
        self._reset()
        snapshot = read_snapshot(file, backend=BACKEND, parameters={"hash": "md5-64"})
        count, used = snapshot.integer("count"), snapshot.integer("used")
        lost = snapshot.number("expected_lost")
        sizes = [len(part) // 8 for part in snapshot.parts]
        if len(sizes) != 1 or sizes[0] < _MIN_SLOTS or sizes[0] & sizes[0] - 1 or used * 2 > sizes[0]:
            raise SnapshotRefused(f"expected one table of a power of two of slots, at most half full, found {sizes}")
        self._slots = np.frombuffer(snapshot.parts[0], dtype=np.uint64)
        self._count, self._used, self._expected_lost = count, used, lost

    def __len__(self) -> int:
        return self._count

    async def aclose(self) -> None:
        """Nothing to close."""

    def _reset(self) -> None:
        self._slots = np.frombuffer(zeros(_MIN_SLOTS * 8), dtype=np.uint64)
        self._count = 0
        self._used = 0
        self._expected_lost = 0.0

    def _fingerprints(self, urls: Sequence[str]) -> Words:
        words: Words = np.frombuffer(self._kernel.digest_many(urls), dtype="<u8")[::2]
        # Zero marks an empty slot, one a deleted entry.
        return np.where(words > _DELETED, words, np.uint64(_DELETED + 1))

    def _find(self, fingerprints: Words) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the slot of each fingerprint, and whether it is absent."""
        mask = len(self._slots) - 1
        places = (fingerprints & np.uint64(mask)).astype(np.int64)
        absent = np.zeros(len(fingerprints), dtype=np.bool_)
        open_rows = np.arange(len(fingerprints))
        while len(open_rows):
            there = self._slots[places[open_rows]]
            absent[open_rows[there == _EMPTY]] = True
            open_rows = open_rows[(there != _EMPTY) & (there != fingerprints[open_rows])]
            places[open_rows] = places[open_rows] + 1 & mask
        return places, absent

    def _insert(self, absent: Words) -> None:
        """Insert absent, distinct fingerprints. If several try one slot, the last gets it and the others try the
        next."""
        mask = len(self._slots) - 1
        for start in range(0, len(absent), _PIECE):
            fingerprints = absent[start : start + _PIECE]
            places = (fingerprints & np.uint64(mask)).astype(np.int64)
            while len(fingerprints):
                free = self._slots[places] == _EMPTY
                self._slots[places[free]] = fingerprints[free]
                placed = self._slots[places] == fingerprints
                fingerprints, places = fingerprints[~placed], places[~placed] + 1 & mask

    def _rehash(self, wanted: int) -> None:
        old, slots = self._slots, len(self._slots)
        while slots < wanted * 2:
            slots *= 2
        self._slots = np.frombuffer(zeros(slots * 8), dtype=np.uint64)
        for start in range(0, len(old), _PIECE):
            part = old[start : start + _PIECE]
            self._insert(part[part > _DELETED])
        self._used = self._count


DESCRIPTOR = Descriptor(name=BACKEND, make=lambda _parameters, _options: FingerprintSet(), can_forget=True)
