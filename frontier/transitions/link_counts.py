"""Counts links to known URLs.

The record of a URL counts the links of the page it was found on. Later links are counted here, in memory. When there
are many counts, some are written to the store with each page, in the order of their digests. URLs with many links, such
as those of menus, stay for several rounds, because the next page would bring them back. And every ten minutes a round
begins that writes all. So a killed process loses the links of some ten minutes; nothing else is ever dropped.

A site may choose its URLs so that their digests begin alike. They crowd one place of the table, and are written first.
"""

from collections.abc import Callable, Iterator, Sequence

from frontier.link_table.table import MAX_COUNTS, make_link_table
from frontier.protocol.url_batch import canonicals_of, link_counts_of
from frontier.store import Store
from frontier.values import CrawlUrl

WRITE_ALL_EVERY_S = 600.0
"""To write a full table takes two seconds in all, spread over some thousand pages."""

_MANY_LINKS = 3
"""A URL with this many links stays in memory, unless the round writes all."""

_ROUNDS = 4
"""Every fourth round writes all URLs: if all have many links, some have to go nevertheless."""


class LinkCounts:
    """Link counts of about `max_counts` URLs. Times are in seconds since 1970."""

    def __init__(self, max_counts: int = MAX_COUNTS, *, now: float) -> None:
        self._max_counts = max_counts
        self._table = make_link_table()
        self.get, self.pop = self._table.get, self._table.pop
        """The count of a URL that is not yet written. `pop` also removes it."""
        self._rounds = 0
        self._writes_all = False
        """Whether this round writes all URLs."""
        self._is_due = False
        """Whether this round began because it was time."""
        self._due_at = now + WRITE_ALL_EVERY_S

    def add(self, canonicals: Sequence[str], links: list[int], verdicts: Sequence[bool]) -> None:
        """Count the links to those URLs of a batch that are not new. New URLs carry their own count."""
        if not all(verdicts):
            if any(verdicts):
                links = [0 if is_new else count for count, is_new in zip(links, verdicts, strict=True)]
            self._table.add(canonicals, links)

    def add_recalled(
        self, batch: Sequence[CrawlUrl], recalls: Callable[[Sequence[str]], bool], /, *, now: float
    ) -> bool:
        """Count the links of a batch if `recalls` says that all its URLs are known, as those of most pages are, and if
        nothing has to be written. Returns whether they were counted."""
        if self.must_write(now):
            return False
        canonicals = canonicals_of(batch)
        if not recalls(canonicals):
            return False
        self._table.add(canonicals, link_counts_of(batch))
        return True

    def must_write(self, now: float) -> bool:
        """Whether some counts have to be written."""
        table = self._table
        is_over = len(table) > self._max_counts or table.is_crowded()
        return self._is_due or is_over or (now >= self._due_at and len(table) > 0)

    def write(self, store: Store, /, *, at_once: int, now: float) -> None:
        """Write the counts of up to `at_once` URLs. Raises `StoreFull` and keeps them then."""
        if now >= self._due_at:
            self._due_at = now + WRITE_ALL_EVERY_S
            self._table.rewind()
            self._writes_all = self._is_due = True
        if self._write_some(store, at_once, below=0 if self._writes_all else _MANY_LINKS):
            self._rounds += 1
            self._writes_all, self._is_due = self._rounds % _ROUNDS == 0, False

    def write_all(self, store: Store, /, *, at_once: int) -> Iterator[None]:
        """Write all counts; the caller may pause after each `at_once`. Raises `StoreFull` and keeps the rest then."""
        while len(self._table):
            self._write_some(store, at_once, below=0)
            yield

    def _write_some(self, store: Store, at_once: int, *, below: int) -> bool:
        """Write up to `at_once` counts that are below `below`, or any if that is 0. Returns whether a round ended."""
        taken, is_end = self._table.take(at_once, below)
        if taken:
            try:
                store.add_links(sorted(taken))
            except BaseException:
                self._table.put_back(taken)
                raise
        return is_end
