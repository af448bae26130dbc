"""The queues that are being served: which are active, which become active next, and who waits for a lease.

The other transitions first write a change to the store, then apply it here. Only queues that turn out not to
be served when they are about to become active are written from here.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from frontier.parts.protocol import Reservations
from frontier.pauses import OPERATOR, Pauses
from frontier.queues.budgets import is_retired
from frontier.queues.lease_end import EndPlan
from frontier.queues.lifecycle import SNOOZED
from frontier.queues.queue import Queue, QueueRecord
from frontier.queues.schedule import Schedule
from frontier.queues.settings import QueueSettings
from frontier.records import Counters, QueueUpdate
from frontier.store import Store
from frontier.transitions.accounting import QueueFill, plan_update
from frontier.transitions.active.inactive import InactiveQueues
from frontier.transitions.active.prefetch import Prefetch
from frontier.transitions.active.revisits import Revisits
from frontier.transitions.active.waiters import Waiters
from frontier.values import Budgets, StoreFull

ACTIVATED_TOGETHER = 64
ACTIVATED_BEYOND_MIN = 8
"""Queues that are activated together when enough are active and none is ready."""
SPILL_S = 600.0
"""A queue that would wait for its group behind very many others is spilled for so long. Of a million queues on one
address, some 1,600 a second are then looked at again."""


class ActiveQueues:
    """The schedule of a store's queues, and what feeds it. `clock` gives seconds since 1970."""

    def __init__(self, store: Store, settings: QueueSettings, *, clock: Callable[[], float]) -> None:
        self._store = store
        self.settings = settings
        self.clock = clock
        # Stored times are by the clock of their day. If the clock has been set back since, ours goes on from the last
        # stored time, so that no wake time moves away and none comes early.
        self.ahead_s = ahead_s = store.counters.ahead_of(clock())
        self.now: Callable[[], float] = (lambda: clock() + ahead_s) if ahead_s else clock
        self.schedule = Schedule(
            per_queue=settings.per_queue_of or settings.per_queue,
            budgets=settings.budgets,
            snoozed_in_memory=settings.snoozed_in_memory,
            ready_in_memory=settings.ready_in_memory,
            grouping=settings.grouping,
            group_wake_at=self._group_wake_at,
            host_wake_at=self._host_wake_at,
        )
        self.inactive = InactiveQueues(store, floor=settings.precedence_floor)
        self.prefetch = Prefetch(store.reads)
        self.waiters = Waiters(now=self.now, deadline=self.deadline, wake_due=self._wake_due)
        self.pauses = Pauses(on_end=self.waiters.wake_all)
        if store.marks.paused is not None:
            self.pauses.pause(store.marks.paused, by=OPERATOR)
        self.next_due_ms = store.reads.next_due_ms()
        """When the first postponed URL comes due."""
        self.revisits = Revisits(store.reads.next_revisit_ms(), has_plan=store.marks.revisits_planned)
        self._crashed_at: float | None = None
        """When the crawl was resumed after its last crash, if there was one."""
        self._rest_after_crash_s = 0.0
        self.reservations: Reservations | None = None
        """What other parts of the crawl allow; None if it has no parts."""

    def reserve(self, reservations: Reservations) -> None:
        """From now on, begin requests of shared groups only as these allow."""
        self.reservations = reservations
        self.schedule.groups.on_drop = lambda group: reservations.leave(group, now=self.now())
        reservations.watch(self)

    def open_group(self, group: str) -> None:
        """Other parts of the crawl may allow a request of the group now."""
        self.schedule.open_group(group)
        self.wake_for_groups()

    def copy_counters(self, now: float) -> Counters:
        """A copy of the counters, to be changed and written with a transition."""
        counters = self._store.counters
        return msgspec.structs.replace(counters, clock=max(counters.clock, now), ahead_s=self.ahead_s)

    def rest_after_crash(self, crashed_at: float, *, rest_s: float) -> None:
        """Let each queue rest from `crashed_at` as after its last good answer, and at least for `rest_s`: we cannot
        know which servers had just been asked."""
        self._crashed_at, self._rest_after_crash_s = min(crashed_at, self.now()), rest_s

    def _group_wake_at(self, group: str) -> float:
        until = self._store.reads.group_wake_at(group)
        if self._crashed_at is None:
            return until
        limit = self.settings.grouping.limit_of(group)
        return max(until, self._crashed_at + limit.rest_after_s(self._rest_after_crash_s))

    def _host_wake_at(self, host: str) -> float:
        """When the rest of a host ends, according to its own queue. If that queue is in trouble, perhaps only its port
        is; then the stored rest of the host's group counts alone."""
        record = self.queue(host).record
        until = 0.0 if record.health.error_streak else record.wake_at
        return until if self._crashed_at is None else max(until, self._crashed_at + record.pace_s)

    def set_budgets(self, budgets: Budgets) -> None:
        """From now on these hold for all queues. It serves and retires none by itself."""
        self.settings = msgspec.structs.replace(self.settings, budgets=budgets)
        self.schedule.budgets = budgets

    # queues

    def queues(self, keys: Iterable[str]) -> dict[str, Queue | None]:
        """The queues of these keys, active or stored; None for those of which nothing is stored."""
        found = {key: self.schedule.get(key) for key in dict.fromkeys(keys)}
        if missing := [key for key, queue in found.items() if queue is None]:
            for key, record in self._store.reads.queues_of(missing).items():
                found[key] = Queue(record)
        return found

    def queue(self, key: str) -> Queue:
        """The queue of that key: active, stored, or new."""
        active = self.schedule.get(key)
        if active is not None:
            return active
        return Queue(self._store.reads.queue(key) or QueueRecord(key=key))

    def apply_fills(self, fills: Sequence[QueueFill], now: float) -> None:
        """URLs have been written into queues."""
        schedule, prefetch, inactive = self.schedule, self.prefetch, self.inactive
        for fill in fills:
            queue, urls, after = fill.queue, fill.urls, fill.update.record
            if queue is None:
                # Most queues of a broad crawl wait in the store after this, and need no object here.
                if after.position is not None and not self._may_activate(after):
                    inactive.add(after.position)
                    continue
                queue = Queue(QueueRecord(key=after.key))
            before = queue.record
            if schedule.get(queue.key) is queue:
                prefetch.put(queue.key, urls)
                if urls:
                    schedule.fill(queue, len(urls), record=after, now=now)
                else:
                    queue.record = msgspec.structs.replace(after, size=before.size)
                if queue.record.precedence < before.precedence:
                    schedule.promote(queue)
                continue
            queue.record, position = after, fill.update.new_position
            if position is None:
                continue
            if before.size == 0 and self._may_activate(after):
                prefetch.begin(queue.key, queue.record.drained_to, complete=True)
                prefetch.put(queue.key, urls)
                schedule.activate(queue, now=now)
                inactive.skip(position)
            else:
                inactive.add(position)

    def _may_activate(self, record: QueueRecord) -> bool:
        """Whether a new queue can become active at once, because no other waits."""
        return (
            self.inactive.best_precedence is None
            and len(self.schedule) < self.settings.min_active
            and record.precedence < self.settings.precedence_floor
        )

    def apply_end(self, queue: Queue, plan: EndPlan, update: QueueUpdate) -> None:
        """The end of a lease has been written."""
        self.schedule.settle(queue, plan)
        if self.schedule.get(queue.key) is not queue:
            self.prefetch.drop(queue.key)
            if update.new_position is not None:
                self.inactive.add(update.new_position)
        if not self.waiters.waiting:
            return
        # A part whose URLs are all settled waits for links of others: nobody need look.
        if self._store.part is None and self.is_complete():
            self.waiters.wake_all()
        else:
            # The queue may be ready, and each of its groups may have let another queue in.
            self.wake(3)

    def wake(self, count: int) -> None:
        """Wake tasks, as up to `count` queues may have become ready or inactive."""
        self.waiters.wake(min(self.schedule.leasable_count, count) or int(self.inactive.best_precedence is not None))

    def wake_for_groups(self) -> None:
        """Wake tasks, as the group that a queue has left, and one that has opened, may each have let a queue in."""
        self.waiters.wake(min(self.schedule.leasable_count, 2))

    # activation

    def refill(self, now: float) -> None:
        """Activate queues until enough are active, some are ready, and no queue waits that should go before those."""
        inactive = self.inactive
        if inactive.best_precedence is None and inactive.next_wake_ms is None:
            return  # nothing waits in the store, as in a crawl of few hosts
        schedule, min_active = self.schedule, self.settings.min_active
        while inactive.next_wake_ms is not None and (keys := inactive.take_due(int(now * 1000), ACTIVATED_TOGETHER)):
            self._activate(keys, now)
        for _ in range(1 + min_active // ACTIVATED_TOGETHER):
            if inactive.best_precedence is None:
                return
            missing = min_active - len(schedule)
            # Each activation costs a seek, however few queues it takes. So while there is work, wait until many are
            # missing.
            if missing < min(ACTIVATED_TOGETHER, min_active):
                ready = schedule.best_precedence()
                if ready is not None and inactive.best_precedence >= ready:
                    return
            limit = min(missing, ACTIVATED_TOGETHER) if missing > 0 else ACTIVATED_BEYOND_MIN
            self._activate(inactive.take_best(limit), now)

    def _activate(self, keys: Sequence[str], now: float) -> None:
        """Activate stored queues. Queues that are not to be served now are written to another position instead."""
        found = self._store.reads.queues_of([key for key in keys if self.schedule.get(key) is None])
        detours: list[tuple[QueueRecord, QueueRecord]] = []
        activated: dict[str, int] = {}
        for record in found.values():
            if not record.size:
                continue
            queue = Queue(self._rest_record_after_crash(record))
            after = self._detour(queue, now)
            if after is not None:
                detours.append((queue.record, after))
            else:
                self.prefetch.begin(queue.key, record.drained_to)
                self.schedule.activate(queue, now=now)
                activated[queue.key] = record.size
        if detours:
            self._write_detours(detours, now)
        if activated:
            self.prefetch.preload(activated)

    def _rest_record_after_crash(self, record: QueueRecord) -> QueueRecord:
        if self._crashed_at is None:
            return record
        rest_s = max(record.pace_s, self._rest_after_crash_s)
        return msgspec.structs.replace(record, wake_at=max(record.wake_at, self._crashed_at + rest_s))

    def _detour(self, queue: Queue, now: float) -> QueueRecord | None:
        """The record of a queue that can't be active now: it is retired, or memory is full. None if it can."""
        record = queue.record
        if is_retired(record, self.settings.budgets):
            return record
        if self.schedule.must_spill(queue):
            return msgspec.structs.replace(record, wake_at=max(record.wake_at, now + SPILL_S))
        return record if record.wake_at > now and self.schedule.is_snoozed_full() else None

    def _write_detours(self, detours: Iterable[tuple[QueueRecord, QueueRecord]], now: float) -> None:
        # The counters are copied only now: activating other queues may have set damaged records aside.
        counters, budgets = self.copy_counters(now), self.settings.budgets
        updates = [
            plan_update(before, after, counters, budgets, send_to=SNOOZED)  # a retired queue has no position
            for before, after in detours
        ]
        try:
            self._store.update_queues(updates, counters)
        except StoreFull:
            self.inactive.restart()
            raise
        for update in updates:
            if update.record.position is not None:
                self.inactive.add(update.record.position)

    # time

    def is_complete(self) -> bool:
        """Whether no URL waits in a queue that is served, and the crawl does not wait for visits either."""
        return (
            len(self.schedule) == 0
            and self.next_due_ms is None
            and self.inactive.best_precedence is None
            and self.inactive.next_wake_ms is None
            and not self.revisits.keeps_crawl_going(self.now())
        )

    def deadline(self, *, idle_groups: bool = True) -> float | None:
        """When a queue or a group wakes next, or a postponed URL comes due; None if nothing does. Without
        `idle_groups`, groups do not count while they hold no queue back."""
        if self.pauses:
            return None
        queue = self.schedule.next_wake()
        times_ms = (self.next_due_ms, self.inactive.next_wake_ms)
        times = [at_ms / 1000 for at_ms in times_ms if at_ms is not None]
        if queue is not None:
            times.append(queue.record.wake_at)
        group_wake = self.schedule.groups.next_wake()
        if group_wake is not None and (idle_groups or self.schedule.held_back_count):
            times.append(group_wake[0])
        return min(times, default=None)

    def _wake_due(self) -> int:
        now = self.now()
        self.schedule.wake(now)
        due = 0
        for at_ms in (self.next_due_ms, self.inactive.next_wake_ms):
            due += at_ms is not None and at_ms <= now * 1000
        return self.schedule.leasable_count + due
