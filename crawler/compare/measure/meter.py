"""Measures the memory of a set while it is filled."""

from array import array

from crawler.compare.measure.process import own_bytes
from crawler.compare.measure.trial import Look
from crawler.compare.measure.work import Work
from visited import LocalSet, VisitedStats

_UNKNOWN = -1


def reported_bytes(stats: VisitedStats) -> int | None:
    """The memory that a set reports for itself, on its server too; None if it reports none, like sets of other
    libraries."""
    return stats.memory_bytes + stats.server_bytes or None


class Meter:
    """Measures memory a given number of times, evenly over the work.

    It allocates memory for all results at once. An object for each result would keep an arena of small objects alive,
    which would then count as memory of the set.
    """

    def __init__(self, work: Work, looks: int, empty: int | None) -> None:
        """`empty` is the memory of a process that reads the work without a set."""
        self._empty = empty
        self._distinct = work.survey.distinct
        self._step = max(1, self._distinct // looks)
        self._max_looks = looks
        self._found = 0
        self._numbers = array("q", bytes(8 * 4 * looks))
        self._fills = array("d", bytes(8 * looks))

    def look(self, distinct: int, visited: LocalSet) -> None:
        if distinct < self._step * (self._found + 1) or self._found == self._max_looks:
            return
        stats = visited.describe()
        # The last piece is shorter, so reading it takes less memory than was measured without a set.
        is_end = distinct >= self._distinct
        resident = None if is_end else growth(self._empty, own_bytes())
        for column, value in enumerate((distinct, reported_bytes(stats), resident, stats.disk_bytes)):
            self._numbers[4 * self._found + column] = _UNKNOWN if value is None else value
        self._fills[self._found] = _UNKNOWN if stats.fill is None else stats.fill
        self._found += 1

    def looks(self) -> tuple[Look, ...]:
        """All results so far."""
        return tuple(map(self._look, range(self._found)))

    def _look(self, number: int) -> Look:
        distinct, reported, resident, disk = self._numbers[4 * number : 4 * number + 4]
        fill = self._fills[number]
        return Look(
            distinct=distinct,
            reported_bytes=None if reported == _UNKNOWN else reported,
            resident_bytes=None if resident == _UNKNOWN else resident,
            disk_bytes=disk,
            fill=None if fill == _UNKNOWN else fill,
        )


def growth(before: int | None, after: int | None) -> int | None:
    """How much memory has grown; None if that is not known."""
    return None if before is None or after is None else max(0, after - before)
