"""What is plotted of a report, as SVG elements, which take their colours from the page."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import ceil, floor, log10
from typing import Final

import msgspec

from crawler.operate.report.forms import Activity, Report
from crawler.operate.report.html.tables import text
from crawler.status import size

WIDTH: Final = 460
_HEIGHT: Final = 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 68, 14, 12, 30
_ROW: Final = 24
_LABEL: Final = 150
_MAX_LABEL: Final = 22
_COLOURS: Final = ("one", "two")

Points = Sequence[tuple[float, float]]


_BARS: Final = 12
_DAY_S: Final = 86_400


class Line(msgspec.Struct, frozen=True):
    """A line of a plot, or an area below it."""

    name: str
    points: Points
    is_area: bool = False


def line_plot(
    lines: Sequence[Line], *, label_x: Callable[[float], str], label_y: Callable[[float], str], name: str
) -> str | None:
    """Lines over time; None if they have no two points. `name` is what the plot shows."""
    xs = [x for line in lines for x, _ in line.points]
    if len(set(xs)) < 2:
        return None
    low, high = min(xs), max(xs)
    ticks = _ticks(max(y for line in lines for _, y in line.points))
    top = ticks[-1]

    def at(x: float, y: float) -> tuple[float, float]:
        right = _LEFT + (x - low) / (high - low) * (WIDTH - _LEFT - _RIGHT)
        return right, _HEIGHT - _BOTTOM - y / top * (_HEIGHT - _TOP - _BOTTOM)

    parts = []
    for tick in ticks:
        _, y = at(low, tick)
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{WIDTH - _RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text(label_y(tick))}</text>')
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        x, _ = at(low + share * (high - low), 0.0)
        named = text(label_x(low + share * (high - low)))
        parts.append(f'<text x="{x:.1f}" y="{_HEIGHT - 10}" text-anchor="{anchor}">{named}</text>')
    for line, colour in zip(lines, _COLOURS, strict=False):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(x, y) for x, y in line.points))
        if line.is_area:
            (first, base), (last, _) = at(line.points[0][0], 0.0), at(line.points[-1][0], 0.0)
            parts.append(
                f'<polygon class="{colour} area" points="{first:.1f},{base:.1f} {path} {last:.1f},{base:.1f}"/>'
            )
        parts.append(f'<polyline class="{colour}" points="{path}"/>')
    return _svg(parts, _HEIGHT, name)


def legend(lines: Sequence[Line]) -> str:
    names = zip(lines, _COLOURS, strict=False)
    return "".join(f'<span class="key {colour}"></span>{text(line.name)} ' for line, colour in names)


def bars(rows: Sequence[tuple[str, float]], *, label: Callable[[float], str], name: str) -> str | None:
    """A bar for each row, with its name and value; None without rows."""
    if not rows:
        return None
    most = max(value for _, value in rows) or 1.0
    parts = []
    for number, (title, value) in enumerate(rows):
        y = number * _ROW
        shown = title if len(title) <= _MAX_LABEL else f"{title[: _MAX_LABEL - 1]}…"
        width = value / most * (WIDTH - _LABEL - 90)
        parts.append(
            f"<g><title>{text(title)}: {text(label(value))}</title>"
            f'<text x="{_LABEL - 8}" y="{y + 16}" text-anchor="end">{text(shown)}</text>'
            f'<rect class="one" x="{_LABEL}" y="{y + 4}" width="{max(width, 1):.1f}" height="{_ROW - 8}" rx="2"/>'
            f'<text x="{_LABEL + max(width, 1) + 6:.1f}" y="{y + 16}">{text(label(value))}</text></g>'
        )
    return _svg(parts, len(rows) * _ROW + 4, name)


def _svg(parts: Sequence[str], height: int, name: str) -> str:
    head = (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{text(name)}" xmlns="http://www.w3.org/2000/svg">'
    )
    return f"{head}{''.join(parts)}</svg>"


def _ticks(most: float) -> list[float]:
    """From 0 to at least `most`, by 1, 2 or 5 times a power of ten."""
    if most <= 0:
        return [0.0, 1.0]
    rough = most / 4
    power = 10.0 ** floor(log10(rough))
    step = next(power * each for each in (1, 2, 5, 10) if power * each >= rough)
    return [step * number for number in range(ceil(most / step - 1e-9) + 1)]


def figures(report: Report) -> Iterator[str]:
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
        ("Truncated pages by reason", summary.truncated or {}),
        ("Failures by reason", summary.failures),
        ("Excluded by rule", summary.exclusions),
        ("Links refused by rule", summary.refused or {}),
        ("Pages by host", {row.host: row.pages for row in report.hosts.most_pages}),
    ):
        yield from _bars(title, counts)


def _over_time(title: str, lines: Sequence[Line], *, counts: bool) -> Iterator[str]:
    moments = [at for line in lines for at, _ in line.points]
    span = max(moments, default=0.0) - min(moments, default=0.0)
    plot = line_plot(lines, label_x=lambda at: _label(at, span), label_y=_count if counts else size, name=title)
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
