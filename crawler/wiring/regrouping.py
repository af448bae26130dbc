"""Where things belong when a crawl is divided anew among its parts."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final

import msgspec

from config import Loaded
from crawler.discover import quota, refusal_counts
from crawler.discover.marks import name_of_page
from crawler.fetch import cookies, hsts
from crawler.fetch.robots import cache, crawl_delays, tdm_file
from crawler.fetch.signing import values as signing
from crawler.notes import NoteKind
from crawler.parts.ownership import Ownership
from crawler.revisit import known_pages
from crawler.url.hosts import surt_host
from crawler.wiring.components import discovering
from frontier import StoreRefused

NOTE_KINDS: Final[Mapping[str, NoteKind]] = {
    kind.word: kind
    for kind in (
        cache.NOTES,
        cookies.NOTES,
        crawl_delays.NOTES,
        hsts.NOTES,
        tdm_file.NOTES,
        signing.NOTES,
        quota.PAGES,
        quota.SITEMAPS,
        quota.SITEMAP_BYTES,
        refusal_counts.NOTES,
        known_pages.NOTES,
        known_pages.LEFT_OUT_NOTES,
    )
}


class CrawlRouting:
    """The `Routing` of a crawl with this configuration, from `before` parts to `parts`. All queues of a registered
    domain belong to one part: a crawl with parallel queues has no parts."""

    def __init__(self, loaded: Loaded, *, before: int, parts: int) -> None:
        self._parts = parts
        self._urls = discovering.url_reader(loaded)
        self._owner_before = Ownership(before).owner
        self.owner = Ownership(parts).owner

    def owner_of_settled(self, canonical: str, /) -> int:
        return self.owner(discovering.queue_key(self._urls, name_of_page(canonical)))

    def owners_of_group(self, name: str, /) -> Sequence[int]:
        kind, _, site = name.partition(" ")
        return [self.owner(site)] if kind in ("domain", "host") else range(self._parts)

    def check_note(self, key: str, /) -> None:
        word = key.partition(" ")[0]
        if word not in NOTE_KINDS:
            raise StoreRefused(
                f"the crawl has notes of the kind {word!r}, and this version does not know which part they belong to; "
                "use the version of onceover that wrote them"
            )

    def note(self, key: str, values: Mapping[int, bytes], /) -> tuple[Sequence[int], bytes]:
        word, _, rest = key.partition(" ")
        kind = NOTE_KINDS[word]
        host = _host(kind, rest)
        site = surt_host(host) if host else None
        if kind.add is not None:
            return [0 if site is None else self.owner(site)], _sum(kind, list(values.values()))
        if site is None:
            return range(self._parts), next(iter(values.values()))
        return [self.owner(site)], values.get(self._owner_before(site), next(iter(values.values())))


def _host(kind: NoteKind, rest: str) -> str:
    try:
        return kind.host_of(rest)
    except (ValueError, IndexError):
        return ""  # a damaged key, which nobody will ask for


def _sum(kind: NoteKind, values: Sequence[bytes]) -> bytes:
    """What several parts have noted, added up. A note that can't be read counts nothing."""
    assert kind.add is not None
    try:
        return reduce(kind.add, values)
    except (msgspec.DecodeError, ValueError, ArithmeticError, RecursionError):
        return values[0]
