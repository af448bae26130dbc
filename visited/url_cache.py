"""A bounded memory of the URLs that were seen last."""

import sys
from collections.abc import Collection, Iterable, Sequence
from itertools import filterfalse, islice

from visited.bits.memory import ALLOCATION_UNIT_BYTES

_STR_BYTES = sys.getsizeof("")
_SPARE = 16
"""Drop a sixteenth of the size at once, because finding a dictionary's first key means skipping all deleted ones before
it. This is twice as fast as an `OrderedDict`, which allocates a node for each entry."""


class UrlCache:
    """Knows at least the last `size` URLs.

    A URL moves to the end of the line when it is seen, but not if it is *fresh*: the links of menus would move with
    each page. So a page whose links are all fresh changes nothing. When more than a sixteenth of the size is fresh,
    nothing is any more.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lag = size // _SPARE
        self._urls: dict[str, None] = {}
        """Those that moved first come first."""
        self._fresh: set[str] = set()
        """The last ones of these, at most `lag`. One whose answer came late may not be among them any more."""
        self._url_bytes = 0

    def __len__(self) -> int:
        return len(self._urls)

    @property
    def memory_bytes(self) -> int:
        return sys.getsizeof(self._urls) + sys.getsizeof(self._fresh) + self._url_bytes

    def are_fresh(self, urls: Sequence[str]) -> bool:
        """Whether none of them is to be noted by `see`."""
        return self._fresh.issuperset(urls)

    def due(self, urls: Sequence[str]) -> list[str]:
        """Those that are to be noted by `see`: absent ones, and those that are not fresh."""
        fresh = self._fresh
        if fresh.issuperset(urls):
            return []
        return list(filterfalse(fresh.__contains__, urls))

    def absent(self, urls: Iterable[str]) -> list[str]:
        return list(filterfalse(self._urls.__contains__, urls))

    def see(self, due: dict[str, None], absent: list[str]) -> None:
        """Note that the distinct URLs of a batch that were due were seen; those that were `absent`, for the first
        time."""
        recent = self._urls
        if len(absent) < len(due):
            for url in due:
                recent.pop(url, None)
        recent.update(due)
        self._fresh.update(due)
        if len(self._fresh) > self._lag:
            self._fresh.clear()
        self._url_bytes += _size_bytes(absent)
        # Behind a URL that was seen and has not moved are fresh ones, and those seen since.
        kept = self._size + self._lag
        if len(recent) > kept + self._size // _SPARE:
            dropped = list(islice(recent, len(recent) - kept))
            for url in dropped:
                del recent[url]
            self._url_bytes -= _size_bytes(dropped)

    def drop(self, urls: Collection[str]) -> None:
        known = [url for url in dict.fromkeys(urls) if url in self._urls]
        for url in known:
            del self._urls[url]
        self._fresh.difference_update(urls)
        self._url_bytes -= _size_bytes(known)

    def clear(self) -> None:
        self._urls.clear()
        self._fresh.clear()
        self._url_bytes = 0


def _size_bytes(urls: Iterable[str]) -> int:
    """The heap memory of ASCII strings: a faster `memory.object_bytes` for many."""
    return sum([len(url) + _STR_BYTES + ALLOCATION_UNIT_BYTES - 1 & -ALLOCATION_UNIT_BYTES for url in urls])
