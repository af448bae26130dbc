"""Finds texts in a path, in a time that no choice of path and texts makes long."""

from bisect import bisect_left, bisect_right
from typing import Final

_DIRECT_COMPARISONS: Final = 1 << 22
"""So many comparisons of characters take milliseconds."""


class Occurrences:
    """Where texts occur in a path.

    `str.find` may compare a whole text at each place of the path: half a second for the texts of one long robots.txt.
    Here a text is looked up among the sorted suffixes of the path, once however often it is searched.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._suffixes = sorted(path[at:] for at in range(len(path)))
        self._starts = [len(path) - len(suffix) for suffix in self._suffixes]
        self._places: dict[str, list[int]] = {}
        """By text, in order."""

    def __contains__(self, text: str) -> bool:
        """Whether the text, which is not empty, is in the path."""
        first = bisect_left(self._suffixes, text)
        return first < len(self._suffixes) and self._suffixes[first].startswith(text)

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
        first = bisect_left(self._suffixes, text)
        as_long = slice(len(text))
        end = bisect_right(self._suffixes, text, first, key=lambda suffix: suffix[as_long])
        return sorted(self._starts[first:end])


def searchable(path: str, /, *, characters: int) -> str | Occurrences:
    """What texts of so many characters together are searched in: the path itself, unless that might take long."""
    return Occurrences(path) if characters * len(path) > _DIRECT_COMPARISONS else path
