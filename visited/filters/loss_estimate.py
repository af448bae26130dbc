"""What a filter has accepted, and what it has probably lost on the way."""

import logging
import math

from visited import sizing
from visited.snapshot import Snapshot, Value

_LOG = logging.getLogger("visited")


class LossEstimate:
    """Counts accepted URLs, sums the chance of loss, and warns once when more come than were planned for.

    Of the URLs that are truly new, a share p is swallowed, p the rate at that moment; so each accepted one stands for
    o = p/(1 - p) lost. What is lost is then this sum plus chance: +1 for a swallowed URL, -o for an accepted one, which
    is 0 in the mean, with a variance of p·1² + (1 - p)·o² = o for each that came, or o·(1 + o) for each accepted one.
    """

    def __init__(self, *, backend: str, capacity: int | None, error_rate: float) -> None:
        self._backend = backend
        self._capacity = capacity
        self._error_rate = error_rate
        self.count: int
        self.expected_lost: float
        self._lost_variance: float
        self.limit: float
        """Beyond this count a warning is due; infinite when it has been given."""
        self.empty()

    def accept(self, new: int, mean_rate: float) -> None:
        """Count URLs that were accepted while the rate had this mean."""
        self.count += new
        if mean_rate < 1.0:
            odds = mean_rate / (1 - mean_rate)
            self.expected_lost += new * odds
            self._lost_variance += new * odds * (1 + odds)

    def count_lost(self, new: int, lost: float, variance: float) -> None:
        """Count accepted URLs, and a number of lost ones that is known with this variance."""
        self.count += new
        self.expected_lost += lost
        self._lost_variance += variance

    @property
    def lost_sigma(self) -> float:
        """Standard deviation of what was lost from `expected_lost`."""
        return math.sqrt(self._lost_variance)

    def warn(self, rate_now: float) -> None:
        """Say that the filter is over its capacity, with the size that would have been right."""
        self.limit = math.inf
        double = 2 * self.count
        _LOG.warning(
            "visited set %r has taken %s URLs and was made for %s: its false-positive rate is %.3g now and rises"
            " (%.3g was asked for), about %s new URLs were lost so far. For %s URLs it needs %s bits (%.1f MB): set"
            " capacity to what the crawl may reach, or use dsbf or exact",
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

    def empty(self) -> None:
        """Begin anew."""
        self._set(0, 0.0, 0.0)

    def state(self) -> dict[str, Value]:
        """What a snapshot has to hold."""
        return {"count": self.count, "expected_lost": self.expected_lost, "lost_variance": self._lost_variance}

    def load(self, snapshot: Snapshot) -> None:
        """Take over what `state` told. Raises SnapshotRefused, and is then as it was."""
        self._set(snapshot.integer("count"), snapshot.number("expected_lost"), snapshot.number("lost_variance"))

    def _set(self, count: int, expected_lost: float, lost_variance: float) -> None:
        self.count = count
        self.expected_lost = expected_lost
        self._lost_variance = lost_variance
        self.limit = math.inf if self._capacity is None else self._capacity
