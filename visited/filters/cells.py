"""What the filters of a fixed size share: an array of cells, how many are set, the estimate of what was lost, and the
formulas of what such a filter costs."""

from collections.abc import Mapping, Sequence
from typing import BinaryIO, Final

from visited import sizing
from visited.bits.memory import Memory, Part, allocated_bytes, zeros
from visited.bits.sketch import SKETCH_BYTES, change_probability, lost_and_variance
from visited.descriptor import Cost
from visited.filters.loss_estimate import LossEstimate
from visited.protocol import SnapshotRefused, VisitedStats
from visited.snapshot import Snapshot, Value, Values, read_snapshot, write_snapshot

CANNOT_FORGET: Final = "a Bloom filter can't forget: its bits are shared; use counting or exact"

_HIGH_RATE = 0.5
"""At lower rates the estimate from the rate is accurate enough; only at higher ones the sketch is considered."""


class FilterCells:
    """The cells of a filter: bits or counters, of which `ones` are not zero.

    A batch's loss can be estimated in two ways. The accepted URLs and the rate p give an estimate (`LossEstimate`)
    with a variance of p/(1 - p) for each new URL; it fails when the filter is full and accepts no URL. The sketch of
    distinct URLs gives another, with a variance of p·(1 - q)/q, where q is the chance that a new URL changes the
    sketch. Before each batch the one with the smaller variance is chosen, so the sum is not biased.
    """

    def __init__(
        self,
        *,
        backend: str,
        capacity: int,
        error_rate: float,
        cells: int,
        hashes: int,
        parameters: Values,
        cell_bits: int = 1,
    ) -> None:
        """A snapshot is only loaded if `parameters`, capacity, rate, cells and hashes are equal."""
        self._backend = backend
        self._capacity = capacity
        self.cell_count = cells
        self._hashes = hashes
        self._size_bytes = cells * cell_bits // 8
        self._parameters: dict[str, Value] = {
            "capacity": capacity,
            "error_rate": error_rate,
            "cells": cells,
            "hashes": hashes,
            **parameters,
        }
        self.losses = LossEstimate(backend=backend, capacity=capacity, error_rate=error_rate)
        self.array: Memory
        self.ones: int
        self.sketch: Memory
        self.uses_sketch: bool
        """Whether the loss of the next batch is read from the sketch."""
        self.reset()

    def reset(self) -> None:
        """Remove all URLs."""
        self.array = zeros(self._size_bytes)
        self.ones = 0
        self.sketch = zeros(SKETCH_BYTES)
        self.uses_sketch = False
        self.losses.reset()

    def rate(self) -> float:
        """The false-positive rate, from the fill."""
        return sizing.rate_from_fill(self.ones, self.cell_count, self._hashes)

    def count_batch(self, new: int, ones: int) -> None:
        """Count the new URLs of a batch and the cells that they set. A batch must be small against the filter.

        Must be called for each batch with new URLs, and for every batch while `uses_sketch`.
        """
        if new:
            # A URL's rate is that before it was added: the last URL's own cells do not count.
            mean_rate = ((self.ones + (ones - ones / new) / 2) / self.cell_count) ** self._hashes
        else:
            mean_rate = self.rate()
        self.count_batch_at(new, ones, mean_rate=mean_rate)

    def count_batch_at(self, new: int, ones: int, *, mean_rate: float, rate: float | None = None) -> None:
        """Do the same at a given mean rate. `rate` is the rate after the batch; None means the rate from the fill."""
        losses = self.losses
        if self.uses_sketch:
            lost, variance = lost_and_variance(self.sketch)
            losses.count_measured(new, lost - self._lost_before, variance - self._variance_before)
        else:
            losses.count_accepted(new, mean_rate)
        self.ones += ones
        after = self.rate() if rate is None else rate
        # The mean is low if this batch alone has filled a small filter, which accepts no URL from then on.
        if after > _HIGH_RATE:
            self._choose_estimate(after)
        if losses.count > losses.warning_limit:
            losses.warn(after)

    def describe(
        self,
        details: Mapping[str, float | int | str],
        *,
        rate: float | None = None,
        tables_bytes: int = 0,
    ) -> VisitedStats:
        """Describe the filter. `rate` overrides the rate from the fill, `tables_bytes` is the memory of its tables."""
        return VisitedStats(
            backend=self._backend,
            count=self.losses.count,
            capacity=self._capacity,
            memory_bytes=allocated_bytes(self._size_bytes) + allocated_bytes(SKETCH_BYTES) + tables_bytes,
            fill=self.ones / self.cell_count,
            false_positive_rate=self.rate() if rate is None else rate,
            expected_lost=self.losses.expected_lost,
            lost_sigma=self.losses.lost_sigma,
            details={**details, "hashes": self._hashes},
        )

    def dump(self, file: BinaryIO, *, state: Values | None = None, tables: Sequence[Part] = ()) -> None:
        """Write a snapshot of the filter, with further state and tables."""
        write_snapshot(
            file,
            backend=self._backend,
            parameters=self._parameters,
            state={**self.losses.state(), "ones": self.ones, **(state or {})},
            parts=[self.array, *tables, self.sketch],
        )

    def read(self, file: BinaryIO, *, tables_bytes: Sequence[int] = ()) -> Snapshot:
        """Remove all URLs and read a snapshot, for `restore`. Raises SnapshotRefused."""
        self.reset()
        snapshot = read_snapshot(file, backend=self._backend, parameters=self._parameters)
        expected, found = [self._size_bytes, *tables_bytes, SKETCH_BYTES], list(map(len, snapshot.parts))
        if found != expected:
            raise SnapshotRefused(f"expected parts of {expected} bytes in the snapshot, found {found}")
        return snapshot

    def restore(self, snapshot: Snapshot, *, rate: float | None = None) -> None:
        """Replace the content by a snapshot. Raises SnapshotRefused, and changes nothing then."""
        ones = snapshot.integer("ones")
        self.losses.restore(snapshot)
        self.array, self.sketch = snapshot.parts[0], snapshot.parts[-1]
        self.ones = ones
        self._choose_estimate(self.rate() if rate is None else rate)

    def _choose_estimate(self, rate: float) -> None:
        chance = change_probability(self.sketch)
        self.uses_sketch = (1 - rate) * (1 - chance) < chance
        self._lost_before, self._variance_before = lost_and_variance(self.sketch)


def filter_cost(count: int, *, cells: int, hashes: int, cell_bits: int = 1) -> Cost:
    """The cost of a filter of so many cells, each of `cell_bits`, for `count` URLs."""
    return Cost(
        memory_bytes=cells * cell_bits / 8,
        false_positive_rate=sizing.rate_after(cells, hashes, count),
        expected_lost=sizing.expected_lost(cells, hashes, count),
    )


def optimal_cost(count: int, error_rate: float, *, cell_bits: int = 1) -> Cost:
    """The cost of a filter whose size is that of the formula for this rate."""
    cells, hashes = sizing.bits_for(count, error_rate), sizing.hashes_for(error_rate)
    return filter_cost(count, cells=cells, hashes=hashes, cell_bits=cell_bits)
