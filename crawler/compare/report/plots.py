"""The plots of a report, by matplotlib, which is optional: `pip install 'onceover-crawler[compare]'`."""

import io
from collections.abc import Callable, Sequence
from math import hypot
from typing import Any, Literal

import matplotlib as mpl
import msgspec
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import Bbox

from crawler.compare.measure.trial import Check, Look, Timing
from crawler.compare.report.colours import colour_of
from crawler.compare.report.recommending import frontier
from crawler.compare.report.summary import Row
from crawler.compare.report.value import Report
from crawler.compare.statistics import Spread
from crawler.status import size

_INK, _SOFT, _LINE, _PAPER = "#1d2733", "#5b6877", "#dfe4ea", "#ffffff"
_OF_PAGE = {_INK: "var(--ink)", _SOFT: "var(--soft)", _LINE: "var(--line)", _PAPER: "var(--card)"}
_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.color": _INK,
    "axes.edgecolor": _SOFT,
    "axes.labelcolor": _SOFT,
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _LINE,
    "grid.linewidth": 0.8,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "legend.facecolor": _PAPER,
    "legend.edgecolor": "none",
    "legend.framealpha": 0.85,
    "legend.fontsize": 8.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "onceover",
}
_SIZE_INCHES = (6.4, 4.1)
_DPI = 160
_DOT = 5.0
"""Pixels from the middle of a point to its edge, and a little more."""
_PLACES: tuple[tuple[int, int, Literal["left", "right"]], ...] = tuple(
    sorted(
        (
            (side * across, up, "left" if side > 0 else "right")
            for across in (7, 24, 48, 80, 120)
            for distance in range(0, 200, 7)
            for up in (distance + 3, -distance - 9)
            for side in (1, -1)
        ),
        key=lambda place: hypot(place[0], place[1]),
    )
)
"""Of a name from its point, in points, the nearest first; and which side of it is turned to the point."""


class Plot(msgspec.Struct, frozen=True, kw_only=True):
    """One plot, in both forms."""

    work: str
    name: str
    svg: str
    """An element, to stand in a page, whose colours for text and lines it takes."""
    png: bytes


def plots(report: Report) -> list[Plot]:
    """All plots, work by work; those for which nothing was measured are left out."""
    kinds: tuple[tuple[str, Callable[[Axes, Report, str], bool]], ...] = (
        ("memory", _memory),
        ("rate", _rate),
        ("throughput", _throughput),
        ("loss", _loss),
    )
    found = []
    for number, work in enumerate(report.works):
        for name, draw in kinds:
            with mpl.rc_context({**_STYLE, "svg.hashsalt": f"{number}-{name}"}):
                figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
                if draw(figure.add_subplot(), report, work.name):
                    found.append(_saved(figure, work.name, name))
    return found


def _saved(figure: Figure, work: str, name: str) -> Plot:
    svg, png = io.StringIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    figure.savefig(png, format="png", dpi=_DPI, metadata={"Software": None})
    text = svg.getvalue()
    for colour, of_page in _OF_PAGE.items():
        text = text.replace(colour, of_page)
    return Plot(work=work, name=name, svg=text[text.index("<svg") :], png=png.getvalue())


