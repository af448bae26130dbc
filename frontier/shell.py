"""The frontier that callers use. The schedule decides, the store keeps, and the transitions change both.

All state changes in plain methods, with no await between reading and writing. URLs come in through `admission`. Leases
go out through `leasing` and come back through `settling`. An operator acts through `operating`. They share the active
queues. `commit` makes each change as soon as the store accepts it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from frontier.clock import steady_clock
from frontier.descriptions import told_entry
from frontier.part_links import StoredPartLinks
from frontier.queues.settings import QueueSettings
from frontier.sending.outgoing import open_outgoing
from frontier.snapshots.restoring import restore
from frontier.snapshots.saving import Snapshots
from frontier.store import Store
from frontier.transitions.active.active_queues import ActiveQueues
from frontier.transitions.admission import Admission
from frontier.transitions.asking.shared import tend
from frontier.transitions.checks import check_seconds
from frontier.transitions.commit import Commit
from frontier.transitions.leasing import Leases, Leasing
from frontier.transitions.link_counts import LinkCounts
from frontier.transitions.operating import Budgeting, Operator
from frontier.transitions.revisiting import Revisiting
from frontier.transitions.settling import Settling
from frontier.transitions.snapshotting import Snapshotting
from frontier.transitions.stats import active_queues, describe, upcoming
from frontier.transitions.uncancellable import run_uncancellable
from frontier.values import (
    CrawlUrl,
    FrontierStats,
    Lease,
    LedgerEntry,
    Outcome,
    StoreFull,
    UrlState,
)
from visited import VisitedSet

# A global, for the reason that `queues.lifecycle` gives.
_PENDING = UrlState.PENDING

LINK_COUNTS_WRITTEN = 1000
"""Link counts that are written together when the frontier is closed, before other tasks run again."""

_Result = TypeVar("_Result")


class QueueFrontier:
    """A `Frontier` over any `Store`. `open` creates it."""

    def __init__(
        self,
        store: Store,
        visited: VisitedSet,
        *,
        snapshots: Snapshots | None,
        settings: QueueSettings,
        now: Callable[[], float],
        owner: Callable[[str], int] | None = None,
    ) -> None:
        self._store = store
        self._link_counts = LinkCounts(now=now())
        self._active = ActiveQueues(store, settings, clock=now)
        self.ahead_s = self._active.ahead_s
        self.pauses = self._active.pauses
        self._commit = Commit(store, self.pauses, self._active.waiters)
        self._leases = Leases(self._later_links)
        outgoing = open_outgoing(store, owner)
        self._admission = Admission(
            store, visited, self._active, self._leases, self._link_counts, self._commit, outgoing=outgoing
        )
        self.forget, self.record = self._admission.forget, self._admission.record
        self.part_links: StoredPartLinks | None = None
        """Links to and from the other parts of the crawl; None if it has no parts."""
        if outgoing is not None:
            self.part_links = StoredPartLinks(
                store, outgoing, self._admission, self._active, self._leases, self._commit
            )
        self._leasing = Leasing(store, self._active, self._leases, self._commit)
        self._settling = Settling(store, self._active, self._leases, self._link_counts, self._commit)
        self.begin_fetch, self.relocate = self._settling.begin_fetch, self._settling.relocate
        self.release = self._settling.release
        self._operator = Operator(store, self._active)
        self._budgeting = Budgeting(store, self._active, self._operator, self._commit)
        self.set_budgets = self._budgeting.set_budgets
        self.active_queues = partial(active_queues, self._active)
        self.upcoming = partial(upcoming, self._active)
        self.tend = partial(tend, store, visited, self._commit, self._admission.lock)
        self._snapshotting = Snapshotting(store, visited, snapshots, self._commit, self._admission.lock)
        revisiting = Revisiting(store, self._active, self._admission, self._commit, self._snapshotting)
        self.readmit, self.revisit = revisiting.readmit, revisiting.revisit

    @classmethod
    async def open(
        cls,
        store: Store,
        visited: VisitedSet,
        *,
        snapshots: Snapshots | None = None,
        settings: QueueSettings | None = None,
        now: Callable[[], float] | None = None,
        rest_after_crash_s: float = 0.0,
        rebuilding: Callable[[int], None] | None = None,
        owner: Callable[[str], int] | None = None,
    ) -> "QueueFrontier":
        """Resume the crawl in the store, or begin one.

        The store of a part needs `owner`, which gives the part that a queue belongs to by its key.

        After a crash we cannot know which servers had just been asked, so every queue first rests for its usual delay,
        and at least for `rest_after_crash_s`.

        The visited set is empty, or a `SharedSet`. It is filled from its snapshot and the journal. If these are missing
        or damaged, it is filled from the ledger, and `rebuilding` is called with the number of URLs so far.
        """
        frontier = cls(
            store,
            visited,
            snapshots=snapshots,
            settings=settings or QueueSettings(),
            now=now or steady_clock(),
            owner=owner,
        )
        await restore(store, visited, snapshots, rebuilding=rebuilding)
        frontier._operator.keep_clock()
        if store.counters.retired_queues:
            await frontier._budgeting.reconsider()
        active, marks = frontier._active, store.marks
        crashed_at = active.now() if marks.in_use else marks.crashed_at
        if crashed_at is not None:
            active.rest_after_crash(crashed_at, rest_s=rest_after_crash_s)
        active.refill(active.now())
        marks.set_in_use(True, crashed_at=crashed_at)
        await frontier._admission.admit_claims()
        return frontier

    # URLs come in

    async def add(self, urls: Iterable[CrawlUrl], /, *, force: bool = False) -> int:
        admitted = await self._admission.add(urls, force=force)
        # Most pages have no new link. A part may have got URLs from others meanwhile.
        if admitted or self.part_links is not None:
            await self._snapshotting.save_if_due()
        return admitted

    async def add_anew(self, urls: Iterable[CrawlUrl], /) -> int:
        admitted = await self._admission.add(urls, force=True, drop_validators=True)
        await self._snapshotting.save_if_due()
        return admitted

    # leases go out

    def __aiter__(self) -> AsyncIterator[Lease]:
        return self

    async def __anext__(self) -> Lease:
        lease = await self._leasing.wait_for_lease()
        if lease is None:
            raise StopAsyncIteration
        return lease

    # leases come back

    async def done(
        self, lease: Lease, /, *, cooldown_s: float, group_cooldown_s: float | None = None, outcome: Outcome
    ) -> None:
        self._commit.check()
        check_seconds(cooldown_s=cooldown_s, group_cooldown_s=group_cooldown_s, dead_for_s=outcome.dead_for_s)
        if outcome.state is _PENDING:
            raise ValueError(f"{lease.url.url} can't be settled as pending; `retry` or `release` it")
        # Not by `_change`: each page would pay for one more coroutine.
        await self._commit.run(
            partial(self._settling.done, lease, cooldown_s, outcome, group_cooldown_s=group_cooldown_s)
        )
        if self._commit.needs_sync:
            await self._commit.sync()

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
        server_ok: bool = False,
    ) -> None:
        self._commit.check()
        check_seconds(cooldown_s=cooldown_s, group_cooldown_s=group_cooldown_s, after_s=after_s)
        outcome = Outcome(
            state=UrlState.PENDING, reason=reason, server_ok=server_ok, answered=answered, pressure=pressure
        )
        await self._change(
            partial(self._settling.retry, lease, after_s, cooldown_s, outcome, group_cooldown_s=group_cooldown_s)
        )

    # an operator acts

    @property
    def paused(self) -> str | None:
        return self._store.marks.paused

    async def pause(self, reason: str, /) -> None:
        await self._change(partial(self._operator.pause, reason))

    async def resume(self) -> None:
        await self._change(self._operator.resume)

    async def retire(self, key: str, /) -> None:
        await self._change(partial(self._operator.retire, key))

    async def unretire(self, key: str, /) -> None:
        await self._change(partial(self._operator.unretire, key))

    async def set_budget(self, key: str, budget: int | None, /) -> None:
        await self._change(partial(self._operator.set_budget, key, budget))

    async def _change(self, change: Callable[[], _Result]) -> _Result:
        """Make a change, and make it durable."""
        result = await self._commit.run(change)
        if self._commit.needs_sync:
            await self._commit.sync()
        return result

    async def make_safe(self) -> None:
        await self._commit.sync(whatever_durability=True)

    # the ledger

    async def skip_numbers(self, upto: int, /) -> bool:
        return await self._change(partial(self._operator.skip_numbers, upto))

    async def set_lost(self, count: int, /) -> None:
        await self._change(partial(self._operator.set_lost, count))

    async def status_of(self, canonical: str, /) -> LedgerEntry | None:
        entry = self._store.reads.entry(canonical)
        if entry is None:
            return None
        return told_entry(entry, links=self._later_links(canonical), ahead_s=self._active.ahead_s)

    def _later_links(self, canonical: str) -> int:
        """The links to a URL that its own record does not count."""
        return self._link_counts.get(canonical) + self._store.reads.link_count(canonical)

    def describe(self) -> FrontierStats:
        return describe(self._store.counters, self._active)

    # the end

    def stop(self) -> None:
        self._commit.stop()

    async def aclose(self) -> None:
        if self._commit.closed:
            return
        self._commit.closed = True
        self.stop()
        self._active.waiters.close()
        try:
            await run_uncancellable(self._finish(), on_cancel=self._commit.give_up_waiting)
        finally:
            self._store.close()

    async def _finish(self) -> None:
        async with self._admission.lock:
            pass  # a running admission has reached the ledger now
        # A change that was given up, as while a server or a disk kept it waiting, says nothing against the store.
        if self._commit.failure is None or isinstance(self._commit.failure, StoreFull):
            with suppress(StoreFull):
                for _ in self._link_counts.write_all(self._store, at_once=LINK_COUNTS_WRITTEN):
                    await asyncio.sleep(0)
        await self._snapshotting.save()
        if self._commit.failure is None and not self._leases and not self._store.claims.is_open:
            with suppress(StoreFull):
                self._store.marks.set_in_use(False)
