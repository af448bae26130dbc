"""Chooses which leaves of a splitting filter to rebuild next, and their new sizes."""

from visited.splitting.leaves import Leaves

MIN_LEAF_BITS = 1 << 13

# Relative to the fill at which a leaf's rate reaches the bound. A leaf is rebuilt a little earlier, because it fills
# further during the rebuild.
_FULL = 0.99
_NEARLY_FULL = 0.97
_MAX_GROUP = 64


class LeafPlan:
    """A leaf grows in four steps to twice its size, up to `leaf_bits`. Then it splits into two leaves of 5/8."""

    def __init__(self, *, leaf_bits: int, split_fill: float) -> None:
        self._split_fill = split_fill
        self._sizes = _sizes_up_to(leaf_bits)

    @property
    def first_bits(self) -> int:
        """The initial size of a leaf."""
        return self._sizes[0]

    def next_sizes(self, leaves: Leaves, *, mean_list: int, budget: int) -> dict[int, list[int]]:
        """Choose the fullest leaf and its nearly full neighbours, and the sizes of the one or two that replace each.

        The result is empty while no leaf is full. One pass over the list rebuilds the whole group. The first leaves of
        a tree fill at the same time, so while they are small all are rebuilt at once. A group has about `budget`
        fingerprints; each leaf has about `mean_list`.
        """
        fills = leaves.ones / leaves.sizes
        leaf = int(fills.argmax())
        if fills[leaf] <= self._split_fill * _FULL or not self._can_grow(leaves, leaf):
            return {}
        group_size = max(1, min(budget // mean_list, _MAX_GROUP))
        place = leaves.order.index(leaf)
        group = [leaf]
        for neighbour in leaves.order[place + 1 : place + group_size]:
            if fills[neighbour] <= self._split_fill * _NEARLY_FULL or not self._can_grow(leaves, neighbour):
                break
            group.append(neighbour)
        return {each: self._replacements(int(leaves.sizes[each])) for each in group}

    def _can_grow(self, leaves: Leaves, leaf: int) -> bool:
        return bool(leaves.sizes[leaf] < self._sizes[-1]) or leaves.can_split(leaf)

    def _replacements(self, size: int) -> list[int]:
        if size < self._sizes[-1]:
            return [self._sizes[self._sizes.index(size) + 1]]
        return [size * 5 // 8] * 2


def _sizes_up_to(leaf_bits: int) -> list[int]:
    """All sizes in ascending order, in whole words of 64 bits."""
    sizes = []
    scale = leaf_bits
    while scale >= MIN_LEAF_BITS:
        sizes += [-(-scale * eighths // 8 // 64) * 64 for eighths in (8, 7, 6, 5)]
        scale //= 2
    return sizes[::-1]
