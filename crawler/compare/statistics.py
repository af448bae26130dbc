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


def deviation(count: int, expected: float) -> float:
    """How many standard deviations a count of rare events lies from what is expected.

    By Anscombe's transform of the Poisson law, 2·√(x + 3/8), which holds for small expectations too, where √expected as
    the deviation would call every single event a sensation.
    """
    return 2 * (math.sqrt(count + 3 / 8) - math.sqrt(expected + 3 / 8))


def upper_bound(count: int) -> float:
    """With 95 % confidence the expectation behind a count of rare events is below this.

    Half the 95 % quantile of chi-square with 2·(count + 1) degrees of freedom, by Wilson and Hilferty; exact to 1 %.
    """
    degrees = 2 * (count + 1)
    return degrees / 2 * (1 - 2 / (9 * degrees) + 1.6449 * math.sqrt(2 / (9 * degrees))) ** 3
