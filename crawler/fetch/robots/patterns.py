"""Patterns of paths in robots.txt, and which paths they allow."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from typing import Final

import msgspec

from crawler.fetch.robots.occurrences import Occurrences, searchable

_PATTERN_BYTES: Final = 290
"""What an indexed pattern takes beside its text."""
_PIECE_BYTES: Final = 58
_PLAIN_BYTES: Final = 140
"""What an indexed pattern without wildcards takes beside its text."""
_STARS = re.compile(r"\*+")
_TO_ESCAPE = re.compile("%[0-9A-Fa-f]{2}|[^!-~]+")
_UNRESERVED = re.compile("%(2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9A])")
"""Escapes, in capitals, of octets that mean the same without."""


class Pattern(msgspec.Struct, frozen=True, gc=False):
    """One Allow or Disallow."""

    allows: bool
    length: int
    """The length of the whole escaped pattern: the longest match decides."""
    start: str
    """The text before the first `*`."""
    pieces: tuple[str, ...]
    """The texts after each `*`. Of the stars that stand together, only one counts."""
    to_end: bool
    """Whether the pattern ends with `$`."""

    def matches(self, path: str, find: Callable[[str, int], int]) -> bool:
        """Whether the path matches. Searches each piece once, from the end of the previous one, by `find`: that of the
        path, or of its `Occurrences`."""
        if not path.startswith(self.start):
            return False
        if not self.pieces:
            return not self.to_end or len(path) == len(self.start)
        position = len(self.start)
        *middle, last = self.pieces
        for piece in middle:
            found = find(piece, position)
            if found < 0:
                return False
            position = found + len(piece)
        if self.to_end:
            return len(path) - len(last) >= position and path.endswith(last)
        return find(last, position) >= 0


class PatternIndex:
    """Finds the patterns that may match a path, among thousands. The longest that matches decides, and of two of the
    same length one that allows. Each pattern is filed under one of its literals: its start or a piece after a `*`,
    whichever the fewest patterns share. Those without wildcards are kept as texts: of tens of thousands of objects, the
    memory could not be freed at once without blocking the event loop."""

    def __init__(self, patterns: Iterable[Pattern], *, plain: Mapping[str, bool] | None = None) -> None:
        """`plain`: the escaped patterns without wildcards, and whether each allows."""
        distinct = dict.fromkeys(patterns)
        self._plain = plain or {}
        self._by_start: dict[str, list[Pattern]] = {}
        self._by_piece: dict[str, list[Pattern]] = {}
        starts = Counter(map(attrgetter("start"), distinct))
        pieces = Counter(chain.from_iterable(map(attrgetter("pieces"), distinct)))
        size_bytes = sum(map(len, self._plain)) + _PLAIN_BYTES * len(self._plain)
        for pattern in distinct:
            rarest, shared_by = "", starts[pattern.start]
            for piece in pattern.pieces:
                if piece and pieces[piece] < shared_by:
                    rarest, shared_by = piece, pieces[piece]
            filed, literal = (self._by_piece, rarest) if rarest else (self._by_start, pattern.start)
            filed.setdefault(literal, []).append(pattern)
            size_bytes += _PATTERN_BYTES + pattern.length + _PIECE_BYTES * len(pattern.pieces)
        self.size_bytes = size_bytes
        """About what it takes in memory."""
        self._characters = sum(map(attrgetter("length"), distinct))
        self._plain_lengths = sorted(set(map(len, self._plain)), reverse=True)
        self._start_lengths = sorted({len(start) for start in self._by_start})
        self._piece_lengths = sorted({len(piece) for piece in self._by_piece})

    def matching(self, path: str) -> Iterator[Pattern]:
        """The patterns, without the plain ones, that match a path, in the order in which they decide."""
        texts = searchable(path, characters=self._characters)
        for pattern in self._candidates(path, texts):
            if pattern.matches(path, texts.find):
                yield pattern

    def _candidates(self, path: str, texts: str | Occurrences) -> list[Pattern]:
        """The patterns, without the plain ones, that may match a path, in the order in which they decide. `texts` holds
        what is in the path."""
        by_start = self._by_start
        found = [pattern for length in self._start_lengths for pattern in by_start.get(path[:length], ())]
        if self._by_piece:
            # Search either each piece in the path, or each part of the path among the pieces, whichever is less work.
            if len(self._by_piece) <= len(path) * len(self._piece_lengths):
                held = [piece for piece in self._by_piece if piece in texts]
            else:
                parts = (path[at : at + size] for size in self._piece_lengths for at in range(len(path) - size + 1))
                held = [part for part in set(parts) if part in self._by_piece]
            found += (pattern for piece in held for pattern in self._by_piece[piece])
        if len(found) > 1:
            found.sort(key=attrgetter("length", "allows"), reverse=True)
        return found

    def allows(self, path: str) -> bool:
        """What the first that matches says; True if none does."""
        of_plain = -1, True
        for length in self._plain_lengths:
            start = path[:length]
            if (allows := self._plain.get(start)) is not None:
                of_plain = len(start), allows
                break
        # Most files have no wildcards.
        if self._by_start or self._by_piece:
            first = next(self.matching(path), None)
            if first is not None and (first.length, first.allows) > of_plain:
                return first.allows
        return of_plain[1]


class PathRules:
    """The Allow and Disallow of a group.

    A path is allowed if two readings allow it: Google's, which decodes nothing, and that of RFC 9309, section 2.2.2,
    which decodes escaped letters, digits and `-._`. By the first alone, a link to `/%61dmin` would get past
    `Disallow: /admin`.
    """

    def __init__(self, *, allowed: Iterable[str], disallowed: Iterable[str]) -> None:
        """With the values of lines, which are not empty."""
        disallowing, allowing = _escaped(disallowed), _escaped(allowed)
        self._index = self._decoded = _index(disallowing, allowing)
        self.size_bytes = self._index.size_bytes
        if any(_UNRESERVED.search(value) for value in chain(disallowing, allowing)):
            self._decoded = _index(map(decode, disallowing), [decode(value) for value in allowing])
            self.size_bytes += self._decoded.size_bytes

    def allows(self, path: str, /) -> bool:
        """Whether a path with its query is allowed. It is serialised by the URL standard, with escapes in capitals."""
        if not self._index.allows(path):
            return False
        decoded = decode(path) if "%" in path else path
        return (decoded == path and self._decoded is self._index) or self._decoded.allows(decoded)


def read_pattern(value: str, /) -> Pattern:
    """The pattern that the value of a line means, which is not empty. It is for paths as `decode` leaves them."""
    return _pattern(True, decode(_TO_ESCAPE.sub(_escape, value)))


def _escaped(values: Iterable[str]) -> list[str]:
    return [_TO_ESCAPE.sub(_escape, value) for value in values]


def decode(escaped: str, /) -> str:
    """A path or pattern with its letters, digits and `-._` as such: RFC 9309, section 2.2.2."""
    return _UNRESERVED.sub(lambda found: chr(int(found[1], 16)), escaped)


def _index(disallowing: Iterable[str], allowing: Collection[str]) -> PatternIndex:
    patterns: list[Pattern] = []
    plain: dict[str, bool] = {}
    for allows, values in ((False, disallowing), (True, allowing)):
        for value in values:
            if "*" in value or value.endswith("$"):
                patterns.append(_pattern(allows, value))
            else:
                plain[value] = allows
    for value in allowing:
        directory, slash, page = value.rpartition("/")
        if slash and page.startswith("index.htm"):
            patterns.append(_pattern(True, f"{directory}/$"))
    return PatternIndex(patterns, plain=plain)


def _pattern(allows: bool, escaped: str) -> Pattern:
    to_end = escaped.endswith("$")
    start, *pieces = _STARS.split(escaped[:-1] if to_end else escaped)
    return Pattern(allows, len(escaped), start, tuple(pieces), to_end)


def _escape(match: re.Match[str]) -> str:
    found = match[0]
    if found.startswith("%"):
        return normal_escape(found)
    return "".join(f"%{byte:02X}" for byte in found.encode("utf-8", "replace"))


def normal_escape(escape: str, /) -> str:
    """An escape in the form in which patterns and paths are compared."""
    upper = escape.upper()
    return "~" if upper == "%7E" else upper
