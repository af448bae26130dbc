"""Divides a budget of visits among pages that change at known rates, so that the most copies are current, or that they
are the least old on average.

A page that changes at the rate r and is visited every I seconds is current for (1 - exp(-r I)) / (r I) of the time. The
sum over all pages is largest when one more visit would bring each page the same, the price p: then x = r I solves
1 - (1 + x) exp(-x) = p r. A page for which p r is 1 or more changes so often that no visit is worth its price.

Its copy is (x / 2 - 1 + (1 - exp(-x)) / x) / r seconds old on average. By the same reasoning the sum of these ages is
least if x^2 / 2 - 1 + (1 + x) exp(-x) = (p r)^2. Every page is worth some visits (Cho and Garcia-Molina, Effective Page
Refresh Policies for Web Crawlers, 2003).
"""

import math
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from crawler.revisit.change_rate import change_rate
from crawler.revisit.schedules import Bounds, Visit

_SAMPLE: Final = 1000
_Numbers = npt.NDArray[np.float64]
_EVERY: Final = 100
_STEPS: Final = 30


class Aim(msgspec.Struct, frozen=True, kw_only=True):
    """What the visits are to bring."""

    products: _Numbers
    """Values of x = r I."""
    gains: _Numbers
    """What p r is for each of them."""
    max_gain: float
    """From this one on, no visit is worth its price."""


def _for_current() -> Aim:
    x = np.concatenate([[0.0], np.geomspace(1e-6, 40.0, 400)])
    return Aim(products=x, gains=-np.expm1(-x) - x * np.exp(-x), max_gain=1.0)


def _for_age() -> Aim:
    x = np.concatenate([[0.0], np.geomspace(1e-6, 1e7, 1000)])
    # The terms of a small x cancel each other out.
    squares = np.where(x < 1e-2, x**3 / 3 - x**4 / 8, x**2 / 2 - 1 + (1 + x) * np.exp(-x))
    return Aim(products=x, gains=np.sqrt(squares), max_gain=math.inf)


AIMS: Final = {"current": _for_current(), "age": _for_age()}
"""As many current copies as possible, or copies that are as little old as possible."""


def best_interval_s(rate: float, price_s: float, aim: Aim = AIMS["current"]) -> float:
    """The interval for a page with that change rate, if one more visit per second must bring `price_s`; infinity if no
    visit is worth it."""
    if rate <= 0 or rate * price_s >= aim.max_gain:
        return math.inf
    return float(np.interp(rate * price_s, aim.gains, aim.products)) / rate


class Allotment:
    """Finds the price at which the visits amount to the budget, from a sample of the pages that were visited last.

    A page that is visited twice as often is twice as often in the sample, so each counts by the time since its last
    visit.
    """

    def __init__(self, bounds: Bounds, *, mean_s: Callable[[], float], aim: Aim = AIMS["current"]) -> None:
        """The budget now allows one visit of each page every `mean_s` on average. It is asked now and then, also before
        any page is visited again."""
        self._bounds = bounds
        self._mean_s = mean_s
        self._aim = aim
        self.price_s = 0.0
        self._sample: deque[tuple[float, float]] = deque(maxlen=_SAMPLE)
        """Rates, and the seconds since the last visits."""
        self._until_next = _EVERY
        """Visits until the price is found anew."""

    def interval_s(self, rate: float | None, since_s: float) -> float:
        """The interval for a page that was visited now, `since_s` after its last visit. Without a rate, it is the first
        one."""
        if rate is not None:
            self._sample.append((rate, since_s))
        self._until_next -= 1
        if self._until_next <= 0 or (rate is not None and len(self._sample) == 1):
            # Often at first: a price that few pages have led to must not hold for many.
            self._until_next = min(len(self._sample) or _EVERY, _EVERY)
            self._find_price(self._mean_s())
        return self._bounds.clamp(
            self._bounds.first_s if rate is None else best_interval_s(rate, self.price_s, self._aim)
        )

    def _find_price(self, mean_s: float) -> None:
        if not self._sample:
            return
        rates, weights = np.array(self._sample).T
        low, high = self._bounds.min_s / 1e4, self._bounds.max_s
        for _ in range(_STEPS):
            price_s = math.sqrt(low * high)
            if np.average(self._frequencies(rates, price_s), weights=weights) * mean_s > 1:
                low = price_s
            else:
                high = price_s
        self.price_s = math.sqrt(low * high)

    def _frequencies(self, rates: _Numbers, price_s: float) -> _Numbers:
        """Visits per second of pages with these rates."""
        gains = rates * price_s
        with np.errstate(divide="ignore"):
            best = rates / np.interp(gains, self._aim.gains, self._aim.products)
        wanted = np.where((gains > 0) & (gains < self._aim.max_gain), best, 0.0)
        return np.clip(wanted, 1 / self._bounds.max_s, 1 / self._bounds.min_s)


class Estimated:
    """By the estimated rate of change, within a budget of visits."""

    def __init__(self, allotment: Allotment) -> None:
        self._allotment = allotment

    def interval_s(self, visit: Visit, /) -> float:
        since_s = abs(visit.history[-1]) if visit.history else 0.0
        return self._allotment.interval_s(change_rate(visit.history), since_s)
