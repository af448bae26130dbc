"""Limits the pages and sitemaps of a host and of a registered domain, and the pages of one pattern on a host. This ends
traps that no URL shows. A server may answer under any number of names of its domain, which limits for hosts do not end.

A pattern is a URL without its numbers, long hexadecimal names and values of parameters: that of `/a/17.html?p=2` is
`/a/0.html?p`. Counts are durable, so a restart does not reset them.
"""

import re
import struct
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Final

import msgspec

from crawler.notes import NoteCache, NoteKind, Notes
from crawler.url.hosts import split_port
from crawler.url.urls import domain_of, host_of, origin_of, path_of

_NUMBER: Final = re.compile(r"[0-9]+")
_NAME_OF_HEX: Final = re.compile(r"(?i)(?<![0-9a-z])[0-9a-f]{8,}(?:-[0-9a-f]{4,})*(?![0-9a-z])")
_VALUE: Final = re.compile(r"=[^&]*")
_COUNT: Final = struct.Struct(">Q")
_REMEMBERED: Final = 100_000
_EACH_HOST: Final = "*."


class OverQuota(StrEnum):
    """Why a URL is not fetched any more. Users read these words in records."""

    HOST = "pages-per-host"
    DOMAIN = "pages-per-domain"
    PATTERN = "pages-per-pattern"
    SITEMAPS = "sitemaps-per-host"
    SITEMAP_BYTES = "sitemap-bytes-per-host"
    DOMAIN_SITEMAPS = "sitemaps-per-domain"
    DOMAIN_SITEMAP_BYTES = "sitemap-bytes-per-domain"


class PageLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The most pages. None means no limit, and no counting."""

    per_host: int | None = None
    per_domain: int | None = None
    per_pattern: int | None = None


class SitemapLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The most sitemaps of a host and of a registered domain, and the most bytes received for them. None means no
    limit."""

    per_host: int | None = None
    bytes_per_host: int | None = None
    per_domain: int | None = None
    bytes_per_domain: int | None = None


class PageQuota:
    """Counts fetched pages per host, domain and pattern. `limits` returns the limits for a URL, or None if there are
    none, as is usual."""

    def __init__(self, notes: Notes, limits: Callable[[str], PageLimits | None]) -> None:
        self._pages = _counts(notes, PAGES)
        self._limits = limits

    def refusal(self, url: str, /) -> OverQuota | None:
        """Why the URL must not be fetched; None if it may."""
        limits = self._limits(url)
        for place, most, why in () if limits is None else _limited(url, limits):
            if (self._pages.find(place) or 0) >= most:
                return why
        return None

    def spend(self, url: str, /, received_bytes: int = 0) -> None:
        limits = self._limits(url)
        for place, _, _ in () if limits is None else _limited(url, limits):
            self._pages.put(place, (self._pages.find(place) or 0) + 1)


def _limited(url: str, limits: PageLimits) -> Iterator[tuple[str, int, OverQuota]]:
    """What the URL counts for: a place, its limit, and the reason beyond it."""
    if limits.per_host is not None:
        yield _host(url), limits.per_host, OverQuota.HOST
    if limits.per_domain is not None:
        yield _domain(url), limits.per_domain, OverQuota.DOMAIN
    if limits.per_pattern is not None:
        yield _pattern(url), limits.per_pattern, OverQuota.PATTERN


class SitemapQuota:
    """Counts the requests for sitemaps and the bytes received for them, per host and domain. `limits` returns the
    limits for a URL."""

    def __init__(self, notes: Notes, limits: Callable[[str], SitemapLimits]) -> None:
        self._sitemaps = _counts(notes, SITEMAPS)
        self._bytes = _counts(notes, SITEMAP_BYTES)
        self._limits = limits

    def refusal(self, url: str, /) -> OverQuota | None:
        limits, host, domain = self._limits(url), _host(url), _domain(url)
        limited = (
            (self._sitemaps, host, limits.per_host, OverQuota.SITEMAPS),
            (self._bytes, host, limits.bytes_per_host, OverQuota.SITEMAP_BYTES),
            (self._sitemaps, domain, limits.per_domain, OverQuota.DOMAIN_SITEMAPS),
            (self._bytes, domain, limits.bytes_per_domain, OverQuota.DOMAIN_SITEMAP_BYTES),
        )
        return next(
            (why for counts, place, most, why in limited if most is not None and (counts.find(place) or 0) >= most),
            None,
        )

    def spend(self, url: str, /, received_bytes: int = 0) -> None:
        for place in (_host(url), _domain(url)):
            self._sitemaps.put(place, (self._sitemaps.find(place) or 0) + 1)
            self._bytes.put(place, (self._bytes.find(place) or 0) + received_bytes)


def _counts(notes: Notes, kind: NoteKind) -> NoteCache[int]:
    return NoteCache(notes, kind, read=_read_count, write=_COUNT.pack, capacity=_REMEMBERED)


def pattern_of(path: str, /) -> str:
    """The pattern of a path with its query."""
    before, mark, query = path.partition("?")
    return _NUMBER.sub("0", _NAME_OF_HEX.sub("0", f"{before}{mark}{_VALUE.sub('', query)}"))


def _read_count(noted: bytes) -> int:
    if len(noted) != _COUNT.size or noted[0]:
        raise ValueError(f"expected a count in {_COUNT.size} bytes, found {noted!r}")
    return int(_COUNT.unpack(noted)[0])


def _host(url: str) -> str:
    return host_of(url).rstrip(".")


def _domain(url: str) -> str:
    """The registered domain, in a form that no host has."""
    return f"{_EACH_HOST}{domain_of(url)}"


def _pattern(url: str) -> str:
    """The pattern of a URL, as the notes have it."""
    port = split_port(origin_of(url).partition("://")[2])[1]
    return f"{_host(url)}{port}{pattern_of(path_of(url))}"


def _host_of_key(place: str) -> str:
    return split_port(place.partition("/")[0])[0].removeprefix(_EACH_HOST)


def _add_counts(note: bytes, other: bytes) -> bytes:
    return _COUNT.pack(_read_count(note) + _read_count(other))


PAGES: Final = NoteKind(word="pages", host_of=_host_of_key, add=_add_counts)
"""By host, by domain as `*.example.org`, and by pattern."""
SITEMAPS: Final = NoteKind(word="sitemaps", host_of=_host_of_key, add=_add_counts)
SITEMAP_BYTES: Final = NoteKind(word="sitemap-bytes", host_of=_host_of_key, add=_add_counts)
"""These by host, and by domain."""
