"""Counts links to known URLs.

The record of a URL counts the links of the page it was found on. Later links are counted here, in memory. When there
are many counts, the oldest are written to the store: sorted, and some with each page, so that no write takes long. URLs
with many links, such as those of menus, stay for several rounds, because the next page would bring them back. A killed
process loses the counts in memory; nothing else is ever dropped.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress, islice
from operator import not_

from frontier.store import Store
from frontier.values import CrawlUrl

MAX_COUNTS = 150_000
"""URLs whose counts stay in memory before the oldest are written: some 25 MB."""

_SLICES = 30
"""A slice of the oldest counts is taken at once: a thirtieth of the maximum. A tenth holds the event loop for twice as
long, and writes no faster."""

_MANY_LINKS = 3
"""A URL with this many links stays in memory, unless the round writes all."""

_ROUNDS = 4
"""Every fourth round writes all URLs, so that a kill loses few links."""


class LinkCounts:
    """Link counts of about `max_counts` URLs."""

    def __init__(self, max_counts: int = MAX_COUNTS) -> None:
        self._max_counts = max_counts
        self._counts: Counter[str] = Counter()
        self._slices_taken = 0
        self._writing: dict[str, int] = {}
        """The counts of a slice that are still to be written."""
        self._order: list[str] = []
        """Their URLs, the next one last."""

    def add(self, batch: Sequence[CrawlUrl], canonicals: Sequence[str], verdicts: Sequence[bool]) -> None:
        """Count the links to those URLs of a batch that are not new. New URLs carry their own count. `canonicals` are
        the canonical forms of the batch."""
        if all(verdicts):
            return
        counts = self._counts
        counts.update(compress(canonicals, map(not_, verdicts)))  # adds one to each, in C
        for url, is_new in zip(batch, verdicts, strict=True):
            if url.link_count != 1 and not is_new:
                counts[url.canonical] += url.link_count - 1

    @property
    def must_write(self) -> bool:
        """Whether some counts have to be written."""
        return bool(self._order) or len(self._counts) > self._max_counts

    def write(self, store: Store, /, *, at_once: int) -> None:
        """Write the counts of up to `at_once` URLs. Raises `StoreFull` and keeps them then."""
        if not self._order:
            self._slices_taken += 1
            self._take_slice(keep_many=self._slices_taken // _SLICES % _ROUNDS != 0)
        self._write_some(store, at_once)

    def _take_slice(self, *, keep_many: bool) -> None:
        """Take the oldest counts. Many at once: each search for a dictionary's first key passes the deleted ones before
        it."""
        counts = self._counts
        oldest = list(islice(counts, max(1, self._max_counts // _SLICES)))
        taken = {canonical: counts.pop(canonical) for canonical in oldest}
        if keep_many:
            kept = {canonical: count for canonical, count in taken.items() if count >= _MANY_LINKS}
            counts.update(kept)
            for canonical in kept:
                del taken[canonical]
        self._writing = taken
        self._order = sorted(taken, reverse=True)

    def _write_some(self, store: Store, at_once: int) -> None:
        some = self._order[-at_once:]
        if some:
            links = [(canonical, count) for canonical in reversed(some) if (count := self._writing.get(canonical))]
            store.add_links(links)
            del self._order[-at_once:]
            for canonical in some:
                self._writing.pop(canonical, None)

    def write_all(self, store: Store, /, *, at_once: int) -> Iterator[None]:
        """Write all counts; the caller may pause after each `at_once`. Raises `StoreFull` and keeps the rest then."""
        while self._order or self._counts:
            if not self._order:
                self._take_slice(keep_many=False)
            self._write_some(store, at_once)
            yield

    def get(self, canonical: str) -> int:
        """The count of a URL that is not yet written."""
        return self._counts.get(canonical, 0) + self._writing.get(canonical, 0)

    def pop(self, canonical: str) -> int:
        """Remove and return the count of a URL."""
        return self._counts.pop(canonical, 0) + self._writing.pop(canonical, 0)
