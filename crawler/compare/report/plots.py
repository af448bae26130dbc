"""Makes the plots of a report with matplotlib, which is optional: `pip install 'onceover-crawler[compare]'`."""

import io
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import msgspec
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from crawler.compare.report.drawing import INK, LINE, PAPER, SOFT, draw_loss, draw_memory, draw_rate, draw_throughput
from crawler.compare.report.value import Report

_PAGE_COLOURS = {INK: "var(--ink)", SOFT: "var(--soft)", LINE: "var(--line)", PAPER: "var(--card)"}
_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.color": INK,
    "text.parse_math": False,  # a name may have dollar signs
    "axes.edgecolor": SOFT,
    "axes.labelcolor": SOFT,
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "legend.facecolor": PAPER,
    "legend.edgecolor": "none",
    "legend.framealpha": 0.85,
    "legend.fontsize": 8.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "onceover",
}
_SIZE_INCHES = (6.4, 4.1)
_DPI = 160


class Plot(msgspec.Struct, frozen=True, kw_only=True):
    """One plot, in both formats."""

    work: str
    name: str
    svg: str
    """An element for a page. It takes its colours for text and lines from the page."""
    png: bytes


def plots(report: Report) -> list[Plot]:
    """All plots, work by work, but for those for which nothing was measured."""
    kinds: tuple[tuple[str, Callable[[Axes, Report, str], bool]], ...] = (
        ("memory", draw_memory),
        ("rate", draw_rate),
        ("throughput", draw_throughput),
        ("loss", draw_loss),
    )
    found = []
    for number, work in enumerate(report.works):
        for name, draw in kinds:
            with mpl.rc_context({**_STYLE, "svg.hashsalt": f"{number}-{name}"}):
                figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
                if draw(figure.add_subplot(), report, work.name):
                    found.append(_save(figure, work.name, name))
    return found


def _save(figure: Figure, work: str, name: str) -> Plot:
    svg, png = io.StringIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    figure.savefig(png, format="png", dpi=_DPI, metadata={"Software": None})
    text = svg.getvalue()
    for colour, page_colour in _PAGE_COLOURS.items():
        text = text.replace(colour, page_colour)
    return Plot(work=work, name=name, svg=text[text.index("<svg") :], png=png.getvalue())
