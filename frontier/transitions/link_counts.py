"""How often links to known URLs were seen.

The first link to a URL is counted in its own record. All others are added up here, in memory. When there are many, the
oldest are written: sorted, and some with each page, so that no write takes long. URLs with many links, as those of
menus, stay for several rounds, since the next page would bring them back. A kill loses what is in memory; nothing else
is ever dropped.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress, islice
from operator import not_

from frontier.store import Store
from frontier.values import CrawlUrl

HITS_KEPT = 150_000
"""URLs for which links are added up before the oldest are written: some 30 MB."""

_SLICE = 10
"""A tenth of the URLs is looked at together: the oldest."""

_MANY = 3
"""A URL with so many links stays, unless the round writes all."""

_ROUNDS = 4
"""Every fourth round writes all URLs, so that a kill loses few links."""


class LinkCounts:
    """Adds up links to known URLs, for about `kept` of them."""

    def __init__(self, kept: int = HITS_KEPT) -> None:
        self._kept = kept
        self._hits: Counter[str] = Counter()
        self._slices = 0
        """How many slices were looked at."""
        self._leaving: dict[str, int] = {}
        """Those that are being written."""
        self._order: list[str] = []
        """Their URLs, the next one last."""

    def count(self, batch: Sequence[CrawlUrl], canonicals: Sequence[str], verdicts: Sequence[bool]) -> None:
        """URLs were seen, `canonicals` are theirs; those that are new have their links in themselves."""
        if all(verdicts):
            return
        hits = self._hits
        hits.update(compress(canonicals, map(not_, verdicts)))  # adds one to each, in C
        for url, new in zip(batch, verdicts, strict=True):
            if url.hits != 1 and not new:
                hits[url.canonical] += url.hits - 1

    @property
    def are_many(self) -> bool:
        """Whether some have to be written."""
        return bool(self._order) or len(self._hits) > self._kept

    def write(self, store: Store, /, *, at_once: int) -> None:
        """Write so many URLs' links. Raises `StoreFull`, and keeps them then."""
        if not self._order:
            self._slices += 1
            self._choose(spares=self._slices // _SLICE % _ROUNDS != 0)
        self._write_some(store, at_once)

    def _choose(self, *, spares: bool) -> None:
        """Take the oldest. Many at once: each search for a dictionary's first key passes those deleted before it."""
        hits = self._hits
        oldest = list(islice(hits, max(1, self._kept // _SLICE)))
        counts = [hits.pop(canonical) for canonical in oldest]
        chosen = dict(zip(oldest, counts, strict=True))
        if spares:
            stay = {canonical: count for canonical, count in chosen.items() if count >= _MANY}
            hits.update(stay)
            for canonical in stay:
                del chosen[canonical]
        self._leaving = chosen
        self._order = sorted(chosen, reverse=True)

    def _write_some(self, store: Store, at_once: int) -> None:
        some = self._order[-at_once:]
        if some:
            store.add_hits(
                [(canonical, hits) for canonical in reversed(some) if (hits := self._leaving.get(canonical))]
            )
            del self._order[-at_once:]
            for canonical in some:
                self._leaving.pop(canonical, None)

    def write_all(self, store: Store, /, *, at_once: int) -> Iterator[None]:
        """Write all of them, with a pause after each `at_once`. Raises `StoreFull`, and keeps the rest then."""
        while self._order or self._hits:
            if not self._order:
                self._choose(spares=False)
            self._write_some(store, at_once)
            yield

    def of(self, canonical: str) -> int:
        """Those that are not written."""
        return self._hits.get(canonical, 0) + self._leaving.get(canonical, 0)

    def take(self, canonical: str) -> int:
        """The same, which somebody else keeps from now on."""
        return self._hits.pop(canonical, 0) + self._leaving.pop(canonical, 0)
