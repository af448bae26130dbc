"""The frontier: the schedule decides, the store keeps, and this leases.

All state changes in plain methods, with no await between reading and writing: URLs come in through `gate`, leases go
out by `leasing` and come back by `settling`, an operator acts by `operating`. What they share is `serving`, the queues
as they stand now; `changes` makes each change as soon as the store takes it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from functools import partial

import msgspec

from frontier.clock import steady_clock
from frontier.queues.rules import Rules
from frontier.snapshots import Snapshots, prepared, restore
from frontier.store import Store
from frontier.transitions.active_queues import ActiveQueues
from frontier.transitions.admission import Admission
from frontier.transitions.commit import Commit
from frontier.transitions.gate import Gate
from frontier.transitions.leases import Leases
from frontier.transitions.leasing import Leasing
from frontier.transitions.link_counts import LinkCounts
from frontier.transitions.operating import Operating
from frontier.transitions.settling import Settling
from frontier.transitions.stats import described
from frontier.transitions.uncancellable import whole
from frontier.values import (
    MEND,
    CrawlUrl,
    FrontierStats,
    Lease,
    LedgerEntry,
    Outcome,
    StoreFailed,
    StoreFull,
    UrlState,
)
from visited import VisitedSet

log = logging.getLogger(__name__)

HITS_AT_ONCE = 1000
LONGEST_S = 1e9
"""Thirty years. A longer rest is a mistake, and would not fit into the store."""


class QueueFrontier:
    """A `Frontier` over any `Store`. Made by `open`."""

    def __init__(
        self,
        store: Store,
        visited: VisitedSet,
        *,
        snapshots: Snapshots | None,
        rules: Rules,
        now: Callable[[], float],
    ) -> None:
        hits = self._hits = LinkCounts()
        self._store = store
        self._visited = visited
        self._snapshots = snapshots
        self._serving = ActiveQueues(store, rules, clock=now)
        self._changes = Commit(store, self._serving)
        self._leases = Leases(self._later_hits)
        admission = Admission(store, self._serving, self._leases)
        self._gate = Gate(store, visited, admission=admission, hits=hits, changes=self._changes)
        self._leasing = Leasing(store, self._serving, self._leases)
        self._settling = Settling(store, self._serving, self._leases, hits, self._changes)
        self._operating = Operating(store, self._serving)
        self._saving = asyncio.Lock()

    @classmethod
    async def open(
        cls,
        store: Store,
        visited: VisitedSet,
        *,
        snapshots: Snapshots | None = None,
        per_queue: int = 1,
        rules: Rules | None = None,
        now: Callable[[], float] | None = None,
        rest_after_crash_s: float = 0.0,
        rebuilding: Callable[[int], None] | None = None,
    ) -> "QueueFrontier":
        """Take up the crawl that the store holds, or begin one.

        If it was not closed in order, nobody knows which servers were being asked. So each queue rests first, as it
        does after an answer, and for `rest_after_crash_s` at least.

        The visited set, given empty, is filled from its snapshot and the journal, or from the ledger where these don't
        serve; `rebuilding` is then called with the number of URLs so far. `rules` say more than `per_queue`.
        """
        rules = rules or Rules(per_queue=per_queue)
        frontier = cls(store, visited, snapshots=snapshots, rules=rules, now=now or steady_clock())
        await restore(store, visited, snapshots, rebuilding=rebuilding)
        if store.counters.retired_queues:
            await frontier.reconsider()
        serving = frontier._serving
        crashed_at = serving.now() if store.in_use else store.crashed_at
        if crashed_at is not None:
            serving.crashed(crashed_at, rest_s=rest_after_crash_s)
        serving.refill(serving.now())
        store.set_in_use(True, crashed_at=crashed_at)
        return frontier

    # links come in

    async def add(self, urls: Iterable[CrawlUrl], /, *, force: bool = False) -> int:
        return await self._added(urls, force=force, anew=False)

    async def add_anew(self, urls: Iterable[CrawlUrl], /) -> int:
        """Have URLs fetched again whose copies are lost: unlike with `add` and `force`, no server is asked whether they
        are still current."""
        return await self._added(urls, force=True, anew=True)

    async def _added(self, urls: Iterable[CrawlUrl], *, force: bool, anew: bool) -> int:
        admitted = await self._gate.add(urls, force=force, anew=anew)
        if self._snapshots is not None and self._snapshots.is_due(self._store):
            await whole(self._save_snapshot(self._snapshots), cancelled=self._changes.give_up_room)
        return admitted

    # leases go out

    def __aiter__(self) -> AsyncIterator[Lease]:
        return self

    async def __anext__(self) -> Lease:
        serving = self._serving
        while True:
            self._changes.check_failure()
            if self._changes.stopped:
                raise StopAsyncIteration
            if serving.is_held:
                await serving.waiters.wait()
                continue
            try:
                lease = self._leasing.next_lease()
            except StoreFull as error:
                await self._changes.wait_for_room(error)
                continue
            except BaseException as error:
                self._changes.failing.ended_by(error)
                raise
            if lease is not None:
                if serving.waiters.line:
                    serving.waiters.wake(serving.schedule.turns)  # queues woken on the way are others' turns
                return lease
            if serving.is_complete():
                self._check_balance()
                serving.waiters.wake_all()
                raise StopAsyncIteration
            if serving.standby.best is not None:
                await asyncio.sleep(0)  # of those looked at so far, all rest
            else:
                await serving.waiters.wait()

    def _check_balance(self) -> None:
        """Raises `StoreFailed` if nothing waits by the queues, and the counts tell otherwise."""
        counters, rules = self._store.counters, self._serving.rules
        imbalance = counters.imbalance
        if imbalance is None and rules.serves_all and counters.pending > counters.quarantined:
            imbalance = f"{counters.pending} URLs are in no queue that is served"
        if imbalance is not None:
            self._changes.fail(StoreFailed(f"the frontier is damaged: nothing waits, but {imbalance}; {MEND}"))
            self._changes.check_failure()

    def begins(self, lease: Lease, /, *, address: str | None, errand: str | None = None) -> bool:
        self._leases.get(lease)
        return self._settling.begins(lease, address, errand)

    def relocate(self, lease: Lease, /, *, address: str, errand: str | None = None) -> None:
        self._settling.relocate(lease, address, errand)

    # leases come back

    async def done(
        self, lease: Lease, /, *, cooldown_s: float, group_cooldown_s: float | None = None, outcome: Outcome
    ) -> None:
        self._changes.check()
        self._leases.get(lease)
        _check_seconds("cooldown_s", cooldown_s)
        _check_seconds("group_cooldown_s", group_cooldown_s or 0.0)
        _check_seconds("dead_for_s", outcome.dead_for_s)
        if outcome.state is UrlState.PENDING:
            raise ValueError(f"{lease.url.url} can't be settled as pending; `retry` or `release` it")
        await self._changes.made(
            partial(self._settling.done, lease, cooldown_s, outcome, group_cooldown_s=group_cooldown_s)
        )
        await self._changes.synced()

    async def retry(
        self,
        lease: Lease,
        /,
        *,
        after_s: float | None,
        cooldown_s: float,
        group_cooldown_s: float | None = None,
        reason: str | None = None,
        pressure: int = 0,
        answered: bool = False,
    ) -> None:
        self._changes.check()
        self._leases.get(lease)
        _check_seconds("after_s", after_s or 0.0)
        _check_seconds("cooldown_s", cooldown_s)
        _check_seconds("group_cooldown_s", group_cooldown_s or 0.0)
        await self._changes.made(
            partial(
                self._settling.retry,
                lease,
                after_s,
                cooldown_s,
                reason,
                group_cooldown_s=group_cooldown_s,
                pressure=pressure,
                answered=answered,
            )
        )
        await self._changes.synced()

    def release(
        self,
        lease: Lease,
        /,
        *,
        cooldown_s: float = 0.0,
        group_cooldown_s: float | None = None,
        asked: bool = False,
        why: str | None = None,
    ) -> None:
        self._leases.get(lease)
        _check_seconds("cooldown_s", cooldown_s)
        _check_seconds("group_cooldown_s", group_cooldown_s or 0.0)
        self._settling.release(lease, cooldown_s, group_cooldown_s=group_cooldown_s, asked=asked, why=why)

    # what an operator does

    def hold(self, reason: str, /, *, by: str) -> None:
        """Lease nothing until whoever holds lets go, or the process ends; what is leased can be settled."""
        self._serving.hold(reason, by=by)

    def let_go(self, *, by: str) -> None:
        """End a hold; the others' remain."""
        self._serving.let_go(by=by)

    @property
    def held_by_operator(self) -> str | None:
        """Why, in an operator's words; None if no operator holds all."""
        return self._store.held

    async def hold_all(self, reason: str, /) -> None:
        """Lease nothing until `release_all`, across restarts; what is leased can be settled."""
        await self._changes.made(partial(self._operating.hold, reason))
        await self._changes.synced()

    async def release_all(self) -> None:
        """Raises `IllegalTransition` if no operator holds all."""
        await self._changes.made(self._operating.release)
        await self._changes.synced()

    async def skip_numbers(self, upto: int, /) -> bool:
        """Give no URL a number up to this; whether any would have been given."""
        return await self._changes.made(partial(self._operating.skip_numbers, upto))

    async def forget_lost(self) -> None:
        """All that leads to the URLs that were lost to damage is to be fetched again: they are not counted any more."""
        await self._changes.made(self._operating.forget_lost)
        await self._changes.synced()

    async def retire(self, key: str, /) -> None:
        """Serve a queue no more. What is leased of it can be settled, and what comes for it is kept.

        Raises `IllegalTransition` if it is retired by an operator already.
        """
        await self._changes.made(partial(self._operating.retire, key))
        await self._changes.synced()

    async def unretire(self, key: str, /) -> None:
        """Serve a retired queue again. Raises `IllegalTransition` if no operator has retired it."""
        await self._changes.made(partial(self._operating.unretire, key))
        await self._changes.synced()

    async def set_budget(self, key: str, budget: int | None, /) -> None:
        """Give a queue a total budget of its own, or with None that of all again. One that is retired for its budget is
        served again if that is more than it has spent; one that has spent as much is retired."""
        if budget is not None and budget < 0:
            raise ValueError(f"a budget is at least 0, got {budget}")
        await self._changes.made(partial(self._operating.set_budget, key, budget))
        await self._changes.synced()

    async def reconsider(self) -> int:
        """Serve again the queues that no operator has retired and whose budget allows it, and return how many. Looks at
        every queue."""
        again = 0
        for key in [record.key for record in self._store.queues() if record.size and record.stands is None]:
            again += await self._changes.made(partial(self._operating.reconsider, key))
        await self._changes.synced()
        self._serving.waiters.wake_all()
        return again

    # the ledger

    async def forget(self, canonicals: Iterable[str], /) -> int:
        return await self._gate.forget(canonicals)

    async def record(self, entries: Iterable[LedgerEntry], /) -> int:
        """Take into the ledger what became of URLs elsewhere, so that they are not fetched here; return how many were
        new. Entries without a number are given one. URLs that wait raise ValueError."""
        return await self._gate.record(entries)

    async def status_of(self, canonical: str, /) -> LedgerEntry | None:
        entry = self._store.entry(canonical)
        if entry is None:
            return None
        return msgspec.structs.replace(entry, hit_count=entry.hit_count + self._later_hits(canonical))

    def _later_hits(self, canonical: str) -> int:
        """The links to a URL that its own record does not tell."""
        return self._hits.of(canonical) + self._store.hits(canonical)

    def describe(self) -> FrontierStats:
        return described(self._store.counters, self._serving)

    # the end

    def stop(self) -> None:
        self._changes.stop()

    async def aclose(self) -> None:
        if self._changes.closed:
            return
        self._changes.closed = True
        self.stop()
        self._serving.waiters.close()
        try:
            await whole(self._finish(), cancelled=self._changes.give_up_room)
        finally:
            self._store.close()

    async def _finish(self) -> None:
        async with self._gate.lock:
            pass  # what was being admitted is in the ledger now
        if self._changes.failure is None:
            with suppress(StoreFull):
                for _ in self._hits.write_all(self._store, at_once=HITS_AT_ONCE):
                    await asyncio.sleep(0)
        if self._snapshots is not None and self._store.snapshot_at != self._store.counters.journal_end:
            await self._save_snapshot(self._snapshots)
        if self._changes.failure is None and not self._leases:
            with suppress(StoreFull):
                self._store.set_in_use(False)

    async def _save_snapshot(self, snapshots: Snapshots) -> None:
        async with self._saving:
            buffer = await prepared(self._visited)
            async with self._gate.lock:
                if self._changes.failure is not None or self._store.snapshot_at == self._store.counters.journal_end:
                    return
                copied = snapshots.copy(self._store, self._visited, into=buffer)
            try:
                with self._changes.failing:
                    await snapshots.save(copied, self._store)
            except StoreFull as error:
                log.warning("no snapshot of the visited set was saved: %s; the next start takes longer", error)


def _check_seconds(name: str, span_s: float) -> None:
    if not 0 <= span_s <= LONGEST_S:
        raise ValueError(f"{name} must be 0 to {LONGEST_S:.0f}, got {span_s}")
