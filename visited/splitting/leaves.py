"""The tree of leaves of a splitting filter: which leaf a fingerprint belongs to, and how full each leaf is.

The c first leaves divide the range of 64-bit fingerprints evenly; a split halves the range of a leaf. So a leaf is
(depth, index): it covers part `index` of c·2^depth equal parts. One array, as deep as the deepest leaf, maps the
leading bits of a fingerprint to a leaf's number, so a lookup costs the same at any size.
"""

import numpy as np
from numpy.typing import NDArray

from visited.bits.memory import Memory, allocated_bytes, zeros

_SPACE = 1 << 64
_MAX_ROUTES = 1 << 31
_FREE_ROUTES = 1 << 22
_ROUTES_PER_LEAF = 64
"""Hashes spread evenly, so leaves have nearly equal depths, and a few routes each. Only URLs that somebody has chosen
by their hashes share many bits; without this limit, some ten thousand of them would fill the memory with routes."""


class Leaves:
    """The bits of all leaves, and the routes to them. A leaf keeps its number; a split adds a leaf."""

    def __init__(self, places: list[tuple[int, int]], sizes: list[int], first_leaves: int) -> None:
        """Make empty leaves at these (depth, index) with these sizes. Raises ValueError unless they cover the range."""
        self.first_leaves = first_leaves
        self.depth = max((depth for depth, _ in places), default=0)
        if not 0 <= self.depth < 64 or first_leaves << self.depth >= _MAX_ROUTES:
            raise ValueError(f"a depth of {self.depth} is impossible")
        if any(depth < 0 or not 0 <= index < first_leaves << depth for depth, index in places):
            raise ValueError(f"a leaf is beyond the range of {first_leaves} first leaves")
        depths, indices = np.array(places, dtype=np.int64).reshape(-1, 2).T
        widths = 1 << self.depth - depths
        starts = indices * widths
        order = np.argsort(starts)
        widths = widths[order]
        ends = np.cumsum(widths)
        if (starts[order] != ends - widths).any() or widths.sum() != first_leaves << self.depth:
            raise ValueError("leaves lie on top of each other, or not all fingerprints have a leaf")
        self.routes: NDArray[np.int32] = np.repeat(order.astype(np.int32), widths)
        self.places = places
        """(depth, index) of each leaf."""
        self.order: list[int] = order.tolist()
        """The leaves in the order of their ranges."""
        self.bits = [zeros(size // 8) for size in sizes]
        self._counts: NDArray[np.int64] = np.zeros((len(places), 2), dtype=np.int64)
        self._sizes: NDArray[np.int64] = np.array(sizes, dtype=np.int64)
        self._shares: NDArray[np.float64] = 1 / (first_leaves << depths)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Bits set and URLs of each leaf; the kernel updates them."""
        return self._counts[: len(self.bits)]

    @property
    def ones(self) -> NDArray[np.int64]:
        """Bits set in each leaf."""
        return self._counts[: len(self.bits), 0]

    @property
    def urls(self) -> NDArray[np.int64]:
        """URLs in each leaf."""
        return self._counts[: len(self.bits), 1]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Bits of each leaf."""
        return self._sizes[: len(self.bits)]

    def span(self, leaf: int) -> tuple[int, int]:
        """The range of a leaf's fingerprints: low ≤ f < high."""
        depth, index = self.places[leaf]
        parts = self.first_leaves << depth
        return -(-index * _SPACE // parts), -(-(index + 1) * _SPACE // parts)

    def lows(self) -> NDArray[np.uint64]:
        """The lowest fingerprint of each leaf, in the order of their ranges."""
        return np.array([self.span(leaf)[0] for leaf in self.order], dtype=np.uint64)

    def leaf_of(self, fingerprint: int) -> int:
        return int(self.routes[fingerprint * len(self.routes) >> 64])

    def middle(self, leaf: int) -> int:
        """The first fingerprint of the upper half after a split."""
        depth, index = self.places[leaf]
        return -(-(2 * index + 1) * _SPACE // (self.first_leaves << depth + 1))

    def can_split(self, leaf: int) -> bool:
        """Whether the routes have a bit left to distinguish its halves."""
        most = min(max(_FREE_ROUTES, _ROUTES_PER_LEAF * len(self.bits)), _MAX_ROUTES)
        return self.first_leaves << self.places[leaf][0] + 1 < most

    def replace(self, leaf: int, bits: Memory, counts: NDArray[np.int64]) -> None:
        """Give a leaf another array, with this number of bits set by this number of URLs."""
        self.bits[leaf] = bits
        self._counts[leaf] = counts
        self._sizes[leaf] = len(bits) * 8

    def split(self, leaf: int, halves: list[Memory], counts: NDArray[np.int64]) -> None:
        """Replace a leaf by two halves. The lower half keeps its number."""
        depth, index = self.places[leaf]
        if depth == self.depth:
            self.routes = np.repeat(self.routes, 2)
            self.depth += 1
        other = len(self.bits)
        self.bits.append(halves[1])
        self.order.insert(self.order.index(leaf) + 1, other)
        self.places[leaf] = (depth + 1, 2 * index)
        self.places.append((depth + 1, 2 * index + 1))
        if other == len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
            self._sizes = np.concatenate([self._sizes, np.zeros_like(self._sizes)])
            self._shares = np.concatenate([self._shares, np.zeros_like(self._shares)])
        self._shares[leaf] /= 2
        self._shares[other] = self._shares[leaf]
        self.replace(leaf, halves[0], counts[0])
        self.replace(other, halves[1], counts[1])
        width = 1 << self.depth - depth - 1
        start = (2 * index + 1) * width
        self.routes[start : start + width] = other

    def rate(self, hashes: int) -> float:
        """The false-positive rate of the tree: the mean over the leaves, weighted by their shares of the range."""
        return float(self._shares[: len(self.bits)] @ (self.ones / self.sizes) ** hashes)

    @property
    def memory_bytes(self) -> int:
        """The allocated memory."""
        arrays = self.routes.nbytes + self._counts.nbytes + self._sizes.nbytes + self._shares.nbytes
        sizes, counts = np.unique(self.sizes, return_counts=True)
        bits: int = sum(
            allocated_bytes(size // 8) * count for size, count in zip(sizes.tolist(), counts.tolist(), strict=True)
        )
        # A place is a tuple of two small integers in a list.
        return bits + arrays + len(self.bits) * (3 * 8 + 56 + 28)
