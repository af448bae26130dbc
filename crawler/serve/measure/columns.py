"""The history of a crawl as columns, ready for a plot. Pure."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import msgspec

from crawler.serve.measure.history import COLUMNS
from crawler.serve.measure.tiers import Window

MAX_POINTS: Final = 2000
_MAX_MOMENT: Final = 1e11
_RATES: Final = {
    "pages_per_s": "pages",
    "bytes_per_s": "bytes_received",
    "failures_per_s": "failures",
    "cpu_cores": "cpu_s",
}
"""Columns that tell how fast another one grows."""

_Moment = Annotated[float, msgspec.Meta(ge=-_MAX_MOMENT, le=_MAX_MOMENT)]


class HistoryQuery(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"begin": "from", "end": "to"}
):
    """Which part of a history is asked for. Moments are in seconds since 1970; those that are not positive count from
    now."""

    begin: _Moment = -3600.0
    end: _Moment = 0.0
    points: Annotated[int, msgspec.Meta(ge=2, le=MAX_POINTS)] = 300
    part: Annotated[int, msgspec.Meta(ge=0, le=1023)] | None = None
    """A part of a crawl in parts; all of it if there is none."""


class History(msgspec.Struct, frozen=True, kw_only=True):
    """What a crawl did over time."""

    begin: float
    """In seconds since 1970, as all moments."""
    end: float
    step_s: float
    """Seconds of a step. Only the last sample of each step is shown."""
    columns: dict[str, list[float | None]]
    """Values by name, all of one length. `time` has the moments; null stands for what is not known."""


def window_of(query: HistoryQuery, now: float) -> Window | None:
    """The span of time that is asked for; None if it ends before it begins."""
    begin, end = (now + each if each <= 0 else each for each in (query.begin, query.end))
    return Window(begin=begin, end=end, points=query.points) if begin < end else None


def as_columns(shown: Sequence[Mapping[str, float | None]], window: Window) -> History:
    columns = {name: [row.get(name) for row in shown] for name in ("time", *COLUMNS)}
    for name, counted in _RATES.items():
        columns[name] = _growth(columns["time"], columns[counted])
    return History(begin=window.begin, end=window.end, step_s=window.step_s, columns=columns)


def _growth(moments: Sequence[float | None], counts: Sequence[float | None]) -> list[float | None]:
    """How fast counts grow between each moment and the one before. None where one of them is not known, or the count
    has begun anew."""
    found: list[float | None] = [None] * len(counts)
    for place in range(1, len(counts)):
        then, now, before, after = moments[place - 1], moments[place], counts[place - 1], counts[place]
        if then is not None and now is not None and before is not None and after is not None and after >= before:
            found[place] = (after - before) / (now - then)
    return found
