"""How many URLs a splitting filter has lost, and how many of them it has accepted since."""

import math

import numpy as np
from numpy.typing import NDArray

from visited.bits.memory import Memory
from visited.filters.loss_estimate import LossEstimate
from visited.snapshot import Snapshot, Value
from visited.splitting.leaves import Leaves

MAX_SIZE = 512
"""Entries in the sample: a share of a fifth is then known within 1.8 %."""

_MIN_SIZE = 16
# Relative to the bytes of the leaves.
_MEMORY_SHARE = 32
_DRAWS = 256
_ODD = np.uint64(0xD6E8FEB86659FD93)
_STEPS = np.arange(1, _DRAWS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
_ALL = np.uint64(2**64 - 1)


class TreeLosses:
    """Adds up the expected loss, and subtracts what a sample says was accepted later."""

    def __init__(self, *, backend: str, error_rate: float, hashes: int) -> None:
        self._hashes = hashes
        self._losses = LossEstimate(backend=backend, capacity=None, error_rate=error_rate)
        self.sample = LossSample(hashes)
        self._rate = 0.0
        self._count_at_rate = 0

    @property
    def count(self) -> int:
        """URLs that were accepted."""
        return self._losses.count

    def observe(self, fingerprints: NDArray[np.uint64], new: int, leaves: Leaves) -> None:
        """Process a batch of URLs, of which the first `new` were accepted."""
        if new:
            self._losses.count_accepted(new, self._rate_now(leaves))
        self.sample.observe(fingerprints, new, leaves)

    def estimate(self) -> tuple[float, float]:
        """The number of URLs that are still lost, and its standard deviation."""
        lost_once, count = self._losses.expected_lost, self._losses.count
        share, share_sigma = self.sample.lost_share()
        if count:
            # Lost URLs that were accepted later are among the accepted URLs, and do not stand for further losses.
            lost_once /= 1 + lost_once / count * (1 - share)
        return share * lost_once, math.hypot(self._losses.lost_sigma * math.sqrt(share), lost_once * share_sigma)

    def state(self) -> dict[str, Value]:
        """What a snapshot must hold, besides the sample."""
        return self._losses.state()

    def restore(self, snapshot: Snapshot, sample: Memory, leaves: Leaves) -> None:
        """Replace the counts by those of a snapshot. Raises SnapshotRefused, and ValueError for a damaged sample."""
        self.sample.load(sample)
        self._losses.restore(snapshot)
        self._rate = leaves.rate(self._hashes)

    def _rate_now(self, leaves: Leaves) -> float:
        """The rate, up to a 1024th of the URLs old, or a 16th of a URL for each leaf: it changes slowly, and computing
        it over all leaves takes long."""
        count = self._losses.count
        if count - self._count_at_rate >= max(count >> 10, len(leaves.bits) >> 4):
            self._rate = leaves.rate(self._hashes)
            self._count_at_rate = count
        return self._rate


class LossSample:
    """Estimates which share of the lost URLs is still lost.

    A filter can't distinguish a lost URL from a known one. But whether it loses a URL does not depend on the URL, so
    lost URLs occur again as often as accepted ones. So the sample tracks accepted URLs: those with the smallest hashes.
    For each it makes up a lost URL of the same leaf, which is lost at the time when the tracked URL is accepted: its
    positions are drawn among the set bits. When the tracked URL occurs again, the sample looks up the made-up one. It
    is no longer lost if the leaf, which has grown since, would accept it. Each counts by the odds of a loss at its
    time.
    """

    def __init__(self, hashes: int) -> None:
        self._hashes = hashes
        # The positions are stored as indices into a sequence of draws, which follows from the fingerprint.
        self._dtype = np.dtype([("fingerprint", "<u8"), ("odds", "<f4"), ("is_lost", "?"), ("draws", "u1", (hashes,))])
        self._rows = np.zeros(0, dtype=self._dtype)
        self._limit = _ALL
        """The sample tracks all URLs with smaller keys."""

    def observe(self, fingerprints: NDArray[np.uint64], new: int, leaves: Leaves) -> None:
        """Process a batch of URLs, of which the first `new` were accepted."""
        low = np.flatnonzero(fingerprints * _ODD < self._limit)
        for at in low.tolist():
            found = np.flatnonzero(self._rows["fingerprint"] == fingerprints[at])
            if len(found):
                self._look_up(self._rows[found[0]], leaves)
            elif at < new:
                self._track(fingerprints[at], leaves)

    def lost_share(self) -> tuple[float, float]:
        """The share of the lost URLs that is still lost, and its standard deviation; 1 ± 0 if the sample is empty."""
        odds = self._rows["odds"].astype(np.float64)
        total = float(odds.sum())
        if total == 0.0:
            return 1.0, 0.0
        weights = odds / total
        share = float(weights @ self._rows["is_lost"])
        # Adds half of one more entry, so that a few equal entries do not look certain.
        variance = float(weights**2 @ (self._rows["is_lost"] - share) ** 2) + float((weights**2).sum()) ** 2 / 4
        return share, float(np.sqrt(variance))

    @property
    def memory_bytes(self) -> int:
        return self._rows.nbytes

    def dump(self) -> bytes:
        """Return the sample, for `load`."""
        return np.uint64(self._limit).tobytes() + self._rows.tobytes()

    def load(self, dump: Memory) -> None:
        """Replace the sample by a dumped one. Raises ValueError, and changes nothing then."""
        limit = np.frombuffer(dump, dtype=np.uint64, count=1)[0]
        rows = np.frombuffer(dump, dtype=self._dtype, offset=limit.nbytes).copy()
        if len(rows) > MAX_SIZE or not (rows["fingerprint"] * _ODD < limit).all():
            raise ValueError(f"expected at most {MAX_SIZE} entries below the limit, found {len(rows)}")
        self._rows, self._limit = rows, limit

    def _track(self, fingerprint: np.uint64, leaves: Leaves) -> None:
        row = np.zeros(1, dtype=self._dtype)
        leaf = leaves.leaf_of(int(fingerprint))
        rate = (int(leaves.ones[leaf]) / int(leaves.sizes[leaf])) ** self._hashes
        draws = np.flatnonzero(_are_set(leaves.bits[leaf], _mix(fingerprint + _STEPS)))[: self._hashes]
        row["fingerprint"] = fingerprint
        # If so many draws do not find enough set bits, the leaf loses next to nothing.
        if len(draws) == self._hashes and rate < 1.0:
            row["is_lost"] = True
            row["odds"] = rate / (1 - rate)
            row["draws"] = draws
        self._rows = np.append(self._rows, row)
        by_memory = int(leaves.sizes.sum()) // (8 * _MEMORY_SHARE * self._dtype.itemsize)
        if len(self._rows) > max(_MIN_SIZE, min(MAX_SIZE, by_memory)):
            keys = self._rows["fingerprint"] * _ODD
            self._limit = keys.max()
            self._rows = self._rows[keys < self._limit]

    def _look_up(self, row: np.void, leaves: Leaves) -> None:
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
