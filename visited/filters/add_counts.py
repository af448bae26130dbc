"""What came to each of several filters, whatever they said of it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from visited.bits.kernel import Kernel
from visited.bits.memory import Memory

SIZE = 4096
"""Hashes that are kept: a share of one half is then known within 0.8 %."""

_SEED = 0xA11A
_ALL = np.uint64(2**64 - 1)


class AddCounts:
    """An even sample of the distinct URLs that came, with the filter of each.

    A filter that is overrun answers nearly everything with "known", and can't tell what it has met from what it
    swallows. So the smallest hashes of all that came are kept: each distinct URL is among them with the same chance,
    however often it came ("bottom-k", Cohen and Kaplan 2007). The chance is what is below the largest of them.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._hashes: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._filters: NDArray[np.int32] = np.empty(0, dtype=np.int32)

    def add(self, urls: Sequence[str], filters: Sequence[int]) -> None:
        """Let URLs come, each to the filter of this number."""
        pairs = np.empty((len(urls), 2), dtype=np.uint64)
        self._kernel.hash_many(urls, _SEED, pairs)
        hashes = pairs[:, 0]
        low = np.flatnonzero(hashes < self._limit())
        if not len(low):
            return
        found, first = np.unique(hashes[low], return_index=True)
        places = np.searchsorted(self._hashes, found)
        is_new = places == len(self._hashes)
        is_new[~is_new] = self._hashes[places[~is_new]] != found[~is_new]
        theirs = [filters[at] for at in low[first[is_new]].tolist()]
        self._hashes = np.insert(self._hashes, places[is_new], found[is_new])[:SIZE].copy()
        self._filters = np.insert(self._filters, places[is_new], theirs)[:SIZE].copy()

    def chance(self) -> float:
        """Of each distinct URL that came, to be in the sample; 1 where all are."""
        return int(self._limit()) / 2**64 if self._is_full() else 1.0

    def by_filter(self, filters: int) -> NDArray[np.int64]:
        """How many URLs of the sample came to each of so many filters."""
        # The largest hash tells the chance, and is not counted.
        end = len(self._filters) - self._is_full()
        counts: NDArray[np.int64] = np.bincount(self._filters[:end], minlength=filters)
        return counts

    def memory_bytes(self) -> int:
        return self._hashes.nbytes + self._filters.nbytes

    def dump(self) -> tuple[bytes, bytes]:
        """For `load`."""
        return self._hashes.tobytes(), self._filters.tobytes()

    def load(self, hashes: Memory, filters: Memory, *, filters_there_are: int) -> None:
        """Take over what `dump` gave. Raises ValueError, and is then as it was."""
        found = np.frombuffer(hashes, dtype=np.uint64).copy()
        theirs = np.frombuffer(filters, dtype=np.int32).copy()
        is_sample = len(found) == len(theirs) <= SIZE and bool((found[1:] > found[:-1]).all())
        if not is_sample or not ((theirs >= 0) & (theirs < filters_there_are)).all():
            raise ValueError("expected ascending hashes, and the number of a filter for each")
        self._hashes, self._filters = found, theirs

    def _is_full(self) -> bool:
        return len(self._hashes) == SIZE

    def _limit(self) -> np.uint64:
        """Larger hashes need not be kept."""
        limit: np.uint64 = self._hashes[-1] if self._is_full() else _ALL
        return limit
