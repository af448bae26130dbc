"""A bounded memory of the URLs that were seen last."""

import sys
from collections.abc import Iterable
from itertools import islice

from visited.bits.memory import ALLOCATION_UNIT_BYTES

_STR_BYTES = sys.getsizeof("")
_SPARE = 16
"""Drop a sixteenth of the size at once, because finding a dictionary's first key means skipping all deleted ones before
it. This is twice as fast as an `OrderedDict`, which allocates a node for each entry."""


class UrlCache:
    """Knows at least the last `size` URLs."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._urls: dict[str, None] = {}
        """The least recently seen come first."""
        self._url_bytes = 0

    def __len__(self) -> int:
        return len(self._urls)

    def __contains__(self, url: str) -> bool:
        return url in self._urls

    @property
    def memory_bytes(self) -> int:
        return sys.getsizeof(self._urls) + self._url_bytes

    def absent(self, urls: Iterable[str]) -> list[str]:
        recent = self._urls
        return [url for url in urls if url not in recent]

    def see(self, batch: dict[str, None], absent: list[str]) -> None:
        """Note that the distinct URLs of a batch were seen; those that were `absent`, for the first time."""
        recent = self._urls
        if len(absent) < len(batch):
            for url in batch:
                recent.pop(url, None)
        recent.update(batch)
        self._url_bytes += _size_bytes(absent)
        if len(recent) > self._size + self._size // _SPARE:
            dropped = list(islice(recent, len(recent) - self._size))
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
