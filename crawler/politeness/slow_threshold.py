"""How long a server may take before others need not wait for it. Pure.

What takes much longer than servers usually do is probably slow or dead, and may take a minute. What is usual is learned
from the answers of the crawl itself: on a fast network patience is short, and on a slow one nobody is held for slow who
is not.
"""

from typing import Final

_WEIGHT: Final = 0.05
"""Of an answer in what is usual: some twenty answers count."""
_TIMES_USUAL: Final = 5.0
_LEAST_S: Final = 0.1
_MOST_S: Final = 2.0
_AT_FIRST_S: Final = 0.5


class SlowThreshold:
    """Learns from answers."""

    def __init__(self) -> None:
        self._usual_s: float | None = None

    def answered(self, duration_s: float) -> None:
        """A server has given a response, after so long."""
        if self._usual_s is None:
            self._usual_s = duration_s
        else:
            self._usual_s += _WEIGHT * (duration_s - self._usual_s)

    @property
    def limit_s(self) -> float:
        """How long to wait."""
        if self._usual_s is None:
            return _AT_FIRST_S
        return min(max(_TIMES_USUAL * self._usual_s, _LEAST_S), _MOST_S)
