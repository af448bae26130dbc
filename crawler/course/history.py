"""Discovered against finished over time, in bounded memory. Pure."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

MAX_POINTS: Final = 512
FIRST_STEP_S: Final = 1.0
_Item = TypeVar("_Item")


class Point(msgspec.Struct, frozen=True, array_like=True):
    """How far a crawl was at a moment, in seconds since 1970."""

    at: float
    discovered: int
    finished: int


class History(msgspec.Struct, kw_only=True):
    """Points at least `step_s` apart. When there are too many, every other one is dropped, and the step doubles."""

    points: list[Point] = []
    step_s: float = FIRST_STEP_S

    def add(self, point: Point, *, is_last: bool = False) -> None:
        """Add a point, unless the one before it is too close and this is not the last one of a run. After the clock was
        set back, later points are dropped."""
        while self.points and self.points[-1].at >= point.at:
            self.points.pop()
        if self.points and point.at < self.points[-1].at + self.step_s and not is_last:
            return
        self.points.append(point)
        if len(self.points) > MAX_POINTS:
            self.points = self.points[::2]
            self.step_s *= 2


def together(histories: Sequence[Sequence[Point]]) -> list[Point]:
    """The histories of the parts of a crawl as one. A part stays as it was until its next point."""
    if len(histories) == 1:
        return list(histories[0])
    moments = thin(sorted({point.at for points in histories for point in points}), MAX_POINTS)
    times = [[point.at for point in points] for points in histories]
    return [_sum(at, histories, times) for at in moments]


def _sum(at: float, histories: Sequence[Sequence[Point]], times: Sequence[Sequence[float]]) -> Point:
    last = [points[place - 1] for points, of in zip(histories, times, strict=True) if (place := bisect_right(of, at))]
    return Point(at, sum(each.discovered for each in last), sum(each.finished for each in last))


def thin(items: Sequence[_Item], count: int) -> list[_Item]:
    """At most `count` of the items, evenly spread, with the first and the last one. `count` is at least 2."""
    if len(items) <= count:
        return list(items)
    return [items[round(place * (len(items) - 1) / (count - 1))] for place in range(count)]
