"""A sample of what a splitting filter lost, made up so that it is known whether a later sight accepts it."""

import numpy as np
from numpy.typing import NDArray

from visited.bits.memory import Memory
from visited.splitting.leaves import Leaves

MOST = 512
"""Stand-ins: a share of a fifth is then known within 1.8 %."""

_FEWEST = 16
# Of the bytes of the leaves.
_PART = 32
_DRAWS = 256
_ODD = np.uint64(0xD6E8FEB86659FD93)
_STEPS = np.arange(1, _DRAWS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
_ALL = np.uint64(2**64 - 1)


class StandIns:
    """Tells which share of the lost URLs is still lost.

    A filter can't tell a URL that it swallowed from one that it knows. But whether it swallows a URL does not depend
    on the URL, so that swallowed ones come again as accepted ones do. An even sample of the accepted is followed, those
    with the smallest hashes; each has a stand-in, a URL of the same leaf that was swallowed when the other came: its
    positions are drawn among the bits that were set. When the followed URL comes again the stand-in is looked up, and
    is lost no more if the leaf, which has grown since, would accept it. Each counts by the odds of a loss at its time.
    """

    def __init__(self, hashes: int) -> None:
        self._hashes = hashes
        # Positions as places in the sequence of draws, which follows from the fingerprint.
        self._dtype = np.dtype([("fingerprint", "<u8"), ("odds", "<f4"), ("is_lost", "?"), ("draws", "u1", (hashes,))])
        self._rows = np.zeros(0, dtype=self._dtype)
        self._limit = _ALL
        """Only URLs with smaller keys are followed; all of those, since the first."""

    def see(self, fingerprints: NDArray[np.uint64], new: int, leaves: Leaves) -> None:
        """Let URLs come, of which the first `new` were accepted."""
        low = np.flatnonzero(fingerprints * _ODD < self._limit)
        for at in low.tolist():
            found = np.flatnonzero(self._rows["fingerprint"] == fingerprints[at])
            if len(found):
                self._meet(self._rows[found[0]], leaves)
            elif at < new:
                self._follow(fingerprints[at], leaves)

    def lost_share(self) -> tuple[float, float]:
        """Of the lost URLs those that are lost still, 0..1, and the standard deviation of this; 1 ± 0 if none is
        followed."""
        odds = self._rows["odds"].astype(np.float64)
        total = float(odds.sum())
        if total == 0.0:
            return 1.0, 0.0
        weights = odds / total
        share = float(weights @ self._rows["is_lost"])
        # Half of one more is added, so that few stand-ins of one kind are not taken for certainty.
        variance = float(weights**2 @ (self._rows["is_lost"] - share) ** 2) + float((weights**2).sum()) ** 2 / 4
        return share, float(np.sqrt(variance))

    @property
    def memory_bytes(self) -> int:
        return self._rows.nbytes

    def dump(self) -> bytes:
        """For `load`."""
        return np.uint64(self._limit).tobytes() + self._rows.tobytes()

    def load(self, dumped: Memory) -> None:
        """Take over what `dump` gave. Raises ValueError, and is then as it was."""
        limit = np.frombuffer(dumped, dtype=np.uint64, count=1)[0]
        rows = np.frombuffer(dumped, dtype=self._dtype, offset=limit.nbytes).copy()
        if len(rows) > MOST or not (rows["fingerprint"] * _ODD < limit).all():
            raise ValueError(f"expected at most {MOST} stand-ins below the limit, found {len(rows)}")
        self._rows, self._limit = rows, limit

    def _follow(self, fingerprint: np.uint64, leaves: Leaves) -> None:
        row = np.zeros(1, dtype=self._dtype)
        leaf = leaves.leaf_of(int(fingerprint))
        rate = (int(leaves.ones[leaf]) / int(leaves.sizes[leaf])) ** self._hashes
        draws = np.flatnonzero(_are_set(leaves.bits[leaf], _mix(fingerprint + _STEPS)))[: self._hashes]
        row["fingerprint"] = fingerprint
        # Where so many draws do not find enough set bits, next to nothing is lost.
        if len(draws) == self._hashes and rate < 1.0:
            row["is_lost"] = True
            row["odds"] = rate / (1 - rate)
            row["draws"] = draws
        self._rows = np.append(self._rows, row)
        if len(self._rows) > max(_FEWEST, min(MOST, int(leaves.sizes.sum()) // (8 * _PART * self._dtype.itemsize))):
            keys = self._rows["fingerprint"] * _ODD
            self._limit = keys.max()
            self._rows = self._rows[keys < self._limit]

    def _meet(self, row: np.void, leaves: Leaves) -> None:
        if row["is_lost"]:
            fingerprint = row["fingerprint"]
            leaf = leaves.leaf_of(int(fingerprint))
            row["is_lost"] = _are_set(leaves.bits[leaf], _mix(fingerprint + _STEPS[row["draws"]])).all()


def _are_set(bits: Memory, positions: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether the bits at these shares of 2^32 of an array are set."""
    view = np.frombuffer(bits, dtype=np.uint8)
    at = (positions * np.uint64(len(view) * 8)) >> np.uint64(32)
    found: NDArray[np.bool_] = (view[at >> np.uint64(3)] >> (at & np.uint64(7)).astype(np.uint8)) & 1 == 1
    return found


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """32 random bits from each word (the finalizer of SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words >> np.uint64(32)
