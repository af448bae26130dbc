"""Which leaf a fingerprint belongs to, in a tree of which only the splits are told.

A node is a number: the c first leaves are c to 2c - 1, and node n splits into 2n and 2n + 1. So the nodes of one depth
divide the range of 64-bit fingerprints evenly, as those of `visited.splitting` do.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

LAST_SPLIT: Final = 1 << 24
"""Nodes from here on do not split: the routes of their halves would need too much memory."""
_SPACE: Final = 1 << 64
_LOW: Final = np.uint64(0xFFFF_FFFF)
_HALF: Final = np.uint64(32)

Words = NDArray[np.uint64]


class Tree:
    """The routes from the leading bits of fingerprints to leaves."""

    def __init__(self, first_leaves: int) -> None:
        self.first_leaves = first_leaves
        self.splits = 0
        """How many are known. The splits of a set are a list, so this is its version."""
        self.depth = 0
        self._routes: NDArray[np.int64] = np.arange(first_leaves, 2 * first_leaves, dtype=np.int64)

    def split(self, nodes: Iterable[int]) -> None:
        """Take the next splits. Raises ValueError for a node that is no leaf."""
        for node in nodes:
            depth, index = self._place(node)
            if depth == self.depth:
                self._routes = np.repeat(self._routes, 2)
                self.depth += 1
            width = 1 << self.depth - depth - 1
            start = 2 * index * width
            routes = self._routes[start : start + 2 * width]
            if (routes != node).any():
                raise ValueError(f"expected a leaf to be split, found {node}, which is none")
            routes[:width] = 2 * node
            routes[width:] = 2 * node + 1
            self.splits += 1

    def leaves_of(self, fingerprints: Words) -> NDArray[np.int64]:
        factor = np.uint64(len(self._routes))
        # The high half of a product of 128 bits.
        low = (fingerprints & _LOW) * factor >> _HALF
        found: NDArray[np.int64] = self._routes[((fingerprints >> _HALF) * factor + low >> _HALF).astype(np.int64)]
        return found

    def leaves(self) -> list[int]:
        """All leaves, in the order of their ranges."""
        changes = np.flatnonzero(np.diff(self._routes)) + 1
        found: list[int] = self._routes[np.concatenate([[0], changes])].tolist()
        return found

    def share(self, node: int) -> float:
        """The share of all fingerprints that belong to a node."""
        return 1 / (self.first_leaves << self._place(node)[0])

    def bounds(self, node: int) -> tuple[int, int, int]:
        """The lowest fingerprint of a node, the lowest of its upper half, and the highest."""
        depth, index = self._place(node)
        parts = self.first_leaves << depth + 1
        low, middle, end = (-(-part * _SPACE // parts) for part in (2 * index, 2 * index + 1, 2 * index + 2))
        return low, middle, end - 1

    def _place(self, node: int) -> tuple[int, int]:
        """(depth, index) of a node."""
        depth = (node // self.first_leaves).bit_length() - 1
        if depth < 0 or depth > self.depth:
            raise ValueError(f"expected a node of the tree, found {node}")
        return depth, node - (self.first_leaves << depth)
