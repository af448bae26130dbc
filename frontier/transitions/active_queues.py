"""The queues as they are served: which are active, which of them come next, and who waits for a turn.

A transition is told here after it was written. Written from here are only queues that are sent elsewhere when their
turn to be active comes.
"""

import logging
from collections.abc import Callable, Iterable, Sequence

import msgspec

from frontier.queues.lifecycle import SNOOZED, Queue
from frontier.queues.rules import Rules
from frontier.queues.schedule import Ending, Schedule
from frontier.store import Counters, QueueRecord, Store, Waiting
from frontier.transitions.accounting import (
    counted,
    is_served,
    mark,
    queue_of,
    record_of,
)
from frontier.transitions.inactive import InactiveQueues
from frontier.transitions.prefetch import Prefetch
from frontier.transitions.waiters import Waiters
from frontier.values import StoreFull

log = logging.getLogger(__name__)

OPERATOR = "operator"
"""Whose hold outlives a restart."""
ACTIVATE_AT_ONCE = 64
ACTIVATE_BEYOND = 8
"""Where enough are active, and none is ready."""
PUT_AWAY_S = 600.0
"""How long a queue is put away that would wait for its group while very many do. Of a million on one address, so some
1,600 a second are looked at again."""


class ActiveQueues:
    """Schedule, lines and heads of a store's queues. `clock` tells seconds since 1970."""

    def __init__(self, store: Store, rules: Rules, *, clock: Callable[[], float]) -> None:
        self._store = store
        self.rules = rules
        self.clock = clock
        # What is stored is by the clock of that time. Where the clock has been set back since, ours goes on from there:
        # no wake time moves away, and none comes early.
        self._ahead_s = max(0.0, store.counters.clock - clock())
        self.schedule = Schedule(
            per_queue=rules.per_queue_of or rules.per_queue,
            budgets=rules.budgets,
            snoozed_in_memory=rules.snoozed_in_memory,
            ready_in_memory=rules.ready_in_memory,
            grouping=rules.grouping,
            rested_until=self._rested_until,
            host_rested_until=self._host_rested_until,
        )
        self.standby = InactiveQueues(store, floor=rules.precedence_floor)
        self.heads = Prefetch(
            lambda key, after, limit: store.waiting(key, after=after, limit=limit),
            lambda places, limit: store.waiting_of_each(places, limit=limit),
        )
        self.waiters = Waiters(now=self.now, deadline=self.deadline, due=self._wake_due)
        self.next_due_ms = store.next_due_ms()
        """When the first of the postponed URLs comes due."""
        self._holds: dict[str, str] = {} if store.held is None else {OPERATOR: store.held}
        self._crashed_at: float | None = None
        """When the crawl was taken up after its last crash, if there was one."""
        self._rest_after_crash_s = 0.0

    def now(self) -> float:
        return self.clock() + self._ahead_s

    def counting(self, now: float) -> Counters:
        """The counters, to be changed and handed to the transition that makes them true."""
        counters = self._store.counters
        return msgspec.structs.replace(counters, clock=max(counters.clock, now))

    def crashed(self, at: float, *, rest_s: float) -> None:
        """Nobody knows which servers were being asked before: each queue rests from then on as after its last good
        answer, and for `rest_s` at least."""
        self._crashed_at, self._rest_after_crash_s = min(at, self.now()), rest_s

    def _rested_until(self, group: str) -> float:
        until = self._store.rested_until(group)
        if self._crashed_at is None:
            return until
        limit = self.rules.grouping.limit(group)
        return max(until, self._crashed_at + limit.rest_after_s(self._rest_after_crash_s))

    def _host_rested_until(self, host: str) -> float:
        """Where a host's own queue is in trouble, that may be its port's alone; its group has been told how long the
        host rests."""
        queue = self.queue(host)
        until = 0.0 if queue.health.error_streak else queue.wake_at
        return until if self._crashed_at is None else max(until, self._crashed_at + queue.pace_s)

    # queues

    def queues(self, keys: Iterable[str]) -> dict[str, Queue]:
        return {key: self.queue(key) for key in dict.fromkeys(keys)}

    def queue(self, key: str) -> Queue:
        known = self.schedule.get(key)
        if known is not None:
            return known
        record = self._store.queue(key)
        return Queue(key) if record is None else queue_of(record)

    def filled(self, filled: Sequence[tuple[Queue, list[Waiting]]], records: Sequence[QueueRecord], now: float) -> None:
        """URLs have been written into queues: as `books.filling` has it."""
        schedule, heads = self.schedule, self.heads
        for (queue, come), record in zip(filled, records, strict=True):
            was_empty = queue.size == 0
            moved = record.stands if record.moved else None
            improved = record.precedence < queue.precedence
            mark(queue, record)
            if schedule.get(queue.key) is queue:
                heads.put(queue.key, come)
                if come:
                    schedule.fill(queue, len(come), now=now)
                if improved:
                    schedule.improve(queue)
                continue
            queue.size = record.size
            if moved is None:
                continue
            if was_empty and self._has_room_for(queue):
                heads.begin(queue.key, queue.head, complete=True)
                heads.put(queue.key, come)
                schedule.activate(queue, now=now)
                self.standby.passed(moved)
            else:
                self.standby.came(moved)

    def _has_room_for(self, queue: Queue) -> bool:
        """Whether a queue can be activated at once, as no other waits."""
        rules = self.rules
        return (
            self.standby.best is None
            and len(self.schedule) < rules.active_least
            and queue.precedence < rules.precedence_floor
        )

    def end(self, queue: Queue, record: QueueRecord, end: Ending) -> None:
        """The end of a lease has been written."""
        queue.precedence = record.precedence  # by which it stands in line from now on
        self.schedule.settle(queue, end)
        mark(queue, record)
        if self.schedule.get(queue.key) is not queue:
            self.heads.drop(queue.key)
            if record.moved and record.stands is not None:
                self.standby.came(record.stands)
        if not self.waiters.line:
            return
        if self.is_complete():
            self.waiters.wake_all()
        else:
            # The queue may be ready, and each of its groups may have let one in.
            self.waiters.wake(min(self.schedule.turns, 3) or int(self.standby.best is not None))

    # queues get their place

    def refill(self, now: float) -> None:
        """Activate queues until enough are active, some are ready and none waits that would go before those."""
        schedule, standby = self.schedule, self.standby
        while standby.next_wake_ms is not None and (keys := standby.woken(int(now * 1000), ACTIVATE_AT_ONCE)):
            self._activate(keys, now)
        for _ in range(1 + self.rules.active_least // ACTIVATE_AT_ONCE):
            if standby.best is None:
                return
            missing = self.rules.active_least - len(schedule)
            # A few at a time cost a seek each; so while there is work, many are let come together.
            if missing < min(ACTIVATE_AT_ONCE, self.rules.active_least):
                ready = schedule.best_ready()
                if ready is not None and standby.best >= ready:
                    return
            at_once = min(missing, ACTIVATE_AT_ONCE) if missing > 0 else ACTIVATE_BEYOND
            self._activate(standby.waiting(at_once), now)

    def _activate(self, keys: Sequence[str], now: float) -> None:
        """Those that are not to be served, or wait for what many wait for, are sent where they belong."""
        found = [self._store.queue(key) for key in keys if self.schedule.get(key) is None]
        budgets, counters = self.rules.budgets, self.counting(now)
        sent: list[QueueRecord] = []
        begun: list[str] = []
        for record in found:
            if record is None or not record.size:
                continue
            queue = queue_of(record)
            if self._crashed_at is not None:
                rest_s = max(queue.pace_s, self._rest_after_crash_s)
                queue.wake_at = max(queue.wake_at, self._crashed_at + rest_s)
            if not is_served(queue, budgets):
                sent.append(counted(queue, record_of(queue), counters, budgets))
            elif self.schedule.has_no_room_for(queue):
                queue.wake_at = max(queue.wake_at, now + PUT_AWAY_S)
                sent.append(counted(queue, record_of(queue), counters, budgets, to=SNOOZED))
            elif queue.wake_at > now and self.schedule.is_full_of_snoozed():
                sent.append(counted(queue, record_of(queue), counters, budgets, to=SNOOZED))
            else:
                self.heads.begin(queue.key, queue.head)
                self.schedule.activate(queue, now=now)
                begun.append(queue.key)
        if sent:
            try:
                self._store.rest(sent, counters)
            except StoreFull:
                self.standby.read_again()
                raise
            for each in sent:
                if each.stands is not None:
                    self.standby.came(each.stands)
        if begun:
            self.heads.look_ahead(begun)

    # when

    def is_complete(self) -> bool:
        return (
            len(self.schedule) == 0
            and self.next_due_ms is None
            and self.standby.best is None
            and self.standby.next_wake_ms is None
        )

    def deadline(self) -> float | None:
        if self._holds:
            return None
        queue = self.schedule.next_wake()
        times_ms = (self.next_due_ms, self.standby.next_wake_ms)
        times = [at_ms / 1000 for at_ms in times_ms if at_ms is not None]
        if queue is not None:
            times.append(queue.wake_at)
        opening = self.schedule.next_opening()
        if opening is not None:
            times.append(opening[0])
        return min(times, default=None)

    def _wake_due(self) -> int:
        now = self.now()
        self.schedule.wake(now)
        due = 0
        for at_ms in (self.next_due_ms, self.standby.next_wake_ms):
            due += at_ms is not None and at_ms <= now * 1000
        return self.schedule.turns + due

    # holds

    @property
    def is_held(self) -> bool:
        return bool(self._holds)

    @property
    def held(self) -> str | None:
        """Why nothing is leased; None while it may be."""
        return "; ".join(self._holds.values()) or None

    def hold(self, reason: str, /, *, by: str) -> None:
        if by not in self._holds:
            log.info("held by %s: %s", by, reason)
        self._holds[by] = reason

    def let_go(self, *, by: str) -> None:
        if (reason := self._holds.pop(by, None)) is not None:
            log.info("no longer held by %s: %s", by, reason)
        if not self._holds:
            self.waiters.wake_all()
