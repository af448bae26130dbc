"""After how long a server counts as slow, so that others need not wait for it. Pure.

A server that takes much longer than servers usually do is probably slow or dead, and may take a minute. The crawl
learns from its own responses what is usual. So on a fast network a server soon counts as slow, and on a slow network
only servers that are slower than the rest do.
"""

from typing import Final

_WEIGHT: Final = 0.05
"""Weight of one response in the average: about the last twenty count."""
_TIMES_USUAL: Final = 5.0
_MIN_S: Final = 0.1
_MAX_S: Final = 2.0
_INITIAL_S: Final = 0.5


class SlowThreshold:
    """Learns from responses."""

    def __init__(self) -> None:
        self._usual_s: float | None = None
        self.limit_s = _INITIAL_S
        """After how long a server counts as slow."""

    def add_response(self, duration_s: float) -> None:
        """Learn from a response that took `duration_s`."""
        if self._usual_s is None:
            self._usual_s = duration_s
        else:
            self._usual_s += _WEIGHT * (duration_s - self._usual_s)
        self.limit_s = min(max(_TIMES_USUAL * self._usual_s, _MIN_S), _MAX_S)
