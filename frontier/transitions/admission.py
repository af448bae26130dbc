"""URLs come in past the visited set, and known URLs are forgotten: one batch at a time.

The visited set may be on a server, so asking it is the one await inside a transition. A lock keeps transitions apart
meanwhile, and a transition that has begun is finished even if its caller is cancelled.
"""

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType

import msgspec

from frontier.protocol.url_batch import UrlBatch, canonicals_of, link_counts_of
from frontier.records import (
    NO_TRANSIT,
    InboxPosition,
    Transit,
)
from frontier.sending.outgoing import Chosen, Outgoing
from frontier.store import Store
from frontier.transitions.accounting import count_state, number_urls, plan_fill
from frontier.transitions.active.active_queues import ActiveQueues
from frontier.transitions.asking.asking import make_asking
from frontier.transitions.checks import check_urls
from frontier.transitions.commit import Commit
from frontier.transitions.leasing import Leases, OpenLease
from frontier.transitions.link_counts import LinkCounts
from frontier.transitions.readmission import find_readmissible, find_settled, remove_validators
from frontier.transitions.uncancellable import run_in_turn, run_prompt_in_turn
from frontier.values import CrawlUrl, LedgerEntry, StoreFull, UrlState
from visited import VisitedSet

log = logging.getLogger(__name__)

_LINK_COUNTS_WRITTEN = 100

Again = Mapping[str, tuple[CrawlUrl, LedgerEntry | None]]
"""Known URLs that are admitted again, by their canonical forms, and their ledger entries."""


