"""How many URLs a filter has accepted, and how many it has probably lost."""

import logging
import math

from visited import sizing
from visited.snapshot import Snapshot, Value

_LOG = logging.getLogger("visited")


class LossEstimate:
    """Counts accepted URLs, adds up the expected loss, and warns once when the filter is over its capacity.

    A filter loses the share p of the new URLs, where p is its rate at that moment. So each accepted URL stands for
    o = p/(1 - p) lost ones. The error of this sum changes by +1 for a lost URL and by -o for an accepted one. Its mean
    is 0, and its variance p·1² + (1 - p)·o² = o for each new URL, or o·(1 + o) for each accepted one.
    """

    def __init__(self, *, backend: str, capacity: int | None, error_rate: float) -> None:
        self._backend = backend
        self._capacity = capacity
        self._error_rate = error_rate
        self.count: int
        self.expected_lost: float
        self._lost_variance: float
        self.warning_limit: float
        """Warn above this count; infinite after the warning."""
        self.reset()

    def count_accepted(self, new: int, mean_rate: float) -> None:
        """Count accepted URLs, and estimate the loss from the mean rate meanwhile."""
        self.count += new
        if mean_rate < 1.0:
            odds = mean_rate / (1 - mean_rate)
            self.expected_lost += new * odds
            self._lost_variance += new * odds * (1 + odds)

    def count_measured(self, new: int, lost: float, variance: float) -> None:
        """Count accepted URLs, and a number of lost URLs that was measured with this variance."""
        self.count += new
        self.expected_lost += lost
        self._lost_variance += variance

    @property
    def lost_sigma(self) -> float:
        """Standard deviation of the true loss from `expected_lost`."""
        return math.sqrt(self._lost_variance)

    def warn(self, rate_now: float) -> None:
        """Log that the filter is over its capacity, and the right size."""
        self.warning_limit = math.inf
        double = 2 * self.count
        _LOG.warning(
            "visited set %r has taken %s URLs and was made for %s: its false-positive rate is %.3g now and rises"
            " (the configuration asks for %.3g). About %s new URLs were taken for known ones so far, and are lost"
            " unless the crawl verifies what the set calls known. For %s URLs it needs %s bits"
            " (%.1f MB): set capacity to the largest number of URLs that the crawl may find, or use dsbf or exact",
            self._backend,
            f"{self.count:,}",
            f"{self._capacity:,}",
            rate_now,
            self._error_rate,
            f"{self.expected_lost:,.0f}",
            f"{double:,}",
            f"{sizing.bits_for(double, self._error_rate):,}",
            sizing.bits_for(double, self._error_rate) / 8e6,
        )

    def reset(self) -> None:
        """Set all counts to zero."""
        self._set(0, 0.0, 0.0)

    def state(self) -> dict[str, Value]:
        """Return what a snapshot must hold."""
        return {"count": self.count, "expected_lost": self.expected_lost, "lost_variance": self._lost_variance}

    def restore(self, snapshot: Snapshot) -> None:
        """Replace the counts by those of a snapshot. Raises SnapshotRefused, and changes nothing then."""
        self._set(snapshot.integer("count"), snapshot.number("expected_lost"), snapshot.number("lost_variance"))

    def _set(self, count: int, expected_lost: float, lost_variance: float) -> None:
        self.count = count
        self.expected_lost = expected_lost
        self._lost_variance = lost_variance
        self.warning_limit = math.inf if self._capacity is None else self._capacity
