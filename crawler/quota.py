"""How many pages a host, and pages of one pattern on it, may have: ends traps that no URL shows.

A pattern is a URL with its numbers, long hexadecimal names and values of parameters left out: `/a/17.html?p=2` is
`/a/0.html?p`. Counts are noted durably, so that a restart does not begin anew.
"""

import re
from collections import OrderedDict
from collections.abc import Callable
from enum import StrEnum
from typing import Final, Protocol

import msgspec

from crawler.urls import origin_of, path_of

_NUMBER: Final = re.compile(r"[0-9]+")
_NAME_OF_HEX: Final = re.compile(r"(?i)(?<![0-9a-z])[0-9a-f]{8,}(?:-[0-9a-f]{4,})*(?![0-9a-z])")
_VALUE: Final = re.compile(r"=[^&]*")
_REMEMBERED: Final = 100_000


class OverQuota(StrEnum):
    """Why a URL is not fetched any more. The words are what users read in records."""

    HOST = "pages-per-host"
    PATTERN = "pages-per-pattern"


class Notes(Protocol):
    """What is kept over a restart; a durable map. See `frontier.Notes`."""

    def get(self, key: str, /) -> bytes | None: ...

    def put(self, key: str, value: bytes, /) -> None: ...


class PageLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many pages there may be. None means no limit, and that nothing is counted."""

    per_host: int | None = None
    per_pattern: int | None = None


class PageQuota:
    """Counts pages that were fetched, per host and per pattern. `limits` gives those of a URL."""

    def __init__(self, notes: Notes, limits: Callable[[str], PageLimits]) -> None:
        self._notes = notes
        self._limits = limits
        self._counts: OrderedDict[str, int] = OrderedDict()

    def refusal(self, url: str, /) -> OverQuota | None:
        """Why the URL may not be fetched; None if it may."""
        limits = self._limits(url)
        if limits.per_host is not None and self._count(_host_key(url)) >= limits.per_host:
            return OverQuota.HOST
        if limits.per_pattern is not None and self._count(_pattern_key(url)) >= limits.per_pattern:
            return OverQuota.PATTERN
        return None

    def spend(self, url: str, /) -> None:
        """A page was fetched from there."""
        limits = self._limits(url)
        if limits.per_host is not None:
            self._add(_host_key(url))
        if limits.per_pattern is not None:
            self._add(_pattern_key(url))

    def _count(self, key: str) -> int:
        count = self._counts.get(key)
        if count is None:
            noted = self._notes.get(key)
            count = self._counts[key] = int.from_bytes(noted or b"", "big")
            if len(self._counts) > _REMEMBERED:
                self._counts.popitem(last=False)
        self._counts.move_to_end(key)
        return count

    def _add(self, key: str) -> None:
        count = self._count(key) + 1
        self._counts[key] = count
        self._notes.put(key, count.to_bytes(8, "big"))


def pattern_of(path: str, /) -> str:
    """The pattern of a path with its query."""
    before, mark, query = path.partition("?")
    place = _NUMBER.sub("0", _NAME_OF_HEX.sub("0", before))
    return f"{place}?{_VALUE.sub('', query)}" if mark else place


def _host_key(url: str) -> str:
    return f"pages {origin_of(url).partition('://')[2]}"


def _pattern_key(url: str) -> str:
    return f"pages {origin_of(url).partition('://')[2]}{pattern_of(path_of(url))}"
