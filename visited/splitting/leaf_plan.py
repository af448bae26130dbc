"""Chooses which leaves of a splitting filter to rebuild next, and their new sizes."""

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from visited.splitting.leaves import Leaves

MIN_LEAF_BITS = 1 << 13

_MAX_GROUP = 64


class LeafPlan(msgspec.Struct, frozen=True, kw_only=True):
    """When a leaf is rebuilt, and how large it is then."""

    sizes: list[int]
    """The sizes of a leaf in bits, ascending. It begins with the first, grows from one to the next, and then splits."""
    half_bits: int
    """The size of each half after a split."""
    load: Callable[[Leaves], NDArray[np.float64] | NDArray[np.int64]]
    """How full each leaf is: by its share of set bits, or by its URLs."""
    full: float
    """A leaf is rebuilt from this load on."""
    nearly_full: float
    """Its neighbours are rebuilt with it from this load on."""

    def next_sizes(self, leaves: Leaves, *, mean_list: int, budget: int) -> dict[int, list[int]]:
        """Choose the fullest leaf and its nearly full neighbours, and the sizes of the one or two that replace each.

        The result is empty while no leaf is full. One pass over the list rebuilds the whole group. The first leaves of
        a tree fill at the same time, so while they are small all are rebuilt at once. A group has about `budget`
        fingerprints; each leaf has about `mean_list`.
        """
        loads = self.load(leaves)
        while not self._can_grow(leaves, leaf := int(loads.argmax())):
            # It takes more URLs at a higher rate. The others go on growing.
            loads = loads.copy()
            loads[leaf] = -1
            if loads.max() < 0:
                return {}
        if loads[leaf] < self.full:
            return {}
        group_size = max(1, min(budget // mean_list, _MAX_GROUP))
        place = leaves.order.index(leaf)
        group = [leaf]
        for neighbour in leaves.order[place + 1 : place + group_size]:
            if loads[neighbour] < self.nearly_full or not self._can_grow(leaves, neighbour):
                break
            group.append(neighbour)
        return {each: self._replacements(int(leaves.sizes[each])) for each in group}

    def _can_grow(self, leaves: Leaves, leaf: int) -> bool:
        return bool(leaves.sizes[leaf] < self.sizes[-1]) or leaves.can_split(leaf)

    def _replacements(self, size: int) -> list[int]:
        if size < self.sizes[-1]:
            return [self.sizes[self.sizes.index(size) + 1]]
        return [self.half_bits] * 2


def growing_plan(*, leaf_bits: int, split_fill: float) -> LeafPlan:
    """A leaf grows in four steps to twice its size, up to `leaf_bits`, whenever its fill approaches `split_fill`. Then
    it splits into two leaves of 5/8."""
    sizes = _sizes_up_to(leaf_bits)
    return LeafPlan(
        sizes=sizes,
        half_bits=sizes[-1] * 5 // 8,
        load=lambda leaves: leaves.ones / leaves.sizes,
        # A leaf is rebuilt a little earlier, because it fills further during the rebuild.
        full=0.99 * split_fill,
        nearly_full=0.97 * split_fill,
    )


def fixed_plan(*, leaf_bits: int, leaf_capacity: int) -> LeafPlan:
    """Each leaf has `leaf_bits`, and splits into two such leaves when it holds `leaf_capacity` URLs, as the literature
    has it."""
    return LeafPlan(
        sizes=[leaf_bits],
        half_bits=leaf_bits,
        load=lambda leaves: leaves.urls,
        full=leaf_capacity,
        nearly_full=leaf_capacity,
    )


def _sizes_up_to(leaf_bits: int) -> list[int]:
    """All sizes in ascending order, in whole words of 64 bits."""
    sizes = []
    scale = leaf_bits
    while scale >= MIN_LEAF_BITS:
        sizes += [-(-scale * eighths // 8 // 64) * 64 for eighths in (8, 7, 6, 5)]
        scale //= 2
    return sizes[::-1]
