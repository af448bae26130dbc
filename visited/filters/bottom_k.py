"""How many distinct URLs each of several filters was given, whatever the filters answered."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from visited.bits.kernel import Kernel
from visited.bits.memory import Memory

SAMPLE_SIZE = 4096
"""Hashes in the sample: a share of one half is then known within 0.8 %."""

_SEED = 0xA11A
_ALL = np.uint64(2**64 - 1)


class BottomKSample:
    """An even sample of the distinct URLs, each with the number of its filter.

    A full filter calls nearly every URL known, so it cannot say which ones it lost. Therefore this sample keeps the
    smallest hashes of all URLs ("bottom-k", Cohen and Kaplan 2007). Each distinct URL has the same probability to be in
    it, however often it occurs. The largest hash in the sample gives this probability.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._hashes: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._filters: NDArray[np.int32] = np.empty(0, dtype=np.int32)

    def add(self, urls: Sequence[str], filters: Sequence[int]) -> None:
        """Add URLs, each with the number of its filter."""
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
        self._hashes = np.insert(self._hashes, places[is_new], found[is_new])[:SAMPLE_SIZE].copy()
        self._filters = np.insert(self._filters, places[is_new], theirs)[:SAMPLE_SIZE].copy()

    def probability(self) -> float:
        """The probability that a distinct URL is in the sample; 1 while all are."""
        return int(self._limit()) / 2**64 if self._is_full() else 1.0

    def count_by_filter(self, filters: int) -> NDArray[np.int64]:
        """Count the sampled URLs of each of so many filters."""
        # The largest hash gives the probability, so it is not counted.
        end = len(self._filters) - self._is_full()
        counts: NDArray[np.int64] = np.bincount(self._filters[:end], minlength=filters)
        return counts

    def memory_bytes(self) -> int:
        return self._hashes.nbytes + self._filters.nbytes

    def dump(self) -> tuple[bytes, bytes]:
        """Return the sample, for `load`."""
        return self._hashes.tobytes(), self._filters.tobytes()

    def load(self, hashes: Memory, filters: Memory, *, filter_count: int) -> None:
        """Replace the sample by a dumped one. Raises ValueError, and changes nothing then."""
        found = np.frombuffer(hashes, dtype=np.uint64).copy()
        theirs = np.frombuffer(filters, dtype=np.int32).copy()
        is_sample = len(found) == len(theirs) <= SAMPLE_SIZE and bool((found[1:] > found[:-1]).all())
        if not is_sample or not ((theirs >= 0) & (theirs < filter_count)).all():
            raise ValueError("expected ascending hashes, and the number of a filter for each")
        self._hashes, self._filters = found, theirs

    def _is_full(self) -> bool:
        return len(self._hashes) == SAMPLE_SIZE

    def _limit(self) -> np.uint64:
        """Larger hashes can't enter the sample."""
        limit: np.uint64 = self._hashes[-1] if self._is_full() else _ALL
        return limit
