"""Limits the pages and sitemaps of a host, and the pages of one pattern on it. This ends traps that no URL shows.

A pattern is a URL without its numbers, long hexadecimal names and values of parameters: that of `/a/17.html?p=2` is
`/a/0.html?p`. Counts are durable, so a restart does not reset them.
"""

import re
import struct
from collections import OrderedDict
from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec

from crawler.notes import NoteKind, Notes, read_note
from crawler.url.hosts import split_port
from crawler.url.urls import host_of, origin_of, path_of

_NUMBER: Final = re.compile(r"[0-9]+")
_NAME_OF_HEX: Final = re.compile(r"(?i)(?<![0-9a-z])[0-9a-f]{8,}(?:-[0-9a-f]{4,})*(?![0-9a-z])")
_VALUE: Final = re.compile(r"=[^&]*")
_COUNT: Final = struct.Struct(">Q")
_REMEMBERED: Final = 100_000


class OverQuota(StrEnum):
    """Why a URL is not fetched any more. Users read these words in records."""

    HOST = "pages-per-host"
    PATTERN = "pages-per-pattern"
    SITEMAPS = "sitemaps-per-host"
    SITEMAP_BYTES = "sitemap-bytes-per-host"


class PageLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The most pages. None means no limit, and no counting."""

    per_host: int | None = None
    per_pattern: int | None = None


class SitemapLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The most sitemaps of a host, and the most bytes received for them."""

    per_host: int
    bytes_per_host: int


class PageQuota:
    """Counts fetched pages per host and per pattern. `limits` returns the limits for a URL."""

    def __init__(self, notes: Notes, limits: Callable[[str], PageLimits]) -> None:
        self._counts = _Counts(notes)
        self._limits = limits

    def refusal(self, url: str, /) -> OverQuota | None:
        """Why the URL must not be fetched; None if it may."""
        limits = self._limits(url)
        if limits.per_host is not None and self._counts.count(PAGES.key(host_of(url))) >= limits.per_host:
            return OverQuota.HOST
        if limits.per_pattern is not None and self._counts.count(_pattern_key(url)) >= limits.per_pattern:
            return OverQuota.PATTERN
        return None

    def spend(self, url: str, /, received_bytes: int = 0) -> None:
        limits = self._limits(url)
        if limits.per_host is not None:
            self._counts.add(PAGES.key(host_of(url)))
        if limits.per_pattern is not None:
            self._counts.add(_pattern_key(url))


class SitemapQuota:
    """Counts the requests for sitemaps and the bytes received for them. `limits` returns the limits for a URL."""

    def __init__(self, notes: Notes, limits: Callable[[str], SitemapLimits]) -> None:
        self._counts = _Counts(notes)
        self._limits = limits

    def refusal(self, url: str, /) -> OverQuota | None:
        limits = self._limits(url)
        if self._counts.count(SITEMAPS.key(host_of(url))) >= limits.per_host:
            return OverQuota.SITEMAPS
        if self._counts.count(SITEMAP_BYTES.key(host_of(url))) >= limits.bytes_per_host:
            return OverQuota.SITEMAP_BYTES
        return None

    def spend(self, url: str, /, received_bytes: int = 0) -> None:
        self._counts.add(SITEMAPS.key(host_of(url)))
        self._counts.add(SITEMAP_BYTES.key(host_of(url)), received_bytes)


class _Counts:
    """Durable counters, with a cache of those used last."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._counts: OrderedDict[str, int] = OrderedDict()

    def count(self, key: str) -> int:
        count = self._counts.get(key)
        if count is None:
            count = self._counts[key] = read_note(self._notes, key, _read_count) or 0
            if len(self._counts) > _REMEMBERED:
                self._counts.popitem(last=False)
        self._counts.move_to_end(key)
        return count

    def add(self, key: str, more: int = 1) -> None:
        count = self.count(key) + more
        self._counts[key] = count
        self._notes.put(key, _COUNT.pack(count))


def pattern_of(path: str, /) -> str:
    """The pattern of a path with its query."""
    before, mark, query = path.partition("?")
    return _NUMBER.sub("0", _NAME_OF_HEX.sub("0", f"{before}{mark}{_VALUE.sub('', query)}"))


def _read_count(noted: bytes) -> int:
    if len(noted) != _COUNT.size or noted[0]:
        raise ValueError(f"expected a count in {_COUNT.size} bytes, found {noted!r}")
    return int(_COUNT.unpack(noted)[0])


def _pattern_key(url: str) -> str:
    return PAGES.key(f"{origin_of(url).partition('://')[2]}{pattern_of(path_of(url))}")


def _add_counts(note: bytes, other: bytes) -> bytes:
    return _COUNT.pack(_read_count(note) + _read_count(other))


PAGES: Final = NoteKind(word="pages", host_of=lambda place: split_port(place.partition("/")[0])[0], add=_add_counts)
"""By host, and by pattern."""
SITEMAPS: Final = NoteKind(word="sitemaps", host_of=str, add=_add_counts)
SITEMAP_BYTES: Final = NoteKind(word="sitemap-bytes", host_of=str, add=_add_counts)
