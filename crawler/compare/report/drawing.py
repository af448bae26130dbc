"""Draws each kind of plot, and places the names of points in it. A function returns whether there was anything to
draw."""

from collections.abc import Callable, Sequence
from math import hypot
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import Bbox

from crawler.compare.measure.trial import Check, Outcome, Timing
from crawler.compare.report.recommending import frontier
from crawler.compare.report.summary import Row
from crawler.compare.report.value import Report, colour_of
from crawler.compare.statistics import Spread
from crawler.status import size

_DOT = 5.0
"""Radius of a point with a margin, in pixels."""
_OFFSETS: tuple[tuple[int, int, Literal["left", "right"]], ...] = tuple(
    sorted(
        (
            (side * across, up, "left" if side > 0 else "right")
            for across in (7, 24, 48, 80, 120)
            for distance in range(0, 200, 7)
            for up in (distance + 3, -distance - 9)
            for side in (1, -1)
        ),
        key=lambda offset: hypot(offset[0], offset[1]),
    )
)
"""Positions of a name relative to its point, the nearest first: x and y in points, and the side of the name that faces
the point."""

Point = tuple[float, float]


INK, SOFT, LINE, PAPER = "#1d2733", "#5b6877", "#dfe4ea", "#ffffff"


def label_points(axes: Axes, named: Sequence[tuple[Point, str]]) -> list[Annotation]:
    """Write the name of each point next to it, so that no name covers another name, a point or the legend. If there is
    no space next to a point, its name is farther away, with a line to the point. The axes must be complete."""
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
    labels = []
    for point, name in sorted(named, key=lambda each: -each[0][1]):
        text = axes.annotate(
            name,
            point,
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=8.5,
            arrowprops={"arrowstyle": "-", "color": "#5b6877", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3},
        )
        for x, y, side in _OFFSETS:
            text.set_position((x, y))
            text.set_horizontalalignment(side)
            box = Text.get_window_extent(text, renderer)
            is_inside = axes.bbox.contains(box.x0, box.y0) and axes.bbox.contains(box.x1, box.y1)
            if is_inside and not any(box.overlaps(other) for other in taken):
                break
        taken.append(Text.get_window_extent(text, renderer))
        labels.append(text)
    return labels


