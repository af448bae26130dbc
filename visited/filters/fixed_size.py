"""What the filters of a fixed size share: an array, how much of it is set, and what was taken on the way."""

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from visited import sizing
from visited.bits.memory import allocated_bytes, zeros
from visited.bits.numpy_kernel import hash_words
from visited.bits.numpy_sketch import SKETCH_BYTES, change_probability, count_lost, lost_and_variance
from visited.filters.loss_estimate import LossEstimate
from visited.protocol import SnapshotRefused, VisitedStats
from visited.snapshot import Part, Snapshot, Value, Values, read_snapshot, write_snapshot

_HIGH_RATE = 0.5
"""Below it the rate is the better witness but for the first few thousand URLs."""


class FixedSize:
    """The cells of a filter, bits or counters, `ones` of which are set, and the tally of its URLs.

    A filter loses the more, the fewer URLs it accepts, and one that is full accepts none. So there are two estimates
    of what each batch loses, and the one with the smaller variance is taken, by what is known before the batch. One
    follows from the accepted URLs and the rate (`LossEstimate`): its variance is p/(1 - p) for each new URL. The other
    follows from a sketch of the distinct URLs: its variance is p·(1 - q)/q.
    """

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
        self.sketch: NDArray[np.uint8] | None
        """None after an older snapshot, which had none."""
        self.is_sampled: bool
        """Whether the next losses are read from the sketch."""
        self.empty()

    def empty(self) -> None:
        """Begin anew."""
        self.array = np.frombuffer(zeros(self._size_bytes), dtype=self._dtype)
        self.ones = 0
        self.sketch = np.frombuffer(zeros(SKETCH_BYTES), dtype=np.uint8)
        self.is_sampled = False
        self.tally.empty()

    def rate(self) -> float:
        """The false-positive rate by the fill."""
        return sizing.rate_from_fill(self.ones, self._cells, self._hashes)

    def accept(self, new: int, ones: int) -> None:
        """Count new URLs that have set so many more cells, but few of all. To be called for each batch that has new
        URLs, and for every batch while `is_sampled`."""
        if new:
            # The last URL's own cells do not belong to the rate that it met.
            mean_rate = ((self.ones + (ones - ones / new) / 2) / self._cells) ** self._hashes
        else:
            mean_rate = self.rate()
        self.accept_at(new, ones, mean_rate=mean_rate)

    def accept_at(self, new: int, ones: int, *, mean_rate: float, rate: float | None = None) -> None:
        """The same with the rates during and after the batch; without `rate` it follows from the fill."""
        tally = self.tally
        if self.is_sampled and self.sketch is not None:
            lost, variance = lost_and_variance(self.sketch)
            tally.count_lost(new, lost - self._lost_before, variance - self._variance_before)
        else:
            tally.accept(new, mean_rate)
        self.ones += ones
        if mean_rate > _HIGH_RATE:
            self._choose_estimate(self.rate() if rate is None else rate)
        if tally.count > tally.limit:
            tally.warn(self.rate() if rate is None else rate)

    def count_lost(self, urls: Sequence[str], absent: Sequence[bool] | NDArray[np.bool_]) -> None:
        """Count lost URLs in the sketch, for a filter whose kernel does not."""
        count_lost(self.sketch, hash_words(urls, 0)[:, 1], np.asarray(absent, dtype=np.bool_))

    def _choose_estimate(self, rate: float) -> None:
        if self.sketch is None:
            return
        chance = change_probability(self.sketch)
        self.is_sampled = (1 - rate) * (1 - chance) < chance
        self._lost_before, self._variance_before = lost_and_variance(self.sketch)

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
            memory_bytes=allocated_bytes(self._size_bytes) + allocated_bytes(SKETCH_BYTES) + tables_bytes,
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
            parts=[self.array.data, *tables, *([] if self.sketch is None else [self.sketch.data])],
        )

    def read(self, file: BinaryIO, *, tables_bytes: Sequence[int] = ()) -> Snapshot:
        """What `dump` wrote, to be taken over. Raises SnapshotRefused; is empty afterwards."""
        self.empty()
        snapshot = read_snapshot(file, backend=self._backend, parameters=self._parameters)
        expected, found = [self._size_bytes, *tables_bytes], list(map(len, snapshot.parts))
        if found not in (expected, [*expected, SKETCH_BYTES]):
            raise SnapshotRefused(f"expected parts of {expected} bytes in the snapshot, found {found}")
        return snapshot

    def take(self, snapshot: Snapshot, *, tables: int = 0, rate: float | None = None) -> None:
        """Be what was read. Raises SnapshotRefused, and is then as it was."""
        ones = snapshot.integer("ones")
        self.tally.load(snapshot)
        self.array = np.frombuffer(snapshot.parts[0], dtype=self._dtype)
        self.ones = ones
        sketches = snapshot.parts[1 + tables :]
        self.sketch = np.frombuffer(sketches[0], dtype=np.uint8) if sketches else None
        self._choose_estimate(self.rate() if rate is None else rate)
