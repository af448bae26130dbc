"""Spares links to other parts of a crawl that were sent before.

Most links go to URLs that were met before. A part remembers which URLs it has lately sent to each other part, and
counts the links to them instead of sending them again. The counts travel later, added up.
"""

from collections.abc import Iterable
from itertools import islice

import msgspec

from frontier.values import CrawlUrl

MAX_SENT = 100_000
"""URLs that are remembered at least, for all receivers together; at most twice as many: some 30 MB."""
MAX_SPARED = 10_000
"""URLs whose links are counted, for all receivers together."""
_SPARED_WITH_PAGE = 32
"""Beyond the maximum, this many counts travel with a page's new links, and as many as it adds."""


class SentUrls:
    """What was sent to one receiver since `forget`. It is a cache: forgetting costs only that URLs are sent again."""

    def __init__(self, *, max_sent: int = MAX_SENT, max_spared: int = MAX_SPARED) -> None:
        self._max_sent = max_sent
        self._max_spared = max_spared
        self._young: set[str] = set()
        self._old: set[str] = set()
        self._spared: dict[str, CrawlUrl] = {}
        """By canonical form, with the number of links since it was sent. The oldest come first."""

    @property
    def spared(self) -> int:
        """The number of URLs whose links have been counted and not sent."""
        return len(self._spared)

    def choose(self, urls: Iterable[CrawlUrl]) -> list[CrawlUrl]:
        """Which of these URLs to send. Counts the links to the others. The caller sends what is returned."""
        chosen: dict[str, CrawlUrl] = {}
        spared_before = len(self._spared)
        for url in urls:
            canonical = url.canonical
            if canonical in chosen:
                chosen[canonical] = _add_links(chosen[canonical], url)
            elif canonical in self._young or canonical in self._old:
                self._young.add(canonical)
                self._spared[canonical] = _add_links(url, self._spared.get(canonical))
            else:
                chosen[canonical] = url
        if len(self._spared) > self._max_spared:
            more = len(self._spared) - spared_before + _SPARED_WITH_PAGE
            chosen.update(self._take(more))
        return list(chosen.values())

    def take_spared(self) -> list[CrawlUrl]:
        """Remove and return the URLs whose links were counted, with the counts. The caller sends them."""
        return list(self._take(len(self._spared)).values())

    def remember(self, urls: Iterable[CrawlUrl]) -> None:
        """These URLs are in the outbox."""
        self._young.update([url.canonical for url in urls])
        if len(self._young) > self._max_sent:
            self._old, self._young = self._young, set()

    def forget(self) -> None:
        """The receiver may have lost or forgotten what was sent. Counts are kept; they travel with their URLs."""
        self._young.clear()
        self._old.clear()

    def _take(self, limit: int) -> dict[str, CrawlUrl]:
        taken = dict(islice(self._spared.items(), limit))
        for canonical in taken:
            del self._spared[canonical]
        return taken


def _add_links(url: CrawlUrl, other: CrawlUrl | None) -> CrawlUrl:
    if other is None or not other.link_count:
        return url
    return msgspec.structs.replace(url, link_count=url.link_count + other.link_count)
