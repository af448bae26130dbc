"""What the filters of a fixed size share: an array, how much of it is set, and what was taken on the way."""

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from visited import sizing
from visited.bits.memory import held_bytes, zeros
from visited.filters.loss_estimate import LossEstimate
from visited.protocol import SnapshotRefused, VisitedStats
from visited.snapshot import Part, Snapshot, Value, Values, read_snapshot, write_snapshot


class FixedSize:
    """The cells of a filter, bits or counters, `ones` of which are set, and the tally of its URLs."""

    def __init__(
        self,
        *,
        backend: str,
        capacity: int,
        error_rate: float,
        cells: int,
        hashes: int,
        size_bytes: int,
        dtype: DTypeLike = np.uint64,
        parameters: Values,
    ) -> None:
        """`parameters`, besides capacity, rate, cells and hashes, must be equal for a snapshot to be taken."""
        self._backend = backend
        self._capacity = capacity
        self._cells = cells
        self._hashes = hashes
        self._size_bytes = size_bytes
        self._dtype = dtype
        self._parameters: dict[str, Value] = {
            "capacity": capacity,
            "error_rate": error_rate,
            "cells": cells,
            "hashes": hashes,
            **parameters,
        }
        self.tally = LossEstimate(backend=backend, capacity=capacity, error_rate=error_rate)
        self.array: NDArray[Any]
        self.ones: int
        self.empty()

    def empty(self) -> None:
        """Begin anew."""
        self.array = np.frombuffer(zeros(self._size_bytes), dtype=self._dtype)
        self.ones = 0
        self.tally.empty()

    def rate(self) -> float:
        """The false-positive rate by the fill."""
        return sizing.rate_from_fill(self.ones, self._cells, self._hashes)

    def accept(self, new: int, ones: int) -> None:
        """Count new URLs that have set so many more cells, but few of all."""
        tally = self.tally
        tally.accept(new, ((self.ones + ones / 2) / self._cells) ** self._hashes)
        self.ones += ones
        if tally.count > tally.limit:
            tally.warn(self.rate())

    def describe(
        self,
        details: Mapping[str, float | int | str],
        *,
        rate: float | None = None,
        tables_bytes: int = 0,
    ) -> VisitedStats:
        """With what only this filter has to tell, its rate where the fill does not tell it, and further memory."""
        return VisitedStats(
            backend=self._backend,
            count=self.tally.count,
            capacity=self._capacity,
            memory_bytes=held_bytes(self._size_bytes) + tables_bytes,
            fill=self.ones / self._cells,
            false_positive_rate=self.rate() if rate is None else rate,
            expected_lost=self.tally.expected_lost,
            lost_sigma=self.tally.lost_sigma,
            details={**details, "hashes": self._hashes},
        )

    def dump(self, file: BinaryIO, *, state: Values | None = None, tables: Sequence[Part] = ()) -> None:
        """Write the snapshot of the filter, with what else it has to keep."""
        write_snapshot(
            file,
            backend=self._backend,
            parameters=self._parameters,
            state={**self.tally.state(), "ones": self.ones, **(state or {})},
            parts=[self.array.data, *tables],
        )

    def read(self, file: BinaryIO, *, tables_bytes: Sequence[int] = ()) -> Snapshot:
        """What `dump` wrote, to be taken over. Raises SnapshotRefused; is empty afterwards."""
        self.empty()
        snapshot = read_snapshot(file, backend=self._backend, parameters=self._parameters)
        expected, found = [self._size_bytes, *tables_bytes], list(map(len, snapshot.parts))
        if found != expected:
            raise SnapshotRefused(f"expected parts of {expected} bytes in the snapshot, found {found}")
        return snapshot

    def take(self, snapshot: Snapshot) -> None:
        """Be what was read. Raises SnapshotRefused, and is then as it was."""
        ones = snapshot.integer("ones")
        self.tally.load(snapshot)
        self.array = np.frombuffer(snapshot.parts[0], dtype=self._dtype)
        self.ones = ones
