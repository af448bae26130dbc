"""Estimates how often a page changes, from visits that only tell whether it has changed since the last one.

If a page changes at random at the rate r, it has changed after t seconds with probability 1 - exp(-r t). The estimate
is the rate at which the observed visits are most probable, also if their intervals differ (Cho and Garcia-Molina,
Estimating Frequency of Change, 2003). It would be infinite if the page had changed at each visit, and 0 if it never
had. So, as in their estimator with reduced bias, half a visit is added that found nothing; and half a change, because
one visit that found nothing is no reason to stay away for ever.
"""

import math
from collections.abc import Sequence
from typing import Final

_STEPS: Final = 40
_PRIOR: Final = 0.5


def change_rate(history: Sequence[int], /) -> float | None:
    """Changes per second. `history` has the seconds before each visit, negative if nothing had changed since. None if
    there is no visit."""
    if not history:
        return None
    changed = [float(seconds) for seconds in history if seconds > 0]
    mean_s = sum(map(abs, history)) / len(history)
    unchanged_s = -sum(seconds for seconds in history if seconds < 0) + mean_s / 2
    low, high = 0.0, (len(changed) + _PRIOR) / unchanged_s
    # The left side falls as the rate grows, and t / (exp(r t) - 1) < 1 / r.
    for _ in range(_STEPS):
        rate = (low + high) / 2
        if sum([_expected(seconds, rate) for seconds in changed]) + _PRIOR / rate > unchanged_s:
            low = rate
        else:
            high = rate
    return (low + high) / 2


def _expected(seconds: float, rate: float) -> float:
    exponent = rate * seconds
    return 0.0 if exponent > 700 else seconds / math.expm1(exponent)