def _memory(axes: Axes, report: Report, work: str) -> bool:
    axes.set_title("Memory over URLs")
    for row in _rows(report, work):
        looks = _timed(report, row)
        told = [(look.distinct, look.told_bytes) for look in looks if look.told_bytes]
        grown = [(look.distinct, look.resident_bytes) for look in looks if look.resident_bytes]
        colour = colour_of(report, row.competitor)
        if told:
            axes.plot(*zip(*told, strict=True), color=colour, label=row.competitor)
        if grown:
            name = None if told else row.competitor
            axes.plot(*zip(*grown, strict=True), ":", color=colour, linewidth=1.4, label=name)
    axes.set_yscale("log")
    axes.set_xlabel("distinct URLs   (line: as told by the set; dots: growth of its process)")
    _counts_on_x(axes)
    axes.yaxis.set_major_locator(_few_on_log_scale())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: size(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    return _legend(axes)


def _rate(axes: Axes, report: Report, work: str) -> bool:
    axes.set_title("False-positive rate over URLs")
    for row in _rows(report, work):
        for check in _checks(report, row):
            colour = colour_of(report, row.competitor)
            looks = [*check.looks, *check.past]
            told = [(look.distinct, look.told_rate) for look in looks if look.told_rate]
            seen = [(look.distinct, look.hits / look.probes) for look in looks if look.hits]
            if told:
                axes.plot(*zip(*told, strict=True), color=colour, label=row.competitor)
            if seen:
                name = None if told else row.competitor
                axes.plot(*zip(*seen, strict=True), "o", color=colour, markersize=3.2, alpha=0.8, label=name)
    distinct = max((row.distinct for row in _rows(report, work)), default=0)
    if axes.lines and distinct:
        axes.axvline(distinct, color=_SOFT, linewidth=1, linestyle="--")
        is_last = axes.get_xlim()[1] < 1.3 * distinct
        axes.annotate(
            "the work ends here",
            (distinct, 1),
            xytext=(-4 if is_last else 4, 0),
            textcoords="offset points",
            xycoords=("data", "axes fraction"),
            ha="right" if is_last else "left",
            va="top",
            color=_SOFT,
            fontsize=8,
        )
    axes.set_yscale("log")
    axes.set_ylim(bottom=max(1e-9, axes.get_ylim()[0]))
    axes.set_xlabel("distinct URLs   (line: as told by the set; dots: measured)")
    _counts_on_x(axes)
    return _legend(axes)


def _throughput(axes: Axes, report: Report, work: str) -> bool:
    axes.set_title("Million URLs per second")
    rows = [row for row in _rows(report, work) if row.links_per_s][::-1]
    kinds: tuple[tuple[str, float, float, Callable[[Row], Spread | None]], ...] = (
        ("the work as it comes", 0.26, 1.0, lambda row: row.links_per_s),
        ("new ones alone", 0.0, 0.6, lambda row: row.new_per_s),
        ("known ones alone", -0.26, 0.3, lambda row: row.known_per_s),
    )
    for label, shift, alpha, figure in kinds:
        for place, row in enumerate(rows):
            found = figure(row)
            if found is None:
                continue
            beside = [[(found.median - found.low) / 1e6], [(found.high - found.median) / 1e6]]
            axes.barh(
                place + shift,
                found.median / 1e6,
                height=0.25,
                color=colour_of(report, row.competitor),
                alpha=alpha,
                xerr=beside,
                error_kw={"ecolor": _INK, "elinewidth": 0.9},
            )
        axes.barh(0, 0, color=_SOFT, alpha=alpha, label=label)
    axes.set_yticks(range(len(rows)), [row.competitor for row in rows])
    axes.tick_params(axis="y", length=0, labelcolor=_INK)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("median and extremes of the rounds")
    axes.legend(loc="best", handlelength=1.2)
    return bool(rows)


def _loss(axes: Axes, report: Report, work: str) -> bool:
    axes.set_title("What it loses for its memory")
    rows = [row for row in _rows(report, work) if row.bytes_per_url and not row.is_faint and row.loss is not None]
    if not rows:
        return False
    none = 0.3 / max(row.distinct for row in rows)
    for row in rows:
        axes.plot(
            _bits(row), max(row.loss or 0.0, none), "o", color=colour_of(report, row.competitor), markersize=8, zorder=3
        )
    best = frontier(rows)
    axes.step(
        [_bits(row) for row in best],
        [max(row.loss or 0.0, none) for row in best],
        where="post",
        color=_SOFT,
        linewidth=1.2,
        linestyle="--",
        label="the best choices",
    )
    axes.axhspan(none / 2, none * 2, color=_LINE, alpha=0.6)
    axes.annotate(
        "nothing lost", (0.005, none), xycoords=("axes fraction", "data"), va="center", fontsize=8, color=_SOFT
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    faint = [row.competitor for row in _rows(report, work) if row.is_faint]
    left_out = f"\nnot shown, as they take less than a process shows: {', '.join(faint)}" if faint else ""
    axes.set_xlabel(f"bits of memory for each URL{left_out}")
    axes.set_ylabel("share of new URLs lost")
    axes.margins(x=0.18, y=0.12)
    axes.xaxis.set_major_locator(_few_on_log_scale())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(bottom=none / 3, top=max(axes.get_ylim()[1], none * 100))
    has_legend = _legend(axes)
    name_points(axes, [((_bits(row), max(row.loss or 0.0, none)), row.competitor) for row in rows])
    return has_legend


Point = tuple[float, float]


def name_points(axes: Axes, named: Sequence[tuple[Point, str]]) -> list[Annotation]:
    """Write the name of each point beside it, so that no name covers another, a point or the legend; where there is no
    room beside it, farther away, with a line that leads there. The axes must be as they will be drawn."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    canvas = FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    renderer: Any = canvas.get_renderer()  # type: ignore[no-untyped-call]
    legend = axes.get_legend()
    taken = [] if legend is None else [legend.get_window_extent(renderer)]
    for point, _ in named:
        x, y = axes.transData.transform(point)
        taken.append(Bbox.from_extents(x - _DOT, y - _DOT, x + _DOT, y + _DOT))
    made = []
    for point, name in sorted(named, key=lambda each: -each[0][1]):
        text = axes.annotate(
            name,
            point,
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=8.5,
            arrowprops={"arrowstyle": "-", "color": _SOFT, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3},
        )
        for x, y, side in _PLACES:
            text.set_position((x, y))
            text.set_horizontalalignment(side)
            box = Text.get_window_extent(text, renderer)
            is_inside = axes.bbox.contains(box.x0, box.y0) and axes.bbox.contains(box.x1, box.y1)
            if is_inside and not any(box.overlaps(other) for other in taken):
                break
        taken.append(Text.get_window_extent(text, renderer))
        made.append(text)
    return made


def _rows(report: Report, work: str) -> list[Row]:
    return [row for row in report.rows if row.work == work]


def _timed(report: Report, row: Row) -> Sequence[Look]:
    """The looks of the first round."""
    for each in report.trials:
        if (each.work, each.competitor) == (row.work, row.competitor) and isinstance(each.outcome, Timing):
            return each.outcome.looks
    return ()


def _checks(report: Report, row: Row) -> list[Check]:
    return [
        each.outcome
        for each in report.trials
        if (each.work, each.competitor) == (row.work, row.competitor) and isinstance(each.outcome, Check)
    ]


def _bits(row: Row) -> float:
    return (row.bytes_per_url or 0.0) * 8


def _few_on_log_scale() -> LogLocator:
    """Ticks at 1, 2 and 5 of each decade, so that a short axis has some too."""
    return LogLocator(subs=(1.0, 2.0, 5.0), numticks=12)


def _counts_on_x(axes: Axes) -> None:
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _count(value)))


def _count(value: float) -> str:
    for unit, name in ((1e9, " bn"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"


def _legend(axes: Axes) -> bool:
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        axes.legend(loc="best", ncols=2 if len(handles) > 5 else 1, handlelength=1.6)
    return bool(handles)
