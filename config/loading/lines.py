"""Finds the line of each key in a TOML file, for messages. The parser of the standard library does not tell it."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\\]*"|'[^']*')"""
_NAME = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*"
_HEADER = re.compile(rf"[ \t]*\[[ \t]*({_NAME})[ \t]*\]")
_BLOCK = re.compile(rf"[ \t]*\[\[[ \t]*({_NAME})[ \t]*\]\]")
_KEY = re.compile(rf"[ \t]*({_NAME})[ \t]*=")
_NEAR = 10_000
"""The next item of a list begins within this many characters. Without a bound, long lists of escaped texts take
minutes."""


class Lines:
    """Line numbers, from 1, of the keys in a valid TOML text.

    It scans headers, dotted keys and multi-line strings. For a key in an inline table it gives the line where the table
    begins. A path into an array of tables has the index of the table after its name: `site`, `0`, `match`.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self._found: dict[tuple[str, ...], int] = {}
        self._blocks: dict[tuple[str, ...], int] = {}
        section: tuple[str, ...] = ()
        quote: str | None = None
        for number, line in enumerate(lines, start=1):
            if quote is None:
                if line.startswith("#"):
                    continue
                if header := _HEADER.match(line):
                    section = self._number_path(_parts(header[1]))
                    self._remember(section, number)
                elif block := _BLOCK.match(line):
                    section = self._next_block(_parts(block[1]))
                    self._remember(section, number)
                elif key := _KEY.match(line):
                    self._remember(section + _parts(key[1]), number)
            quote = _open_quote(line, quote)

    def of(self, *path: str) -> int | None:
        """The line of a key, or of the innermost table around it."""
        for length in range(len(path), 0, -1):
            if (line := self._found.get(path[:length])) is not None:
                return line
        return None

    def of_items(self, items: Sequence[object], *path: str) -> list[int | None]:
        """The line of each item of a list of texts. For an item that is written with escapes, the line of the key."""
        first = self.of(*path)
        line = first or 1
        at = self._starts[line - 1]
        found: list[int | None] = []
        for item in map(str, items):
            place = self._text.find(item, at, at + _NEAR + len(item))
            if place < 0:
                found.append(first)
                continue
            line = bisect_right(self._starts, place, lo=line - 1)
            found.append(line)
            at = place + len(item)
        return found

    def _next_block(self, name: tuple[str, ...]) -> tuple[str, ...]:
        path = (*self._number_path(name[:-1]), name[-1])
        self._blocks[path] = self._blocks.get(path, -1) + 1
        return (*path, str(self._blocks[path]))

    def _number_path(self, name: tuple[str, ...]) -> tuple[str, ...]:
        """The path of a table. Within an array of tables, it belongs to the last table so far."""
        path: tuple[str, ...] = ()
        for part in name:
            path = (*path, part)
            if path in self._blocks:
                path = (*path, str(self._blocks[path]))
        return path

    def _remember(self, path: tuple[str, ...], line: int) -> None:
        for length in range(1, len(path) + 1):
            self._found.setdefault(path[:length], line)


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_PART, name))


def _open_quote(line: str, quote: str | None) -> str | None:
    """The delimiter of the multi-line string that is open at the end of this line."""
    for delimiter in re.findall(r'"""|\'\'\'', line):
        quote = delimiter if quote is None else None if quote == delimiter else quote
    return quote
