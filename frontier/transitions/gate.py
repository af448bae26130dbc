"""The way in and out of the crawl's memory: past the visited set, one batch at a time.

The one await inside a transition is the visited set's, which may be remote: the lock around it keeps transitions apart,
and what has begun is carried to its end even if the caller is cancelled.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from functools import partial

from frontier.store import Store
from frontier.transitions.admission import Admission, check_urls
from frontier.transitions.commit import Commit
from frontier.transitions.link_counts import LinkCounts
from frontier.transitions.uncancellable import whole
from frontier.values import CrawlUrl, LedgerEntry, StoreFull, UrlState
from visited import VisitedSet

_HITS_AT_ONCE = 100


class Gate:
    """Asks the visited set, and has what it lets pass admitted. `lock` is held between asking and writing."""

    def __init__(
        self, store: Store, visited: VisitedSet, *, admission: Admission, hits: LinkCounts, changes: Commit
    ) -> None:
        self._store = store
        self._visited = visited
        self._admission = admission
        self._hits = hits
        self._changes = changes
        self.lock = asyncio.Lock()

    async def add(self, urls: Iterable[CrawlUrl], *, force: bool, anew: bool = False) -> int:
        batch = list(urls)
        if not batch:
            return 0
        check_urls(batch)
        admitted = await whole(self._add(batch, force=force, anew=anew), cancelled=self._changes.give_up_room)
        await self._changes.synced()
        return admitted

    async def _add(self, batch: list[CrawlUrl], *, force: bool, anew: bool) -> int:
        async with self.lock:
            self._changes.check()
            # If this is torn, the visited set may hold URLs that the ledger lacks. It must not be asked again: the
            # next opening rebuilds it from what is durable.
            with self._changes.failing:
                canonicals = [url.canonical for url in batch]
                verdicts = await self._changes.answered(partial(self._visited.add_many, canonicals))
                fresh = [url for url, new in zip(batch, verdicts, strict=True) if new]
            admitted = 0
            if not force:
                self._hits.count(batch, canonicals, verdicts)
            if fresh or force:
                admit = partial(self._admission.admit, batch, fresh, force=force, anew=anew)
                admitted = await self._changes.made(admit, must=True)
            if self._hits.are_many:
                with suppress(StoreFull):
                    # As many as came, at least, and so there are never more than twice as many as are kept.
                    await self._changes.made(partial(self._hits.write, self._store, at_once=len(batch) + _HITS_AT_ONCE))
            return admitted

    async def forget(self, canonicals: Iterable[str]) -> int:
        forgotten = await whole(self._forget(dict.fromkeys(canonicals)), cancelled=self._changes.give_up_room)
        await self._changes.synced()
        return forgotten

    async def _forget(self, canonicals: Iterable[str]) -> int:
        async with self.lock:
            self._changes.check()
            with self._changes.failing:
                entries = [self._store.entry(canonical) for canonical in canonicals]
                settled = [entry for entry in entries if entry is not None and entry.state is not UrlState.PENDING]
                names = [entry.canonical for entry in settled]
                if not names:
                    return 0
                await self._changes.answered(partial(self._visited.forget_many, names))
            await self._changes.made(partial(self._admission.strike, settled, names), must=True)
            for name in names:
                self._hits.take(name)
            return len(names)

    async def record(self, entries: Iterable[LedgerEntry]) -> int:
        batch = {entry.canonical: entry for entry in entries}
        for entry in batch.values():
            if entry.state is UrlState.PENDING:
                raise ValueError(f"{entry.canonical} waits; `add` it")
        recorded = await whole(self._record(batch), cancelled=self._changes.give_up_room)
        await self._changes.synced()
        return recorded

    async def _record(self, batch: dict[str, LedgerEntry]) -> int:
        async with self.lock:
            self._changes.check()
            with self._changes.failing:
                verdicts = await self._changes.answered(partial(self._visited.add_many, list(batch)))
            fresh = [entry for entry, new in zip(batch.values(), verdicts, strict=True) if new]
            if fresh:
                await self._changes.made(partial(self._admission.enter, fresh), must=True)
            return len(fresh)
