"""When the pages of a simulated web change: each at random, at a rate of its own.

The changes of a page are a Poisson process. Time is divided into spans of the page's mean time between two changes, and
the changes within each span are drawn from its number. So the last change before a moment is found without going
through all of them, and every server of a web gives the same answer at the same time.
"""

import math
from typing import Final

import msgspec

from crawler.simweb.geography import draws, share
from crawler.simweb.params import WorldParams

EPOCH_S: Final = 1_577_836_800
"""2020, before which nothing has changed."""
_MOST_IN_SPAN: Final = 6
"""One span in some 10,000 would have more changes."""
_CUMULATED: Final = tuple(
    sum(math.exp(-1) / math.factorial(count) for count in range(most + 1)) for most in range(_MOST_IN_SPAN)
)
"""The share of spans with at most so many changes."""


class Version(msgspec.Struct, frozen=True):
    """A page between two of its changes."""

    since: float
    """When it changed last, in seconds since 1970."""
    noise: int
    """A random number of 64 bits."""


class Changes:
    """The changes of the pages of one web."""

    def __init__(self, params: WorldParams) -> None:
        self._params = params

    def mean_s(self, *page: int) -> float:
        """The mean time between two changes of a page. `page` are numbers that name it."""
        p = self._params
        pick, *_ = draws(p.seed, 8, *page)
        return p.change_every_s * math.pow(p.change_spread, 2 * share(pick) - 1)

    def version(self, *page: int, now: float) -> Version | None:
        """The version of a page that is served now; None for its first one, and if pages never change."""
        if not self._params.change_every_s or now < EPOCH_S:
            return None
        span_s = self.mean_s(*page)
        span = int((now - EPOCH_S) / span_s)
        while span >= 0:
            count_draw, noise, *moments = draws(self._params.seed, 9, span, *page)
            count = sum(share(count_draw) >= most for most in _CUMULATED)
            times = sorted(EPOCH_S + (span + share(each)) * span_s for each in moments[:count])
            passed = [each for each in times if each <= now]
            if passed:
                return Version(passed[-1], noise ^ len(passed))
            span -= 1
        return None
