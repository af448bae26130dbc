"""Compares figures with what was expected. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from crawler.compare.measure.work import Work
from crawler.compare.report.summary import Row
from crawler.compare.statistics import SIGMA, deviation

_FIGURES: dict[str, Callable[[Row], float | None]] = {
    "bytes_per_url": lambda row: row.bytes_per_url,
    "bits_per_url": lambda row: None if row.bytes_per_url is None else row.bytes_per_url * 8,
    "rate": lambda row: row.rate,
    "told_rate": lambda row: row.estimated_rate,
    "largest_host_rate": lambda row: row.portal_rate,
    "loss": lambda row: row.loss,
    "forgotten": lambda row: row.forgotten,
    "pages_missing": lambda row: row.pages_missing,
    "bytes": lambda row: row.bytes,
    "links_per_s": lambda row: None if row.links_per_s is None else row.links_per_s.median,
}


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """An expected figure; see `config.CompareExpect`."""

    work: str
    set: str
    figure: str
    value: float
    tolerance: float | None = None
    over: str | None = None
    says: str | None = None
    note: str | None = None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    work: str
    set: str
    figure: str
    value: float
    found: float | None
    """None if it was not measured."""
    met: bool | None
    """None if it was not measured."""
    within: str
    """The bound by which it was judged."""
    says: str | None
    note: str | None


def judge(expected: Iterable[Expectation], rows: Sequence[Row], works: Mapping[str, Work]) -> list[Finding]:
    """A finding for each expectation, in their order."""
    return [_finding(each, rows, works.get(each.work)) for each in expected]


def _finding(each: Expectation, rows: Sequence[Row], work: Work | None) -> Finding:
    row = _row(rows, each.work, each.set)
    found = None if row is None else _figure(each, row, rows, work)
    counted = None if row is None or each.tolerance is not None else _count_behind(each.figure, row)
    met: bool | None
    if found is None:
        met, within = None, "not measured"
    elif each.tolerance is not None:
        met, within = abs(found - each.value) <= each.tolerance * each.value, f"±{each.tolerance:.0%}"
    elif counted is not None:
        count, of = counted
        met, within = abs(deviation(count, each.value * of)) <= SIGMA, f"±{SIGMA:g} σ of {of:,}"
    else:
        met, within = found == each.value, "exact"
    return Finding(
        work=each.work,
        set=each.set,
        figure=each.figure,
        value=each.value,
        found=found,
        met=met,
        within=within,
        says=each.says,
        note=each.note,
    )


def _figure(each: Expectation, row: Row, rows: Sequence[Row], work: Work | None) -> float | None:
    match each.figure:
        case "ratio_bytes" | "ratio_rate":
            other = _row(rows, each.work, each.over)
            name = "bytes" if each.figure == "ratio_bytes" else "links_per_s"
            above, below = _FIGURES[name](row), None if other is None else _FIGURES[name](other)
            return None if above is None or not below else above / below
        case "bytes_at_scale":
            scale = None if work is None or work.stands_for is None else work.stands_for / work.survey.distinct
            return None if row.bytes is None or scale is None else row.bytes * scale
        case "text_at_scale":
            return None if work is None or work.stands_for is None else work.survey.mean_length * work.stands_for
        case figure:
            return _FIGURES[figure](row)


def _count_behind(figure: str, row: Row) -> tuple[int, int] | None:
    """The count behind a share, and the total; None for other figures."""
    match figure:
        case "loss" if row.lost is not None:
            return row.lost, row.distinct
        case "rate" if row.rate is not None:
            return round(row.rate * row.probes), row.probes
        case "largest_host_rate" if row.portal_rate is not None:
            return round(row.portal_rate * row.portal_probes), row.portal_probes
    return None


def _row(rows: Sequence[Row], work: str, name: str | None) -> Row | None:
    return next((row for row in rows if (row.work, row.competitor) == (work, name)), None)
