"""Sees to it that a recovery counts each link once."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from crawler.page.number_set import NumberSet
from frontier import CrawlUrl, Damaged, LedgerReads


class LinkCounting:
    """Tells which of the links in an output are still to be counted: those to URLs that the state has lost. What the
    state knew has its count, and other parts count the links to their URLs."""

    def __init__(self, ledger: LedgerReads, owns: Callable[[str], bool]) -> None:
        """`owns` tells whether a queue belongs to the state, by its key."""
        self._ledger = ledger
        self._owns = owns
        self._counted = NumberSet()
        self._is_any_counted = False

    def note_counted(self) -> None:
        """The URLs that the state knows by now have their counts."""
        for known in self._ledger.all_known():
            if not isinstance(known, Damaged):
                self._is_any_counted = self._counted.add(known.entry.number) or self._is_any_counted

    def to_count(self, links: Iterable[CrawlUrl]) -> Iterator[CrawlUrl]:
        """These links, with no count where it would be the second one."""
        for link in links:
            is_counted = not self._owns(link.queue_key) or (self._is_any_counted and self._has_count(link.canonical))
            yield msgspec.structs.replace(link, link_count=0) if is_counted else link

    def _has_count(self, canonical: str) -> bool:
        known = self._ledger.known(canonical)
        return known is not None and known.entry.number in self._counted
