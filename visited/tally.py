"""What a filter has accepted, and what it has probably lost on the way."""

import logging
import math

from visited import sizing

_LOG = logging.getLogger("visited")


class Tally:
    """Counts accepted URLs, sums the chance of loss, and warns once when more come than were planned for.

    Of the URLs that are truly new, a share p is swallowed, p the rate at that moment; so each accepted one stands for
    p/(1 - p) lost.
    """

    def __init__(self, *, backend: str, capacity: int | None, error_rate: float) -> None:
        self._backend = backend
        self._capacity = capacity
        self._error_rate = error_rate
        self.count: int
        self.expected_lost: float
        self.limit: float
        """Beyond this count a warning is due; infinite when it has been given."""
        self.restore(0, 0.0)

    def accept(self, new: int, mean_rate: float) -> None:
        """Count URLs that were accepted while the rate had this mean."""
        self.count += new
        if mean_rate < 1.0:
            self.expected_lost += new * mean_rate / (1 - mean_rate)

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

    def restore(self, count: int, expected_lost: float) -> None:
        """Take over the numbers of a snapshot, or zeros."""
        self.count = count
        self.expected_lost = expected_lost
        self.limit = math.inf if self._capacity is None else self._capacity
