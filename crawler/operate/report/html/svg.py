"""Plots as SVG elements. They take their colours from the page. Pure."""

from collections.abc import Callable, Sequence
from math import ceil, floor, log10
from typing import Final

import msgspec

from crawler.operate.report.html.tables import text as plain

WIDTH: Final = 460
_HEIGHT: Final = 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 68, 14, 12, 30
_ROW: Final = 24
_LABEL: Final = 150
_MAX_LABEL: Final = 22
_COLOURS: Final = ("one", "two")

Points = Sequence[tuple[float, float]]


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
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{plain(label_y(tick))}</text>')
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        x, _ = at(low + share * (high - low), 0.0)
        text = plain(label_x(low + share * (high - low)))
        parts.append(f'<text x="{x:.1f}" y="{_HEIGHT - 10}" text-anchor="{anchor}">{text}</text>')
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
    return "".join(f'<span class="key {colour}"></span>{plain(line.name)} ' for line, colour in names)


def bars(rows: Sequence[tuple[str, float]], *, label: Callable[[float], str], name: str) -> str | None:
    """A bar for each row, with its name and value; None without rows."""
    if not rows:
        return None
    most = max(value for _, value in rows) or 1.0
    parts = []
    for number, (text, value) in enumerate(rows):
        y = number * _ROW
        shown = text if len(text) <= _MAX_LABEL else f"{text[: _MAX_LABEL - 1]}…"
        width = value / most * (WIDTH - _LABEL - 90)
        parts.append(
            f"<g><title>{plain(text)}: {plain(label(value))}</title>"
            f'<text x="{_LABEL - 8}" y="{y + 16}" text-anchor="end">{plain(shown)}</text>'
            f'<rect class="one" x="{_LABEL}" y="{y + 4}" width="{max(width, 1):.1f}" height="{_ROW - 8}" rx="2"/>'
            f'<text x="{_LABEL + max(width, 1) + 6:.1f}" y="{y + 16}">{plain(label(value))}</text></g>'
        )
    return _svg(parts, len(rows) * _ROW + 4, name)


def _svg(parts: Sequence[str], height: int, name: str) -> str:
    head = (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{plain(name)}" xmlns="http://www.w3.org/2000/svg">'
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
