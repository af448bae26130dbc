"""Which leaves of a splitting filter are rebuilt next, and at which size."""

from visited.splitting.leaves import Leaves

LEAST_LEAF_BITS = 1 << 13

# A leaf is rebuilt when it is that near to the fill at which its rate reaches the bound: it goes on filling while it
# waits for its turn.
_READY = 0.99
_NEARLY_READY = 0.97
_MOST_AT_ONCE = 64


class LeafPlan:
    """Leaves grow through sizes, four to each doubling, up to `leaf_bits`; then they split in two of 5/8."""

    def __init__(self, *, leaf_bits: int, split_fill: float) -> None:
        self._split_fill = split_fill
        self._sizes = _sizes_up_to(leaf_bits)

    @property
    def first_bits(self) -> int:
        """The size that leaves begin with."""
        return self._sizes[0]

    def next_sizes(self, leaves: Leaves, *, mean_list: int, budget: int) -> dict[int, list[int]]:
        """The leaf that is to be rebuilt next, if one is, with such neighbours as are nearly ready too, and for each
        the bits of the one or two that replace it.

        One look into the list then serves them all. The first leaves of a tree fill in step, so while they are small
        all are rebuilt at once; together they have about `budget` fingerprints, at `mean_list` for each.
        """
        fills = leaves.ones / leaves.sizes
        leaf = int(fills.argmax())
        if fills[leaf] <= self._split_fill * _READY or not self._can_grow(leaves, leaf):
            return {}
        most = max(1, min(budget // mean_list, _MOST_AT_ONCE))
        place = leaves.order.index(leaf)
        group = [leaf]
        for neighbour in leaves.order[place + 1 : place + most]:
            if fills[neighbour] <= self._split_fill * _NEARLY_READY or not self._can_grow(leaves, neighbour):
                break
            group.append(neighbour)
        return {each: self._after(int(leaves.sizes[each])) for each in group}

    def _can_grow(self, leaves: Leaves, leaf: int) -> bool:
        return bool(leaves.sizes[leaf] < self._sizes[-1]) or leaves.can_split(leaf)

    def _after(self, size: int) -> list[int]:
        if size < self._sizes[-1]:
            return [self._sizes[self._sizes.index(size) + 1]]
        return [size * 5 // 8] * 2


def _sizes_up_to(leaf_bits: int) -> list[int]:
    """In whole words of 64 bits."""
    sizes = []
    scale = leaf_bits
    while scale >= LEAST_LEAF_BITS:
        sizes += [-(-scale * eighths // 8 // 64) * 64 for eighths in (8, 7, 6, 5)]
        scale //= 2
    return sizes[::-1]
