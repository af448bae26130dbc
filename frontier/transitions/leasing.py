"""Leases go out: the first URL that is not leased, of the queue whose turn it is."""

import asyncio
import logging
from collections.abc import Callable, Iterator

import msgspec

from frontier.queues.lease_end import LeaseEnd
from frontier.queues.lifecycle import IllegalTransition
from frontier.queues.queue import Queue
from frontier.records import PendingUrl, PostponedUrl, order_of
from frontier.store import Store
from frontier.transitions.accounting import plan_fill, plan_update
from frontier.transitions.active.active_queues import ActiveQueues
from frontier.transitions.commit import Commit
from frontier.values import REPAIR_ADVICE, Lease, StoreFailed, StoreFull, number_of

log = logging.getLogger(__name__)

REQUEUED_TOGETHER = 256


class OpenLease(msgspec.Struct, eq=False):
    """A lease that has not ended."""

    lease: Lease
    pending: PendingUrl
    queue: Queue
    superseded: bool = False
    """Whether its URL has been admitted again. Then the ledger and the queue know only the newer admission."""
    for_prerequisite: bool = False
    """Whether its request is for the queue's prerequisite."""
    reserved: tuple[str, ...] = ()
    """The groups in which its request is reserved."""


class Leases:
    """The open leases, by the number of their URL."""

    def __init__(self, count_links: Callable[[str], int]) -> None:
        """`count_links` gives the links to a URL that its own record does not count."""
        self._count_links = count_links
        self._open: dict[int, OpenLease] = {}
        self.numbers = self._open.keys()
        """The numbers of their URLs."""

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[OpenLease]:
        return iter(self._open.values())

    def grant(self, pending: PendingUrl, queue: Queue, *, now: float) -> Lease:
        health = queue.record.health
        lease = Lease(
            url=pending.url,
            number=pending.number,
            error_streak=health.error_streak,
            pressure=health.pressure,
            answered=health.answered,
            dead=(health.trouble or "unknown") if health.probe_at > now else None,
            hit_count=pending.url.link_count + self._count_links(pending.url.canonical),
        )
        self._open[pending.number] = OpenLease(lease, pending, queue)
        return lease

    def get(self, lease: Lease) -> OpenLease:
        """Raises `IllegalTransition` if the lease is not open."""
        found = self._open.get(lease.number)
        # The URL may have been leased again since, to another worker.
        if found is None or found.lease is not lease:
            raise IllegalTransition(f"the lease of {lease.url.url} (number {lease.number}) is not out")
        return found

    def end(self, held: OpenLease) -> None:
        del self._open[held.lease.number]


class Leasing:
    """Takes the next lease."""

    def __init__(self, store: Store, active: ActiveQueues, leases: Leases, commit: Commit) -> None:
        self._store = store
        self._active = active
        self._leases = leases
        self._commit = commit

    async def wait_for_lease(self) -> Lease | None:
        """Wait for the next lease. Returns None when the crawl is complete or has been stopped."""
        active, waiters = self._active, self._active.waiters
        try:
            while True:
                if self._commit.failure is not None:
                    self._commit.raise_failure()
                if self._commit.stopped:
                    return None
                if active.pauses:
                    await waiters.wait()
                    continue
                try:
                    lease = self._next_lease()
                except StoreFull as error:
                    await self._commit.wait_for_space(error)
                    continue
                except BaseException as error:
                    self._commit.fail_on_error.handle(error)
                    raise
                if lease is not None:
                    if waiters.waiting:
                        active.wake(len(waiters.waiting))  # other queues may be ready too, or inactive
                    return lease
                if active.is_complete():
                    self._check_balance()
                    if self._store.part is None:
                        waiters.wake_all()
                        return None
                    await waiters.wait()  # a part is never complete by itself: others may have links for it
                elif active.inactive.best_precedence is not None:
                    await asyncio.sleep(0)  # all queues activated so far rest, but there are more
                else:
                    await waiters.wait()
        except BaseException:
            active.wake(1)  # a cancelled task may have been the only one that was about to look
            raise

    def _check_balance(self) -> None:
        """Raise `StoreFailed` if no queue has URLs, but the counters say otherwise."""
        counters = self._store.counters
        imbalance = counters.imbalance
        if imbalance is None and self._active.settings.serves_all and counters.pending > counters.quarantined:
            imbalance = f"{number_of(counters.pending, 'waiting URL')} in no queue that is served"
        if imbalance is not None:
            self._commit.fail(StoreFailed(f"the frontier is damaged: nothing waits, but {imbalance}; {REPAIR_ADVICE}"))
            self._commit.raise_failure()

    def _next_lease(self) -> Lease | None:
        """The next lease; None if no queue is ready."""
        active, now = self._active, self._active.now()
        if active.next_due_ms is not None and active.next_due_ms <= now * 1000:
            self._requeue_due(now)
        active.schedule.wake(now)
        active.refill(now)
        while (queue := active.schedule.lease()) is not None:
            try:
                pending = active.prefetch.take(queue.key, self._leases.numbers)
                if pending is not None:
                    return self._leases.grant(pending, queue, now=now)
                self._correct_size(queue, now)
            except StoreFull:
                schedule = active.schedule
                schedule.settle(queue, schedule.plan_end(queue, LeaseEnd(removes_url=False, asked=False), now=now))
                raise
        return None

    def _correct_size(self, queue: Queue, now: float) -> None:
        """Count one URL less in a queue that ends early, because a damaged record was quarantined."""
        active = self._active
        log.warning("queue %s has one URL less than counted: a damaged record was set aside", queue.key)
        counters = active.copy_counters(now)
        plan = active.schedule.plan_end(queue, LeaseEnd(removes_url=True, asked=False), now=now)
        update = plan_update(queue.record, plan.record, counters, active.settings.budgets)
        self._store.update_queues([update], counters)
        active.apply_end(queue, msgspec.structs.replace(plan, record=update.record), update)

    def _requeue_due(self, now: float) -> None:
        """Move postponed URLs whose time has come back into their queues, behind the URLs that wait there."""
        active = self._active
        due = self._store.reads.due(int(now * 1000), limit=REQUEUED_TOGETHER)
        queues = active.queues([postponed.pending.url.queue_key for postponed in due])
        counters = active.copy_counters(now)
        counters.retrying -= len(due)
        requeued = []
        for postponed in due:
            order = order_of(postponed.pending.url.precedence, counters.next_ordinal)
            counters.next_ordinal += 1
            pending = msgspec.structs.replace(postponed.pending, order=order)
            requeued.append(PostponedUrl(pending=pending, due_ms=postponed.due_ms))
        fills = plan_fill([postponed.pending for postponed in requeued], queues, counters, active.settings)
        self._store.requeue(requeued, [fill.update for fill in fills], counters)
        active.apply_fills(fills, now)
        active.next_due_ms = self._store.reads.next_due_ms()
