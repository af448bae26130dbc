"""How often links to known URLs were seen.

The first link to a URL is counted in its own record. All others are added up here, in memory. When there are many,
those that have been there for longest are written: sorted, and some with each page, so that none of it takes long. What
is in memory when a process is killed is lost; nothing else is ever dropped.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from frontier.store import Store
from frontier.values import CrawlUrl

HITS_KEPT = 100_000
"""URLs for which links are added up before these are written: some 20 MB."""


_LEAVING = 10
"""One in so many leaves, all of these together: those that have been there for longest."""


class LinkCounts:
    """Adds up links to known URLs, for about `kept` of them."""

    def __init__(self, kept: int = HITS_KEPT) -> None:
        self._kept = kept
        self._hits: Counter[str] = Counter()
        self._leaving: dict[str, int] = {}
        """Those that are being written."""
        self._order: list[str] = []
        """Their URLs, the next one last."""

    def count(self, batch: Sequence[CrawlUrl], verdicts: Sequence[bool]) -> None:
        """URLs were seen; those that are new have their links in themselves."""
        if all(verdicts):
            return
        known = [url for url, new in zip(batch, verdicts, strict=True) if not new]
        hits = self._hits
        hits.update([url.canonical for url in known])  # adds one to each, in C
        for url in known:
            if url.hits != 1:
                hits[url.canonical] += url.hits - 1

    @property
    def are_many(self) -> bool:
        """Whether some have to be written."""
        return bool(self._order) or len(self._hits) > self._kept

    def write(self, store: Store, /, *, at_once: int) -> bool:
        """Write so many URLs' links, and tell whether there may be others. Raises `StoreFull`, and keeps them then."""
        if not self._order:
            # Many at once: each search for a dictionary's first key walks over those deleted before it.
            self._order = sorted(islice(self._hits, max(1, self._kept // _LEAVING)), reverse=True)
            self._leaving = {canonical: self._hits.pop(canonical) for canonical in self._order}
        some = self._order[-at_once:]
        if not some:
            return False
        store.add_hits([(canonical, hits) for canonical in reversed(some) if (hits := self._leaving.get(canonical))])
        del self._order[-at_once:]
        for canonical in some:
            self._leaving.pop(canonical, None)
        return bool(self._order or self._hits)

    def write_all(self, store: Store, /, *, at_once: int) -> Iterator[None]:
        """The same until there are none, with a pause between."""
        while self.write(store, at_once=at_once):
            yield

    def of(self, canonical: str) -> int:
        """Those that are not written."""
        return self._hits.get(canonical, 0) + self._leaving.get(canonical, 0)

    def take(self, canonical: str) -> int:
        """The same, which somebody else keeps from now on."""
        return self._hits.pop(canonical, 0) + self._leaving.pop(canonical, 0)
