"""Medians, spread, and whether a count fits an expectation. Pure."""

import math
from collections.abc import Sequence
from statistics import median

import msgspec

SIGMA = 3.0
"""Standard deviations within which a measurement agrees with an estimate."""


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
    """The value below which that share of an ascending sequence lies; the nearest that occurs."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def deviation(count: int, expected: float, *, variance: float | None = None) -> float:
    """How many standard deviations a count of events lies from what is expected.

    By Anscombe's transform of the Poisson law, 2·√(x + 3/8), which holds for small expectations too, where √expected as
    the deviation would call every single event a sensation. `variance` is that of the count from the expectation, where
    it is not `expected` as of independent rare events.
    """
    poisson = 2 * (math.sqrt(count + 3 / 8) - math.sqrt(expected + 3 / 8))
    return poisson * math.sqrt(expected / variance) if variance else poisson


def clustering(hits: Sequence[int], probes: int) -> float:
    """How many times more the sum of hits varies than that of as many independent probes; at least 1.

    `hits` are those of each place where equally many of the `probes` were made, which may have a chance of its own: the
    places were drawn, and that is where chance comes in. (The design effect of cluster sampling, Kish 1965.)
    """
    total = sum(hits)
    independent = total * (1 - total / max(1, probes))
    if not independent:
        return 1.0
    mean = total / len(hits)
    return max(1.0, sum((each - mean) ** 2 for each in hits) / independent)


def upper_bound(count: int) -> float:
    """With 95 % confidence the expectation behind a count of rare events is below this.

    Half the 95 % quantile of chi-square with 2·(count + 1) degrees of freedom, by Wilson and Hilferty; exact to 1 %.
    """
    degrees = 2 * (count + 1)
    return degrees / 2 * (1 - 2 / (9 * degrees) + 1.6449 * math.sqrt(2 / (9 * degrees))) ** 3
