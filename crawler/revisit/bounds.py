"""Between which intervals pages are visited again."""

import msgspec


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Intervals: the first one, the shortest and the longest."""

    first_s: float
    min_s: float
    max_s: float

    def clamp(self, interval_s: float) -> float:
        return min(max(interval_s, self.min_s), self.max_s)
