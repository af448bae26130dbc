"""Leases go out: of the queue whose turn it is, the first URL that is not leased."""

import logging

import msgspec

from frontier.store import Postponed, Store, order_of
from frontier.transitions.accounting import counted, filling, record_of
from frontier.transitions.active_queues import ActiveQueues
from frontier.transitions.leases import Leases
from frontier.values import Lease, StoreFull

log = logging.getLogger(__name__)

REQUEUE_BATCH = 256


class Leasing:
    """Takes the next lease."""

    def __init__(self, store: Store, serving: ActiveQueues, leases: Leases) -> None:
        self._store = store
        self._serving = serving
        self._leases = leases

    def next_lease(self) -> Lease | None:
        now = self._serving.now()
        if self._serving.next_due_ms is not None and self._serving.next_due_ms <= now * 1000:
            self._requeue_due(now)
        self._serving.schedule.wake(now)
        self._serving.refill(now)
        while (queue := self._serving.schedule.lease()) is not None:
            try:
                waiting = self._serving.heads.take(queue.key, self._leases)
                if waiting is not None:
                    return self._leases.give(waiting, queue, now=now)
                log.warning("queue %s holds one URL less than was counted: a damaged record was set aside", queue.key)
                counters = self._serving.counting(now)
                changed = msgspec.structs.replace(record_of(queue), size=queue.size - 1)
                record = counted(queue, changed, counters, self._serving.rules.budgets)
                self._store.rest([record], counters)
            except StoreFull:
                schedule = self._serving.schedule
                schedule.settle(queue, schedule.ending(queue, gone=False, cooldown_s=0.0, now=now, asked=False))
                raise
            end = self._serving.schedule.ending(queue, gone=True, cooldown_s=0.0, now=now, asked=False)
            self._serving.end(queue, record, end)
        return None

    def _requeue_due(self, now: float) -> None:
        due = self._store.due(int(now * 1000), limit=REQUEUE_BATCH)
        queues = self._serving.queues([postponed.waiting.url.queue_key for postponed in due])
        counters = self._serving.counting(now)
        counters.retrying -= len(due)
        moved = []
        for postponed in due:
            order = order_of(postponed.waiting.url.precedence, counters.next_ordinal)
            counters.next_ordinal += 1
            waiting = msgspec.structs.replace(postponed.waiting, order=order)
            moved.append(Postponed(waiting=waiting, due_ms=postponed.due_ms))
        filled, records = filling([postponed.waiting for postponed in moved], queues, counters, self._serving.rules)
        self._store.requeue(moved, records, counters)
        self._serving.filled(filled, records, now)
        self._serving.next_due_ms = self._store.next_due_ms()
