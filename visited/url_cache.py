"""A bounded memory of the URLs that were seen last."""

import sys
from collections.abc import Collection, Iterable, Sequence
from itertools import islice, repeat

from visited.bits.memory import ALLOCATION_UNIT_BYTES

_STR_BYTES = sys.getsizeof("")
_SPARE = 16
"""Drop a sixteenth of the size at once, because finding a dictionary's first key means skipping all deleted ones before
it. This is twice as fast as an `OrderedDict`, which allocates a node for each entry."""
_STAMPS = 8
"""About as many objects say when the freshest URLs moved."""


class UrlCache:
    """Knows at least the last `size` URLs.

    A URL moves to the end of the line when it is seen, but not again before a sixteenth of the size has moved there:
    the links of menus would move with each page. So a page whose links are all fresh changes nothing.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lag = size // _SPARE
        self._urls: dict[str, int] = {}
        """By URL, the number of moves when it moved last, rounded down. Those that moved first come first."""
        self._moves = self._lag
        """Begins there, so that it is never below the lag."""
        self._stamp = 0
        """The number of moves, rounded down: URLs share these objects."""
        self._url_bytes = 0

    def __len__(self) -> int:
        return len(self._urls)

    @property
    def memory_bytes(self) -> int:
        return sys.getsizeof(self._urls) + self._url_bytes

    def due(self, urls: Sequence[str]) -> list[str]:
        """Those that are to be noted by `see`: absent ones, and those that have not moved for a while."""
        get, fresh_after = self._urls.get, self._moves - self._lag
        if min(map(get, urls, repeat(-1)), default=self._moves) > fresh_after:
            return []
        return [url for url in urls if get(url, -1) <= fresh_after]

    def absent(self, urls: Iterable[str]) -> list[str]:
        recent = self._urls
        return [url for url in urls if url not in recent]

    def see(self, due: Collection[str], absent: list[str]) -> None:
        """Note that the distinct URLs of a batch that were due were seen; those that were `absent`, for the first
        time."""
        recent = self._urls
        if len(absent) < len(due):
            for url in due:
                recent.pop(url, None)
        if self._moves - self._stamp > self._lag // _STAMPS:
            self._stamp = self._moves
        recent.update(dict.fromkeys(due, self._stamp))
        self._moves += len(due)
        self._url_bytes += _size_bytes(absent)
        # Behind a URL that was seen and has not moved are those that moved before it was seen, and those seen since.
        kept = self._size + self._lag
        if len(recent) > kept + self._size // _SPARE:
            dropped = list(islice(recent, len(recent) - kept))
            for url in dropped:
                del recent[url]
            self._url_bytes -= _size_bytes(dropped)

    def drop(self, urls: Iterable[str]) -> None:
        known = [url for url in dict.fromkeys(urls) if url in self._urls]
        for url in known:
            del self._urls[url]
        self._url_bytes -= _size_bytes(known)

    def clear(self) -> None:
        self._urls.clear()
        self._url_bytes = 0


def _size_bytes(urls: Iterable[str]) -> int:
    """The heap memory of ASCII strings: a faster `memory.object_bytes` for many."""
    return sum([len(url) + _STR_BYTES + ALLOCATION_UNIT_BYTES - 1 & -ALLOCATION_UNIT_BYTES for url in urls])
