"""Places the names of points in a plot."""

from collections.abc import Sequence
from math import hypot
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

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
