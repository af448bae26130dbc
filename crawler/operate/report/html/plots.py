"""What is plotted of a report."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from crawler.operate.report.forms import Activity, Report
from crawler.operate.report.html.svg import Line, Points, bars, legend, line_plot
from crawler.operate.report.html.tables import text
from crawler.status import size

_BARS: Final = 12
_DAY_S: Final = 86_400


def figures(report: Report) -> Iterator[str]:
    """The plots for which there is anything."""
    course = [(_moment(each.at), each) for each in report.course]
    lines = [
        Line("discovered", [(at, each.discovered) for at, each in course]),
        Line("finished", [(at, each.finished) for at, each in course], is_area=True),
    ]
    yield from _over_time("URLs discovered and finished", lines, counts=True)
    yield from _over_time(
        "Pages per second", [Line("pages", _rates(report.activity, "pages"), is_area=True)], counts=True
    )
    yield from _over_time(
        "Bytes per second", [Line("bytes", _rates(report.activity, "bytes_received"), is_area=True)], counts=False
    )
    summary = report.summary
    for title, counts in (
        ("URLs by status", summary.statuses),
        ("Pages by type", summary.types),
        ("Pages by depth", _by_depth(summary.depths)),
        ("Failures by reason", summary.failures),
        ("Excluded by rule", summary.exclusions),
        ("Links refused by rule", summary.refused or {}),
        ("Pages by host", {row.host: row.pages for row in report.hosts.most_pages}),
    ):
        yield from _bars(title, counts)


def _over_time(title: str, lines: Sequence[Line], *, counts: bool) -> Iterator[str]:
    moments = [at for line in lines for at, _ in line.points]
    span = max(moments, default=0.0) - min(moments, default=0.0)
    plot = line_plot(
        lines,
        label_x=lambda at: _label(at, span),
        label_y=_count if counts else size,
        name=title,
    )
    if plot is not None:
        keys = f'<p class="keys">{legend(lines)}</p>' if len(lines) > 1 else ""
        yield f'<figure class="card"><figcaption>{text(title)}</figcaption>{plot}{keys}</figure>'


def _bars(title: str, counts: Mapping[str, int]) -> Iterator[str]:
    rows = list(counts.items())
    shown, left = rows[:_BARS], rows[_BARS:]
    plot = bars(shown, label=lambda value: f"{value:,.0f}", name=title)
    if plot is not None:
        more = f'<p class="keys">and {len(left):,} more with {sum(count for _, count in left):,}</p>' if left else ""
        yield f'<figure class="card"><figcaption>{text(title)}</figcaption>{plot}{more}</figure>'


def _rates(activity: Sequence[Activity], name: str) -> Points:
    """Per second, at the middle of each bin, and nothing where there is none."""
    points: list[tuple[float, float]] = []
    end = None
    for each in activity:
        begin = _moment(each.at)
        if end is not None and begin > end:
            points += [(end, 0.0), (begin, 0.0)]
        end = begin + each.seconds
        points.append((begin + each.seconds / 2, getattr(each, name) / each.seconds))
    return points


def _by_depth(depths: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(depths.items(), key=lambda item: (not item[0].isdecimal(), len(item[0]), item[0])))


def _moment(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()


def _label(at: float, span: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S" if span < _DAY_S else "%m-%d %H:%M")


def _count(value: float) -> str:
    for unit, name in ((1e9, " bn"), (1e6, " M"), (1e4, " k")):
        if value >= unit:
            return f"{value / (1e3 if name == ' k' else unit):g}{name}"
    return f"{value:g}"