def draw_memory(axes: Axes, report: Report, work: str) -> bool:
    axes.set_title("Memory over URLs")
    for row in _rows(report, work):
        looks = next((each.looks for each in _outcomes(report, row) if isinstance(each, Timing)), ())
        reported = [(look.distinct, look.reported_bytes) for look in looks if look.reported_bytes]
        grown = [(look.distinct, look.resident_bytes) for look in looks if look.resident_bytes]
        colour = colour_of(report, row.competitor)
        if reported:
            axes.plot(*zip(*reported, strict=True), color=colour, label=row.competitor)
        if grown:
            name = None if reported else row.competitor
            axes.plot(*zip(*grown, strict=True), ":", color=colour, linewidth=1.4, label=name)
    axes.set_yscale("log")
    axes.set_xlabel("distinct URLs   (line: reported by the set; dots: growth of its process)")
    _counts_on_x(axes)
    axes.yaxis.set_major_locator(_few_on_log_scale())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: size(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    return _legend(axes)


def draw_rate(axes: Axes, report: Report, work: str) -> bool:
    axes.set_title("False-positive rate over URLs")
    for row in _rows(report, work):
        for check in (each for each in _outcomes(report, row) if isinstance(each, Check)):
            colour = colour_of(report, row.competitor)
            looks = [*check.looks, *check.past]
            estimated = [(look.distinct, look.estimated_rate) for look in looks if look.estimated_rate]
            seen = [(look.distinct, look.hits / look.probes) for look in looks if look.hits]
            if estimated:
                axes.plot(*zip(*estimated, strict=True), color=colour, label=row.competitor)
            if seen:
                name = None if estimated else row.competitor
                axes.plot(*zip(*seen, strict=True), "o", color=colour, markersize=3.2, alpha=0.8, label=name)
    distinct = max((row.distinct for row in _rows(report, work)), default=0)
    if axes.lines and distinct:
        axes.axvline(distinct, color=SOFT, linewidth=1, linestyle="--")
        is_last = axes.get_xlim()[1] < 1.3 * distinct
        axes.annotate(
            "the work ends here",
            (distinct, 1),
            xytext=(-4 if is_last else 4, 0),
            textcoords="offset points",
            xycoords=("data", "axes fraction"),
            ha="right" if is_last else "left",
            va="top",
            color=SOFT,
            fontsize=8,
        )
    axes.set_yscale("log")
    axes.set_ylim(bottom=max(1e-9, axes.get_ylim()[0]))
    axes.set_xlabel("distinct URLs   (line: estimate of the set; dots: measured)")
    _counts_on_x(axes)
    return _legend(axes)


def draw_throughput(axes: Axes, report: Report, work: str) -> bool:
    axes.set_title("Million URLs per second")
    rows = [row for row in _rows(report, work) if row.links_per_s][::-1]
    kinds: tuple[tuple[str, float, float, Callable[[Row], Spread | None]], ...] = (
        ("all links of the work", 0.26, 1.0, lambda row: row.links_per_s),
        ("new URLs only", 0.0, 0.6, lambda row: row.new_per_s),
        ("known URLs only", -0.26, 0.3, lambda row: row.known_per_s),
    )
    for label, shift, alpha, figure in kinds:
        for position, row in enumerate(rows):
            found = figure(row)
            if found is None:
                continue
            extremes = [[(found.median - found.low) / 1e6], [(found.high - found.median) / 1e6]]
            axes.barh(
                position + shift,
                found.median / 1e6,
                height=0.25,
                color=colour_of(report, row.competitor),
                alpha=alpha,
                xerr=extremes,
                error_kw={"ecolor": INK, "elinewidth": 0.9},
            )
        axes.barh(0, 0, color=SOFT, alpha=alpha, label=label)
    axes.set_yticks(range(len(rows)), [row.competitor for row in rows])
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("median and extremes of the rounds")
    axes.legend(loc="best", handlelength=1.2)
    return bool(rows)


def draw_loss(axes: Axes, report: Report, work: str) -> bool:
    axes.set_title("Losses by memory")
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
        color=SOFT,
        linewidth=1.2,
        linestyle="--",
        label="the best choices",
    )
    axes.axhspan(none / 2, none * 2, color=LINE, alpha=0.6)
    axes.annotate(
        "nothing lost", (0.005, none), xycoords=("axes fraction", "data"), va="center", fontsize=8, color=SOFT
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    faint = [row.competitor for row in _rows(report, work) if row.is_faint]
    left_out = f"\nnot shown, because their memory is too small to measure: {', '.join(faint)}" if faint else ""
    axes.set_xlabel(f"bits of memory for each URL{left_out}")
    axes.set_ylabel("share of new URLs lost")
    axes.margins(x=0.18, y=0.12)
    axes.xaxis.set_major_locator(_few_on_log_scale())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(bottom=none / 3, top=max(axes.get_ylim()[1], none * 100))
    has_legend = _legend(axes)
    label_points(axes, [((_bits(row), max(row.loss or 0.0, none)), row.competitor) for row in rows])
    return has_legend


def _rows(report: Report, work: str) -> list[Row]:
    return [row for row in report.rows if row.work == work]


def _outcomes(report: Report, row: Row) -> list[Outcome]:
    """Of all trials of a row, in the order of their rounds."""
    return [each.outcome for each in report.trials if (each.work, each.competitor) == (row.work, row.competitor)]


def _bits(row: Row) -> float:
    return (row.bytes_per_url or 0.0) * 8


def _few_on_log_scale() -> LogLocator:
    """Ticks at 1, 2 and 5 of each decade, so that a short axis has ticks too."""
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
