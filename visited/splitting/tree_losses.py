"""How many URLs a splitting filter has lost, and how many of them it has accepted since."""

import math

import numpy as np
from numpy.typing import NDArray

from visited.bits.memory import Memory
from visited.filters.loss_estimate import LossEstimate
from visited.snapshot import Snapshot, Value
from visited.splitting.leaves import Leaves
from visited.splitting.loss_sample import LossSample


class TreeLosses:
    """Adds up the expected loss, and subtracts what a sample says was accepted later."""

    def __init__(self, *, backend: str, error_rate: float, hashes: int) -> None:
        self._hashes = hashes
        self._losses = LossEstimate(backend=backend, capacity=None, error_rate=error_rate)
        self._sample = LossSample(hashes)
        self._rate = 0.0
        self._count_at_rate = 0

    @property
    def count(self) -> int:
        """URLs that were accepted."""
        return self._losses.count

    @property
    def memory_bytes(self) -> int:
        return self._sample.memory_bytes

    def observe(self, fingerprints: NDArray[np.uint64], new: int, leaves: Leaves) -> None:
        """Process a batch of URLs, of which the first `new` were accepted."""
        if new:
            self._losses.count_accepted(new, self._rate_now(leaves))
        self._sample.observe(fingerprints, new, leaves)

    def estimate(self) -> tuple[float, float]:
        """The number of URLs that are still lost, and its standard deviation."""
        lost_once, count = self._losses.expected_lost, self._losses.count
        share, share_sigma = self._sample.lost_share()
        if count:
            # Lost URLs that were accepted later are among the accepted URLs, and do not stand for further losses.
            lost_once /= 1 + lost_once / count * (1 - share)
        return share * lost_once, math.hypot(self._losses.lost_sigma * math.sqrt(share), lost_once * share_sigma)

    def state(self) -> dict[str, Value]:
        """What a snapshot must hold, besides the sample."""
        return self._losses.state()

    def dump_sample(self) -> bytes:
        """Return the sample, for `restore`."""
        return self._sample.dump()

    def restore(self, snapshot: Snapshot, sample: Memory, leaves: Leaves) -> None:
        """Replace the counts by those of a snapshot. Raises SnapshotRefused, and ValueError for a damaged sample."""
        self._sample.load(sample)
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