class Admission:
    """Asks the visited set, and admits what is new to it. `lock` is held between asking and writing."""

    def __init__(
        self,
        store: Store,
        visited: VisitedSet,
        active: ActiveQueues,
        leases: Leases,
        link_counts: LinkCounts,
        commit: Commit,
        *,
        outgoing: Outgoing | None = None,
    ) -> None:
        """`outgoing` takes the URLs of other parts of the crawl."""
        self._store = store
        self._asking = make_asking(store, visited, commit)
        self._active = active
        self._leases = leases
        self._link_counts = link_counts
        self._commit = commit
        self._outgoing = outgoing
        self.lock = asyncio.Lock()

    async def add(self, urls: Iterable[CrawlUrl], *, force: bool, drop_validators: bool = False) -> int:
        """See `Frontier.add`. With `drop_validators`, servers are not asked whether copies are still current."""
        batch: Sequence[CrawlUrl] = urls if isinstance(urls, UrlBatch) else list(urls)
        if not batch:
            return 0
        check_urls(batch)
        chosen: Chosen = {}
        if self._outgoing is not None:
            batch, foreign = self._outgoing.split(batch)
            if force and foreign:
                receiver, others = next(iter(foreign.items()))
                raise ValueError(f"{others[0].url} belongs to part {receiver} of the crawl: add it there")
            chosen = self._outgoing.choose(foreign)
        # Known links need no turn. But while another has its turn, the set may know URLs that are not written yet.
        if not (force or chosen or self.lock.locked()):
            self._commit.check()
            if self._link_counts.add_recalled(batch, self._asking.recalls, now=self._active.now()):
                if self._commit.needs_sync:  # another page may have brought them just now
                    await self._commit.sync()
                return 0
        step = self._add(batch, chosen, force=force, drop_validators=drop_validators)
        if not self._asking.is_prompt:
            return await self._finish(step)
        count = await run_prompt_in_turn(self.lock, step, on_cancel=self._commit.give_up)
        await self._commit.sync()
        return count

    async def readmit(self, urls: Iterable[CrawlUrl], *, drop_validators: bool) -> int:
        """See `Recrawling.readmit`."""
        batch = list(urls)
        check_urls(batch)
        return await self._finish(self._readmit(batch, drop_validators=drop_validators))

    async def receive(self, urls: Sequence[CrawlUrl], position: InboxPosition) -> int:
        """Admit URLs of this part that another part has sent, and store how far it has come."""
        check_urls(urls)
        return await self._finish(self._add(urls, position=position))

    async def send(self, chosen: Chosen) -> None:
        """Put URLs into the outbox."""
        if chosen:
            await self._finish(self._add([], chosen))

    async def forget(self, canonicals: Iterable[str], /) -> int:
        """See `Frontier.forget`."""
        return await self._finish(self._forget(dict.fromkeys(canonicals)))

    async def record(self, entries: Iterable[LedgerEntry], /) -> int:
        """See `Recovering.record`."""
        batch: dict[str, LedgerEntry] = {}
        for entry in entries:
            if entry.state is UrlState.PENDING:
                raise ValueError(f"{entry.canonical} waits; `add` it")
            batch.setdefault(entry.canonical, entry)
        return await self._finish(self._record(batch))

    async def admit_claims(self) -> None:
        """Admit what was asked of a server before a crash, unless the ledger has it."""
        if self._store.claims.is_open:
            await self._finish(self._admit_claims())

    async def _finish(self, step: Coroutine[object, object, int]) -> int:
        count = await run_in_turn(self.lock, step, on_cancel=self._commit.give_up_waiting)
        await self._commit.sync()
        return count

    async def _add(
        self,
        batch: Sequence[CrawlUrl],
        chosen: Chosen = MappingProxyType({}),
        *,
        position: InboxPosition | None = None,
        force: bool = False,
        drop_validators: bool = False,
    ) -> int:
        canonicals = canonicals_of(batch)
        verdicts: Sequence[bool] = ()
        if canonicals:
            verdicts = await self._asking.ask(batch, canonicals)
        new: list[CrawlUrl] = []
        if any(verdicts):  # most pages have no new link
            new = [batch[place] for place, is_new in zip(range(len(batch)), verdicts, strict=True) if is_new]
        admitted = 0
        if not force:
            self._link_counts.add(canonicals, link_counts_of(batch), verdicts)
        if new or force or chosen or position is not None:
            admit = partial(self._admit, batch, new, chosen, position, force=force, drop_validators=drop_validators)
            admitted = await self._commit.run(admit, is_required=True)
        now = self._active.now()
        if self._link_counts.must_write(now):
            # At least as many as came, so that there are never more than twice the maximum.
            at_once = len(batch) + _LINK_COUNTS_WRITTEN
            with suppress(StoreFull):
                await self._commit.run(partial(self._link_counts.write, self._store, at_once=at_once, now=now))
        return admitted

    async def _admit_claims(self) -> int:
        urls = await self._asking.claimed()
        log.info("admitting URLs about which the crawl had asked, and which the frontier lacks: %d", len(urls))
        change = partial(self._write, urls, {}) if urls else self._store.claims.clear
        await self._commit.run(change, is_required=True)
        return 0

    async def _readmit(self, batch: Sequence[CrawlUrl], *, drop_validators: bool) -> int:
        self._commit.check()
        return await self._commit.run(
            lambda: self._write([], find_settled(batch, self._store.reads, drop_validators=drop_validators)),
            is_required=True,
        )

    async def _forget(self, canonicals: Iterable[str]) -> int:
        self._commit.check()
        with self._commit.fail_on_error:
            entries = [self._store.reads.entry(canonical) for canonical in canonicals]
        settled = [entry for entry in entries if entry is not None and entry.state is not UrlState.PENDING]
        names = [entry.canonical for entry in settled]
        if not names:
            return 0
        await self._asking.forget(names)
        await self._commit.run(partial(self._remove_entries, settled), is_required=True)
        for name in names:
            self._link_counts.pop(name)
        if self._outgoing is not None:
            self._outgoing.note_forgotten()
        return len(names)

    async def _record(self, batch: dict[str, LedgerEntry]) -> int:
        verdicts = await self._asking.enter(list(batch))
        new = [entry for entry, is_new in zip(batch.values(), verdicts, strict=True) if is_new]
        if new:
            await self._commit.run(partial(self._enter, new), is_required=True)
        return len(new)

    # transitions

    def _admit(
        self,
        batch: Sequence[CrawlUrl],
        new: list[CrawlUrl],
        chosen: Chosen,
        position: InboxPosition | None,
        *,
        force: bool,
        drop_validators: bool,
    ) -> int:
        again: Again = {}
        if force:
            new_canonicals = {url.canonical for url in new}
            known = [url for url in batch if url.canonical not in new_canonicals]
            again = find_readmissible(known, self._leases, self._store.reads, drop_validators=drop_validators)
            if drop_validators and (waiting := [url for url in known if url.canonical not in again]):
                remove_validators(waiting, self._store, self._active)
        return self._write(new, again, chosen, position)

    def _write(
        self,
        new: Sequence[CrawlUrl],
        again: Again,
        chosen: Chosen = MappingProxyType({}),
        position: InboxPosition | None = None,
    ) -> int:
        active = self._active
        superseded: list[OpenLease] = []
        if again:
            superseded = [held for held in self._leases if held.pending.url.canonical in again and not held.superseded]
        urls = [*new, *(url for url, _ in again.values())]
        parcels = self._outgoing.pack(chosen) if chosen and self._outgoing is not None else []
        if not urls and not parcels and position is None:
            return 0
        # Before the counters are copied, because a damaged record is counted when it is found.
        queues = active.queues([url.queue_key for url in urls])
        now = active.now()
        counters = active.copy_counters(now)
        counters.admitted += len(new)
        for _, entry in again.values():
            if entry is None:
                counters.admitted += 1
            else:
                count_state(counters, entry.state, sign=-1)
        removed: dict[str, int] = {}
        for held in superseded:
            queues[held.queue.key] = held.queue
            removed[held.queue.key] = removed.get(held.queue.key, 0) + 1
        found_at = {name: int(entry.found_at) for name, (_, entry) in again.items() if entry is not None}
        admitted = number_urls(urls, counters, found_at, now=int(self._active.clock()))
        fills = plan_fill(admitted, queues, counters, active.settings, removed=removed)
        self._store.admit(
            admitted,
            [held.pending for held in superseded],
            [fill.update for fill in fills],
            counters,
            transit=Transit(parcels=parcels, position=position) if parcels or position is not None else NO_TRANSIT,
        )
        if self._outgoing is not None:
            self._outgoing.note_written(chosen, parcels)
        active.apply_fills(fills, now)
        for held in superseded:
            held.superseded = True
            active.schedule.remove(held.queue, now=now)
        active.wake(len(fills))
        return len(admitted)

    def _remove_entries(self, settled: Sequence[LedgerEntry]) -> None:
        counters = self._active.copy_counters(self._active.now())
        for entry in settled:
            count_state(counters, entry.state, sign=-1)
        counters.admitted -= len(settled)
        counters.generation += 1
        self._store.forget(settled, counters)

    def _enter(self, entries: Sequence[LedgerEntry]) -> None:
        """Write ledger entries of URLs that were settled elsewhere."""
        revisits, now = self._active.revisits, self._active.now()
        counters = self._active.copy_counters(now)
        numbered = []
        for entry in entries:
            number = entry.number or counters.next_number
            numbered.append(revisits.plan_entry(msgspec.structs.replace(entry, number=number), now))
            counters.note_number(number)
            counters.admitted += 1
            counters.note_fetch(entry.fetched_at)
            count_state(counters, entry.state)
        if revisits.loses_plan:
            # Before the entries are written, as in `Settling.done`.
            self._store.marks.set_revisits_planned(False)
            revisits.lose_plan()
        self._store.record(numbered, counters)
        for entry in numbered:
            revisits.note(entry.due_ms)
