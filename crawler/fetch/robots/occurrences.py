"""Finds texts in a path, in a time that no choice of path and texts makes long."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import chain, pairwise, repeat
from typing import Final

_DIRECT_COMPARISONS: Final = 1 << 22
"""So many comparisons of characters take milliseconds."""
_DIRECT_CHARACTERS: Final = 4096
"""Of texts. Comparing these at each place of any path takes no longer than sorting its suffixes."""
_HEAD_CHARACTERS: Final = 64
"""Of a suffix, which are kept. All of each suffix of a path of 64 KB would take 2 GB."""


class Occurrences:
    """Where texts occur in a path.

    `str.find` may compare a whole text at each place of the path: half a second for the texts of one long robots.txt.
    Here a text is looked up among the sorted suffixes of the path, once however often it is searched.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._starts = _sorted_suffixes(path)
        self._heads = [path[at : at + _HEAD_CHARACTERS] for at in self._starts]
        self._places: dict[str, list[int]] = {}
        """By text, in order."""

    def __contains__(self, text: str) -> bool:
        """Whether the text, which is not empty, is in the path."""
        first = self._first(text)
        return first < len(self._starts) and self._path.startswith(text, self._starts[first])

    def find(self, text: str, start: int) -> int:
        """What `path.find` returns."""
        if len(text) < 2:
            return self._path.find(text, start)
        places = self._places.get(text)
        if places is None:
            places = self._places[text] = self._find_all(text)
        at = bisect_left(places, start)
        return places[at] if at < len(places) else -1

    def _find_all(self, text: str) -> list[int]:
        first = self._first(text)
        end = bisect_right(self._starts, text, first, key=self._cut_to(len(text)))
        return sorted(self._starts[first:end])

    def _first(self, text: str) -> int:
        """How many suffixes come before the text."""
        if len(text) <= _HEAD_CHARACTERS:
            return bisect_left(self._heads, text)
        return bisect_left(self._starts, text, key=self._cut_to(len(text)))

    def _cut_to(self, size: int) -> Callable[[int], str]:
        path = self._path
        return lambda at: path[at : at + size]


def _sorted_suffixes(path: str) -> list[int]:
    """Where each suffix begins, in their order. Each round compares twice as many characters as the one before, by what
    that has found out about both halves (Manber and Myers 1990)."""
    keys: list[str] | list[tuple[int, int]] = [path[at : at + _HEAD_CHARACTERS] for at in range(len(path))]
    size = _HEAD_CHARACTERS
    while True:
        starts = sorted(range(len(path)), key=keys.__getitem__)
        ranks = [0] * len(path)
        for at, following in pairwise(starts):
            ranks[following] = ranks[at] + (keys[following] != keys[at])
        if not starts or ranks[starts[-1]] == len(path) - 1:
            return starts
        keys = list(zip(ranks, chain(ranks[size:], repeat(-1, size)), strict=False))
        size *= 2


def searchable(path: str, /, *, characters: int) -> str | Occurrences:
    """What texts of so many characters together are searched in: the path itself, unless that might take long."""
    is_long = characters > _DIRECT_CHARACTERS and characters * len(path) > _DIRECT_COMPARISONS
    return Occurrences(path) if is_long else path
