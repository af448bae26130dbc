"""The rebuilding of leaves, a piece at a time."""

from collections.abc import Iterator

import numpy as np

from visited.bits.kernel import Kernel
from visited.bits.memory import allocated_bytes, zeros
from visited.splitting.leaf_list import Fingerprints, LeafList
from visited.splitting.leaves import Leaves

# A run takes about as long to look into as so many fingerprints take to insert.
_RUN_COSTS = 100


class LeafRebuild:
    """Reads the lists of neighbouring leaves into larger arrays, or halves, while the old arrays still answer.

    What is added meanwhile goes into the old arrays and to the end of the list, which is read last: nothing is missed.
    Everything in the list is inserted, whether or not it sets a bit, so that the new bits depend on nothing but the
    list.
    """

    def __init__(
        self, leaves: Leaves, fingerprints: LeafList, *, sizes_by_leaf: dict[int, list[int]], hashes: int
    ) -> None:
        """`sizes_by_leaf`: the bits of the one or two arrays that replace each leaf, in the order of their ranges."""
        self._leaves = leaves
        self._list = fingerprints
        self._hashes = hashes
        self._pieces = {leaf: len(sizes) for leaf, sizes in sizes_by_leaf.items()}
        lows: list[int] = []
        for leaf, sizes in sizes_by_leaf.items():
            lows.append(leaves.span(leaf)[0])
            if len(sizes) == 2:
                lows.append(leaves.middle(leaf))
        self._low, self._high = lows[0], leaves.span(list(sizes_by_leaf)[-1])[1]
        self._lows = np.array(lows, dtype=np.uint64)
        self._arrays = [zeros(size // 8) for sizes in sizes_by_leaf.values() for size in sizes]
        self._ones = np.zeros(len(lows), dtype=np.int64)
        self._next_run = 0
        self._budget = 0

    @property
    def leaf_count(self) -> int:
        return len(self._pieces)

    @property
    def memory_bytes(self) -> int:
        return sum(allocated_bytes(len(bits)) for bits in self._arrays)

    def advance(self, kernel: Kernel, budget: int) -> int:
        """Insert some `budget` fingerprints, and return what is left of it.

        More than nothing is left when all is done: then the leaves have been replaced.
        """
        self._budget = budget
        kernel.leaves_fill(self._read_on(), self._lows, self._high - 1, self._arrays, self._ones, self._hashes)
        if self._next_run < self._list.run_count:
            return 0
        self._replace()
        return max(self._budget, 1)

    def _read_on(self) -> Iterator[Fingerprints]:
        """What the next runs have of these leaves, while the budget lasts, and behind the last one the tail."""
        while self._next_run < self._list.run_count:
            if self._budget <= 0:
                return
            window = self._list.read(self._next_run, self._low, self._high)
            self._budget -= len(window) + _RUN_COSTS
            self._next_run += 1
            yield window
        yield self._list.tail()

    def _replace(self) -> None:
        ones = self._ones.tolist()
        first = 0
        for leaf, pieces in self._pieces.items():
            if pieces == 1:
                self._leaves.replace(leaf, self._arrays[first], ones[first])
            else:
                self._leaves.split(leaf, self._arrays[first : first + 2], ones[first : first + 2])
            first += pieces
