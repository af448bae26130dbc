"""Takes into the frontier what the output of a crawl tells: settled URLs, and the links of their pages.

A record tells how its URL was settled, and with `output.links` also the links of the page. Without these, the page is
read again from the archive. If it is not there either, only the settled URLs are known.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, closing, suppress
from typing import Protocol

import msgspec

from config import Loaded
from crawler.disk.pruned import PrunedNumbers
from crawler.page.number_set import NumberSet
from crawler.wiring import storage
from crawler.wiring.backends import lacks
from crawler.wiring.recovery.archived import Progress
from crawler.wiring.recovery.entries import batches
from crawler.wiring.recovery.output_links import LinksInOutput
from crawler.wiring.recovery.sources import Sources
from frontier import CrawlUrl, Damaged, Frontier, LedgerEntry, LedgerReads, Recovering
from frontier.state import FrontierState
from visited import CannotForget


class RecoveringFrontier(Frontier, Recovering, Protocol):
    """A frontier that can be given what only the output knows."""


QueueAgain = Callable[[RecoveringFrontier, LedgerReads], Awaitable[int]]
"""Queues what an operator had queued. Returns how many URLs these are."""


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """What a recovery found. Counts of URLs, but for `records`."""

    records: int = 0
    settled: int = 0
    """URLs that the frontier did not know as settled."""
    found: int = 0
    """Links that the frontier did not know; they are queued now."""
    again: int = 0
    """URLs that are queued as an operator had done before."""
    unread: int = 0
    """Pages whose links are unknown: they have no list of links and are not in the archive."""
    unread_elsewhere: int = 0
    """The same of pages of other parts."""
    pruned: int = 0
    """Records that were deleted on purpose, so that nobody knows their URLs any more."""


async def recover(
    loaded: Loaded, sources: Sources, state: FrontierState, *, progress: Progress, queue_again: QueueAgain | None = None
) -> Recovered:
    """Take into the state of a frontier what the output tells and the state does not know, and close the state.

    URLs that the state knows do not change. A server of the visited set is not asked: it knows what the state had
    known, and would call that known. Raises `ConfigError`, also if the frontier can't be recovered, and
    `StoreFailed`.
    """
    if not isinstance(state, LedgerReads):
        raise lacks(loaded.config, "list its ledger, which a recovery from the output needs")
    async with AsyncExitStack() as stack:
        output = stack.enter_context(closing(LinksInOutput(loaded, sources, progress=progress)))
        visited = storage.visited_set(loaded.config, sources.own, state.knows_many, is_local=True)
        stack.push_async_callback(visited.aclose)
        frontier = await state.open_frontier(visited)
        stack.push_async_callback(frontier.aclose)
        if not isinstance(frontier, Recovering):
            raise lacks(loaded.config, "be given what only the output of a crawl still knows")
        found, lost_before = 0, frontier.describe().lost
        counting = _LinkCounting(state, sources.owns)
        counting.note_counted()
        # Without links, what the records have counted is the best that is known.
        knows_links = loaded.config.output.links or loaded.config.output.warc
        # Until all is known and queued: if this is interrupted, the crawl is not complete, and a repair begins again.
        await frontier.set_lost(max(lost_before, 1))
        settled = await _enter_settled(frontier, output.settled.entries(), keeps_counts=not knows_links)
        if not knows_links:
            counting.note_counted()
        # Before URLs are queued, which would get these numbers.
        pruned = PrunedNumbers([sources.own])
        await frontier.skip_numbers(max(pruned.highest, output.settled.highest))
        # At least the URLs are lost whose numbers no known URL has, at any of its visits that were not pruned.
        stats = frontier.describe()
        waiting = stats.admitted - stats.done - stats.failed - stats.excluded
        unknown = output.count_unknown(pruned.of("records"))
        unnamed = state.numbers_given - max(stats.admitted, output.settled.visits + waiting + unknown)
        # Before the links to these URLs, which have another precedence, and may be deeper.
        again = 0 if queue_again is None else await queue_again(frontier, state)
        for links in batches(output.links()):
            found += await frontier.add(counting.to_count(filter(None, links)))
            await asyncio.sleep(0)
        unread = output.unread(state)
        lost = max(lost_before - settled - found, unnamed, 1) if unread else 0
        await frontier.set_lost(lost)
        return Recovered(
            records=output.settled.records,
            settled=settled,
            found=found,
            again=again,
            unread=unread,
            unread_elsewhere=len(output.owed),
            pruned=unknown,
        )


async def _enter_settled(
    frontier: RecoveringFrontier, found: Iterable[LedgerEntry | None], *, keeps_counts: bool
) -> int:
    """Enter them, with the counts of links that they have if it `keeps_counts`, and return how many are new. Of several
    entries of one URL the first counts. None stands for a visit that tells nothing.

    If there are several in an empty frontier, its predecessor had forgotten the URL and met it again: one visit does
    not tell of another then. The frontier has to know this, because its reports count each URL once.
    """
    was_empty = not frontier.describe().admitted
    settled, twice = 0, list[str]()
    for batch in batches(found):
        known = [each if keeps_counts else msgspec.structs.replace(each, hit_count=0) for each in batch if each]
        new = await frontier.record(known)
        settled += new
        if was_empty and not twice and new < len(known):
            twice = [known[0].canonical]
        await asyncio.sleep(0)  # so that a signal is heard
    for canonical in twice:
        entry = await frontier.status_of(canonical)
        with suppress(CannotForget):
            await frontier.forget([canonical])
        await frontier.record(filter(None, [entry]))
    return settled


class _LinkCounting:
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
