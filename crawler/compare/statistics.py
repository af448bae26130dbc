"""Medians, spread, and whether a count fits an expectation. Pure."""

import math
from collections.abc import Sequence
from statistics import median

import msgspec

SIGMA = 3.0
"""A measurement agrees with an estimate within this many standard deviations."""


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Several samples of one figure."""

    median: float
    low: float
    high: float
    samples: int

    @property
    def share(self) -> float:
        """Half of the distance between the extremes, as a share of the median."""
        return (self.high - self.low) / 2 / self.median if self.median else 0.0


def spread(samples: Sequence[float]) -> Spread | None:
    """Median and extremes; None without samples."""
    if not samples:
        return None
    return Spread(median=median(samples), low=min(samples), high=max(samples), samples=len(samples))


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which that share of an ascending sequence lies; the nearest value of the sequence."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def deviation(count: int, expected: float, *, variance: float | None = None) -> float:
    """By how many standard deviations a count of events differs from its expectation.

    It uses Anscombe's transform of the Poisson distribution, 2·√(x + 3/8). This also holds for small expectations, for
    which √expected would be a much too small deviation. `variance` is the variance of the count, if it is not
    `expected`, which is that of independent rare events.
    """
    poisson = 2 * (math.sqrt(count + 3 / 8) - math.sqrt(expected + 3 / 8))
    return poisson * math.sqrt(expected / variance) if variance else poisson


def clustering(hits: Sequence[int], probes: int) -> float:
    """The factor by which the variance of the sum of hits exceeds that of as many independent probes; at least 1.

    `hits` has the hits at each place. The `probes` were spread evenly over the places, and each place may have its own
    probability of a hit. (This is the design effect of cluster sampling, Kish 1965.)
    """
    total = sum(hits)
    independent = total * (1 - total / max(1, probes))
    if not independent:
        return 1.0
    mean = total / len(hits)
    return max(1.0, sum((each - mean) ** 2 for each in hits) / independent)


def upper_bound(count: int) -> float:
    """With 95 % confidence, the expectation of a count of rare events is below this.

    It is half the 95 % quantile of chi-square with 2·(count + 1) degrees of freedom, by Wilson and Hilferty; exact to
    1 %.
    """
    degrees = 2 * (count + 1)
    return degrees / 2 * (1 - 2 / (9 * degrees) + 1.6449 * math.sqrt(2 / (9 * degrees))) ** 3
