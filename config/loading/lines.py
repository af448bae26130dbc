"""Finds the line of each key in a TOML file, for messages. The parser of the standard library does not tell it."""

import re
from collections.abc import Sequence

_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\\]*"|'[^']*')"""
_NAME = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*"
_HEADER = re.compile(rf"[ \t]*\[[ \t]*({_NAME})[ \t]*\]")
_BLOCK = re.compile(rf"[ \t]*\[\[[ \t]*({_NAME})[ \t]*\]\]")
_KEY = re.compile(rf"[ \t]*({_NAME})[ \t]*=")
_NEAR = 100
"""The next item of a list is searched in this many lines. Without a bound, long lists of escaped texts take minutes."""


class Lines:
    """Line numbers, from 1, of the keys in a valid TOML text.

    It scans headers, dotted keys and multi-line strings. For a key in an inline table it gives the line where the table
    begins. A path into an array of tables has the index of the table after its name: `site`, `0`, `match`.
    """

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._found: dict[tuple[str, ...], int] = {}
        self._blocks: dict[tuple[str, ...], int] = {}
        section: tuple[str, ...] = ()
        quote: str | None = None
        for number, line in enumerate(self._lines, start=1):
            if quote is None:
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
        current = first or 1
        found: list[int | None] = []
        for item in items:
            near = range(current, min(current + _NEAR, len(self._lines) + 1))
            line = next((number for number in near if str(item) in self._lines[number - 1]), None)
            found.append(line or first)
            current = line or current
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
