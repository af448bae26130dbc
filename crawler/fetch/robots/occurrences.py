"""Finds texts in a path, in a time that no choice of path and texts makes long."""

from array import array
from bisect import bisect_left, bisect_right
from typing import Final

_DIRECT_COMPARISONS: Final = 1 << 22
"""So many comparisons of characters take milliseconds."""
_DIRECT_CHARACTERS: Final = 4096
"""Of texts. Comparing these at each place of any path takes no longer than sorting its suffixes."""
_SUFFIX_CHARACTERS: Final = 1 << 23
"""The most that all suffixes have together. All of a path of 2,896 characters have half as many."""


class Occurrences:
    """Where texts occur in a path.

    `str.find` may compare a whole text at each place of the path: half a second for the texts of one long robots.txt.
    Here a text is looked up among the sorted suffixes of the path, once however often it is searched. Those of a long
    path are cut, as they would take gigabytes. What is longer is searched directly: a file has few texts so long, and
    Python finds each in a time proportional to such a path.
    """

    def __init__(self, path: str) -> None:
        """With a path that is not empty."""
        self._path = path
        self._depth = depth = _SUFFIX_CHARACTERS // len(path)
        sorted_suffixes = sorted((path[at : at + depth], at) for at in range(len(path)))
        self._suffixes = [suffix for suffix, _ in sorted_suffixes]
        self._starts = [start for _, start in sorted_suffixes]
        self._places: dict[str, array[int]] = {}
        """By text, in order."""

    def __contains__(self, text: str) -> bool:
        """Whether the text, which is not empty, is in the path."""
        if len(text) > self._depth:
            return text in self._path
        first = bisect_left(self._suffixes, text)
        return first < len(self._suffixes) and self._suffixes[first].startswith(text)

    def find(self, text: str, start: int) -> int:
        """What `path.find` returns."""
        if not 2 <= len(text) <= self._depth:
            return self._path.find(text, start)
        places = self._places.get(text)
        if places is None:
            places = self._places[text] = self._find_all(text)
        at = bisect_left(places, start)
        return places[at] if at < len(places) else -1

    def _find_all(self, text: str) -> "array[int]":
        first = bisect_left(self._suffixes, text)
        as_long = slice(len(text))
        end = bisect_right(self._suffixes, text, first, key=lambda suffix: suffix[as_long])
        return array("I", sorted(self._starts[first:end]))


def searchable(path: str, /, *, characters: int) -> str | Occurrences:
    """What texts of so many characters together are searched in: the path itself, unless that might take long."""
    is_long = characters > _DIRECT_CHARACTERS and characters * len(path) > _DIRECT_COMPARISONS
    return Occurrences(path) if is_long else path
