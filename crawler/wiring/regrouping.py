"""Where things belong when a crawl is divided anew among its parts."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final

import msgspec

from config import Loaded
from crawler.discover import quota, refusal_counts
from crawler.discover.precedence import parallel_key
from crawler.fetch import cookies, hsts
from crawler.fetch.robots import cache, crawl_delays
from crawler.notes import NoteKind
from crawler.parts.ownership import Ownership
from crawler.url.hosts import domain_of_site, surt_host
from crawler.wiring.components import discovering
from frontier import StoreRefused

NOTE_KINDS: Final[Mapping[str, NoteKind]] = {
    kind.word: kind
    for kind in (
        cache.NOTES,
        cookies.NOTES,
        crawl_delays.NOTES,
        hsts.NOTES,
        quota.PAGES,
        quota.SITEMAPS,
        quota.SITEMAP_BYTES,
        refusal_counts.NOTES,
    )
}


class CrawlRouting:
    """The `Routing` of a crawl with this configuration, from `before` parts to `parts`."""

    def __init__(self, loaded: Loaded, *, before: int, parts: int) -> None:
        self._parts = parts
        self._urls = discovering.url_reader(loaded)
        self._owner_before = Ownership(before).owner
        self.owner = Ownership(parts).owner
        self._parallel = self._parallel_queues(loaded)
        self._spread = {domain_of_site(key) for key, _ in self._parallel.values()}
        """The domains of which each part may have queues."""

    def _parallel_queues(self, loaded: Loaded) -> dict[str, tuple[str, int]]:
        """The hosts with several queues, by the queue key of their URLs and by that of their canonical forms, in which
        `www.` may be missing: the key of their URLs, and how many queues they have."""
        found: dict[str, tuple[str, int]] = {}
        for each in loaded.config.frontier.parallel_queues:
            host, _, count = each.rpartition(":")
            target = self._urls.seed(f"http://{host}/")
            found.setdefault(discovering.queue_key(self._urls, target.canonical), (target.queue_key, int(count)))
            found[target.queue_key] = target.queue_key, int(count)
        return found

    def owner_of_settled(self, canonical: str, /) -> int:
        key = discovering.queue_key(self._urls, canonical.partition("#")[0])
        if key in self._parallel:
            key, count = self._parallel[key]
            key = parallel_key(key, canonical, {key: count})
        return self.owner(key)

    def owners_of_group(self, name: str, /) -> Sequence[int]:
        kind, _, site = name.partition(" ")
        return self._owners(site.partition("#")[0]) if kind in ("domain", "host") else range(self._parts)

    def _owners(self, site: str) -> Sequence[int]:
        return range(self._parts) if domain_of_site(site) in self._spread else [self.owner(site)]

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
        own = next(iter(values)) if site is None else self._owner_before(site)
        value = values.get(own, next(iter(values.values())))
        return self._owners(site) if site is not None else range(self._parts), value


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
    except (msgspec.DecodeError, ValueError, ArithmeticError):
        return values[0]
