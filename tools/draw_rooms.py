#!/usr/bin/env python3
"""Draws which room imports which: docs/images/rooms-*.svg, from the imports of the code.

    .venv/bin/python tools/draw_rooms.py           draw them anew
    .venv/bin/python tools/draw_rooms.py --check   fail if one is not what the code says

An arrow that follows from two others (a -> b -> c and a -> c) is left out. Each room stands
above all that it imports; within a level, rooms are ordered by the mean place of their neighbours (Sugiyama's method).
"""

import sys
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from xml.sax.saxutils import escape

import grimp

REPOSITORY = Path(__file__).parents[1]
IMAGES = REPOSITORY / "docs" / "images"
PACKAGES = ["config", "crawler", "frontier", "visited"]
PICTURES = {"crawler": ["frontier", "visited", "config"], "frontier": ["visited"], "visited": []}
"""What each picture opens, and which packages it shows closed."""

HEIGHT, GAP, RISE, MARGIN = 30, 18, 70, 16
BEND_WIDTH = 10
SWEEPS = 40

SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" font-family="sans-serif" \
font-size="13">
<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">\
<path d="M0 0 8 4 0 8z" fill="#667"/></marker></defs>
<rect width="{width}" height="{height}" fill="#fff"/>"""


def edges_of(graph: grimp.ImportGraph, package: str, closed: list[str]) -> dict[str, set[str]]:
    """By node of the picture, the nodes that it imports."""

    def node(module: str) -> str | None:
        root = module.split(".", maxsplit=1)[0]
        if root in closed:
            return root
        return next((name for name in children if f"{module}.".startswith(f"{name}.")), None)

    children = sorted(graph.find_children(package))
    edges: dict[str, set[str]] = {name: set() for name in [*children, *closed]}
    for module in graph.modules:
        if (importer := node(module)) is not None:
            imported = {node(name) for name in graph.find_modules_directly_imported_by(module)}
            edges[importer] |= {name for name in imported if name is not None and name != importer}
    return edges


def reduced(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """Without the arrows that follow from others."""

    def below(name: str) -> set[str]:
        found: set[str] = set()
        waiting = list(edges[name])
        while waiting:
            if (other := waiting.pop()) not in found:
                found.add(other)
                waiting += edges[other]
        return found

    all_below = {name: below(name) for name in edges}
    if circle := sorted(name for name in edges if name in all_below[name]):
        sys.exit(f"these import each other in a circle: {', '.join(circle)}")
    return {
        name: {other for other in others if not any(other in all_below[third] for third in others)}
        for name, others in edges.items()
    }


def levels_of(edges: dict[str, set[str]]) -> dict[str, int]:
    levels: dict[str, int] = {}

    def level(name: str) -> int:
        if name not in levels:
            levels[name] = 1 + max((level(other) for other in edges[name]), default=-1)
        return levels[name]

    for name in edges:
        level(name)
    for name in sorted(edges, key=lambda name: (-levels[name], name)):
        above = [levels[other] for other, below in edges.items() if name in below]
        if len(above) > len(edges[name]):
            levels[name] = min(above) - 1  # shorter arrows
    return levels


class Drawing:
    """Places of rooms, and of the bends where an arrow passes a level."""

    def __init__(self, edges: dict[str, set[str]]) -> None:
        levels = levels_of(edges)
        self.rooms = set(edges)
        self.rows: list[list[str]] = [[] for _ in range(max(levels.values()) + 1)]
        for name in sorted(edges):
            self.rows[levels[name]].append(name)
        self.ways = [self._way(name, other, levels) for name in sorted(edges) for other in sorted(edges[name])]
        self.neighbours: dict[str, list[str]] = {name: [] for row in self.rows for name in row}
        for way in self.ways:
            for upper, lower in pairwise(way):
                self.neighbours[upper].append(lower)
                self.neighbours[lower].append(upper)
        self.x = {name: float(at * 100) for row in self.rows for at, name in enumerate(row)}
        self._arrange()

    def _way(self, name: str, other: str, levels: dict[str, int]) -> list[str]:
        bends = []
        for level in range(levels[name] - 1, levels[other], -1):
            bends.append(f"{name}>{other}>{level}")
            self.rows[level].append(bends[-1])
        return [name, *bends, other]

    def width(self, name: str) -> int:
        return 8 * len(label(name)) + 20 if name in self.rooms else BEND_WIDTH

    def _arrange(self) -> None:
        for sweep in range(SWEEPS):
            for row in self.rows if sweep % 2 else reversed(self.rows):
                wanted = {name: fmean([self.x[other] for other in self.neighbours[name]] or [0.0]) for name in row}
                row.sort(key=lambda name: (round(wanted[name], 3), name))
                self._place(row, wanted)

    def _place(self, row: list[str], wanted: dict[str, float]) -> None:
        """As near as may be to where each wants to stand, in their order and apart from each other."""
        blocks: list[tuple[list[str], list[float]]] = []  # names, and offsets from the first one's centre
        starts: list[float] = []
        for name in row:
            names, offsets, start = [name], [0.0], wanted[name]
            while blocks and starts[-1] + blocks[-1][1][-1] + self._apart(blocks[-1][0][-1], names[0]) > start:
                before, before_offsets = blocks.pop()
                starts.pop()
                shift = before_offsets[-1] + self._apart(before[-1], names[0])
                offsets = before_offsets + [offset + shift for offset in offsets]
                names = before + names
                start = fmean([wanted[one] - offset for one, offset in zip(names, offsets, strict=True)])
            blocks.append((names, offsets))
            starts.append(start)
        for (names, offsets), start in zip(blocks, starts, strict=True):
            for one, offset in zip(names, offsets, strict=True):
                self.x[one] = start + offset

    def _apart(self, left: str, right: str) -> float:
        return (self.width(left) + self.width(right)) / 2 + GAP

    def svg(self, packages: set[str]) -> str:
        left = min(self.x[name] - self.width(name) / 2 for name in self.x) - MARGIN
        right = max(self.x[name] + self.width(name) / 2 for name in self.x) + MARGIN
        x = {name: round(place - left) for name, place in self.x.items()}
        top = {name: MARGIN + RISE * at for at, row in enumerate(reversed(self.rows)) for name in row}
        width, height = round(right - left), 2 * MARGIN + HEIGHT + RISE * (len(self.rows) - 1)
        lines = [SVG.format(width=width, height=height)]
        for way in self.ways:
            path = f"M{x[way[0]]} {top[way[0]] + HEIGHT}"
            for upper, lower in pairwise(way):
                begin = top[upper] + HEIGHT
                end = top[lower] if lower in self.rooms else top[lower] + HEIGHT
                half = (top[lower] - begin) // 2
                path += f"C{x[upper]} {begin + half} {x[lower]} {top[lower] - half} {x[lower]} {top[lower]}"
                path += f"V{end}" if end != top[lower] else ""
            lines.append(f'<path d="{path}" fill="none" stroke="#99a" marker-end="url(#arrow)"/>')
        for name in sorted(self.rooms):
            wide = self.width(name)
            fill, line = ("#dce8f7", "#47a") if name in packages else ("#f4f4f4", "#888")
            lines.append(
                f'<rect x="{x[name] - wide // 2}" y="{top[name]}" width="{wide}" height="{HEIGHT}" rx="4"'
                f' fill="{fill}" stroke="{line}"/>'
            )
            lines.append(f'<text x="{x[name]}" y="{top[name] + 20}" text-anchor="middle">{escape(label(name))}</text>')
        return "\n".join([*lines, "</svg>", ""])


def label(name: str) -> str:
    return name.rsplit(".", 1)[-1]


def main() -> None:
    sys.path.insert(0, str(REPOSITORY))
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    old = []
    for package, closed in PICTURES.items():
        edges = reduced(edges_of(graph, package, closed))
        drawn = Drawing(edges).svg({name for name in edges if graph.find_children(name)})
        path = IMAGES / f"rooms-{package}.svg"
        if "--check" not in sys.argv:
            path.write_text(drawn, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != drawn:
            old.append(str(path.relative_to(REPOSITORY)))
    if old:
        sys.exit(f"no longer what the code imports: {', '.join(old)}. Draw anew: .venv/bin/python tools/draw_rooms.py")


if __name__ == "__main__":
    main()
