"""The interface of a table, the choice between its two implementations, and the one in Python."""

import struct
from collections.abc import Sequence
from typing import Final, Protocol

import mmh3

try:
    from frontier.link_table import _link_table as compiled
except ImportError:
    IS_COMPILED = False  # the extension is optional
else:
    IS_COMPILED = getattr(compiled, "VERSION", 0) == 3  # False if it was compiled from older code

MAX_COUNTS: Final = 786_432 if IS_COMPILED else 150_000
"""URLs with counts in memory, before some are written: 24 MiB, as three quarters of 2^20 slots; or some 30 MB of
Python's objects."""

LinkCount = tuple[bytes, int]
"""The digest of a canonical URL, and how many links to it were counted."""

_MOST: Final = 2**64 - 1
"""A larger count would not fit into a slot."""


class LinkTable(Protocol):
    """Counts of links to URLs. A URL without links has no place in it."""

    def __len__(self) -> int: ...

    def add(self, canonicals: Sequence[str], links: list[int], /) -> None:
        """Count so many links to each of the URLs."""
        ...

    def get(self, canonical: str, /) -> int: ...

    def pop(self, canonical: str, /) -> int:
        """Remove and return the count of a URL."""
        ...

    def take(self, most: int, below: int, /) -> tuple[list[LinkCount], bool]:
        """Remove and return up to `most` counts that are below `below`, or any if that is 0; and whether this ended a
        round. A round passes each URL that was there when it began. Counts of a crowd are taken first, whatever they
        are, outside of the round."""
        ...

    def is_crowded(self) -> bool:
        """Whether searches take long, because somebody has chosen URLs by their digests."""
        ...

    def put_back(self, taken: list[LinkCount], /) -> None:
        """Count what was taken again."""
        ...

    def rewind(self) -> None:
        """Begin a new round."""
        ...


class PythonLinkTable:
    """A `LinkTable` of Python's objects."""

    def __init__(self) -> None:
        self._counts: dict[bytes, int] = {}
        self._round: list[bytes] = []
        """The digests that this round has still to pass, the next one last."""

    def __len__(self) -> int:
        return len(self._counts)

    def add(self, canonicals: Sequence[str], links: list[int], /) -> None:
        self.put_back([(python_digest(name), more) for name, more in zip(canonicals, links, strict=True) if more])

    def get(self, canonical: str, /) -> int:
        return self._counts.get(python_digest(canonical), 0)

    def pop(self, canonical: str, /) -> int:
        return self._counts.pop(python_digest(canonical), 0)

    def take(self, most: int, below: int, /) -> tuple[list[LinkCount], bool]:
        counts, waiting = self._counts, self._round
        if not waiting:
            waiting.extend(list(counts))  # in one step: the garbage collector may run code that adds others
            waiting.reverse()
        taken: list[LinkCount] = []
        while waiting and len(taken) < most:
            digest = waiting.pop()
            count = counts.get(digest, 0)
            if count and (count < below or not below):
                taken.append((digest, counts.pop(digest)))
        return taken, not waiting

    def is_crowded(self) -> bool:
        return False

    def put_back(self, taken: list[LinkCount], /) -> None:
        counts = self._counts
        for digest, count in taken:
            counts[digest] = min(counts.get(digest, 0) + count, _MOST)

    def rewind(self) -> None:
        self._round.clear()


def python_digest(canonical: str) -> bytes:
    return struct.pack(">QQ", *mmh3.hash64(canonical.encode("utf-8", "surrogatepass"), signed=False))


def url_digest(canonical: str) -> bytes:
    """The digest of a canonical URL, by which its links are counted: 16 bytes."""
    return compiled.digest(canonical) if IS_COMPILED else python_digest(canonical)


def make_link_table() -> LinkTable:
    return compiled.LinkTable() if IS_COMPILED else PythonLinkTable()
