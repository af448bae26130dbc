"""Lets leaves grow and split, a little at each call."""

from collections.abc import Iterator

import numpy as np

from visited.bits.kernel import Kernel
from visited.bits.memory import allocated_bytes, zeros
from visited.splitting.fingerprint_list import FingerprintList, Fingerprints, read_range
from visited.splitting.leaf_plan import LeafPlan
from visited.splitting.leaves import Leaves

# Reading from a run takes about as long as inserting so many fingerprints.
_RUN_COST = 100


class LeafRebuild:
    """Reads the fingerprints of neighbouring leaves into larger arrays, or halves, while the old arrays are in use.

    URLs that are added meanwhile go into the old arrays and to the end of the list, which is read last, so none is
    missed. Every fingerprint in the list is inserted, whether or not it sets a bit, so that the new bits depend on the
    list alone.
    """

    def __init__(
        self, leaves: Leaves, fingerprints: FingerprintList, *, sizes_by_leaf: dict[int, list[int]], hashes: int
    ) -> None:
        """`sizes_by_leaf` are the bits of the one or two arrays that replace each leaf, in the order of their
        ranges."""
        self._leaves = leaves
        self._fingerprints = fingerprints
        self._hashes = hashes
        self.pieces = {leaf: len(sizes) for leaf, sizes in sizes_by_leaf.items()}
        """How many arrays replace each leaf."""
        lows: list[int] = []
        for leaf, sizes in sizes_by_leaf.items():
            lows.append(leaves.span(leaf)[0])
            if len(sizes) == 2:
                lows.append(leaves.middle(leaf))
        self._low, self._high = lows[0], leaves.span(list(sizes_by_leaf)[-1])[1]
        self._lows = np.array(lows, dtype=np.uint64)
        self._arrays = [zeros(size // 8) for sizes in sizes_by_leaf.values() for size in sizes]
        self._counts = np.zeros((len(lows), 2), dtype=np.int64)
        self._next_run = 0
        self._budget = 0

    @property
    def memory_bytes(self) -> int:
        return sum(allocated_bytes(len(bits)) for bits in self._arrays)

    def advance(self, kernel: Kernel, budget: int) -> int:
        """Insert about `budget` fingerprints, and return the rest of the budget.

        The rest is positive when the rebuild is complete; then the leaves have been replaced.
        """
        self._budget = budget
        kernel.leaves_fill(self._windows(), self._lows, self._high - 1, self._arrays, self._counts, self._hashes)
        if self._next_run < self._fingerprints.file.block_count:
            return 0
        self._replace()
        return max(self._budget, 1)

    def _windows(self) -> Iterator[Fingerprints]:
        """Read these leaves' fingerprints from the next runs within the budget, and after the last run from the
        tail."""
        while self._next_run < self._fingerprints.file.block_count:
            if self._budget <= 0:
                return
            window = read_range(self._fingerprints.file, self._next_run, self._low, self._high)
            self._budget -= len(window) + _RUN_COST
            self._next_run += 1
            yield window
        yield self._fingerprints.tail()

    def _replace(self) -> None:
        first = 0
        for leaf, pieces in self.pieces.items():
            if pieces == 1:
                self._leaves.replace(leaf, self._arrays[first], self._counts[first])
            else:
                self._leaves.split(leaf, self._arrays[first : first + 2], self._counts[first : first + 2])
            first += pieces


class LeafGrowth:
    """The rebuild that is under way, if any, and when to look for the next."""

    def __init__(self, plan: LeafPlan, *, hashes: int, kernel: Kernel) -> None:
        self._plan = plan
        self._hashes = hashes
        self._kernel = kernel
        self._rebuild: LeafRebuild | None = None
        self._next_check_at = 0
        self.count = 0
        """The number of leaves that were rebuilt."""

    @property
    def is_rebuilding(self) -> bool:
        return self._rebuild is not None

    @property
    def memory_bytes(self) -> int:
        return self._rebuild.memory_bytes if self._rebuild else 0

    def advance(self, leaves: Leaves, fingerprints: FingerprintList, *, count: int) -> None:
        """Rebuild leaves that are full, within the kernel's budget for a call. `count` is the number of URLs."""
        # Checking all leaves takes as long as adding some URLs, so we check when they have filled by a 4096th, or have
        # a 16th of a URL more.
        if self._rebuild is None and count < self._next_check_at:
            return
        budget = self._kernel.fill_budget
        while budget > 0:
            if self._rebuild is None:
                sizes = self._plan.next_sizes(leaves, mean_list=count // len(leaves.bits) + 1, budget=budget)
                if not sizes:
                    self._next_check_at = count + max(count >> 12, len(leaves.bits) >> 4) + 1
                    return
                self._rebuild = LeafRebuild(leaves, fingerprints, sizes_by_leaf=sizes, hashes=self._hashes)
            budget = self._rebuild.advance(self._kernel, budget)
            if budget > 0:
                self.count += len(self._rebuild.pieces)
                self._rebuild = None
