"""What an operator does to queues, which outlives a restart."""

import msgspec

from frontier.queues.lifecycle import IllegalTransition, Queue
from frontier.store import QueueRecord, Store
from frontier.transitions.accounting import (
    counted,
    is_served,
    mark,
    record_of,
)
from frontier.transitions.active_queues import OPERATOR, ActiveQueues


class Operating:
    """Plain transitions, each written as one whole."""

    def __init__(self, store: Store, serving: ActiveQueues) -> None:
        self._store = store
        self._serving = serving

    def hold(self, reason: str) -> None:
        self._store.set_held(reason)
        self._serving.hold(reason, by=OPERATOR)

    def release(self) -> None:
        if self._store.held is None:
            raise IllegalTransition("no operator holds the crawl")
        self._store.set_held(None)
        self._serving.let_go(by=OPERATOR)

    def skip_numbers(self, upto: int) -> bool:
        counters = self._serving.counting(self._serving.now())
        if upto < counters.next_number:
            return False
        counters.next_number = upto + 1
        self._store.rest([], counters)
        return True

    def forget_lost(self) -> None:
        counters = self._serving.counting(self._serving.now())
        counters.lost = 0
        self._store.rest([], counters)

    def retire(self, key: str) -> None:
        queue = self._serving.queue(key)
        if queue.retired:
            raise IllegalTransition(f"queue {key} is retired by an operator")
        self._change(queue, msgspec.structs.replace(record_of(queue), retired=True))

    def unretire(self, key: str) -> None:
        queue = self._serving.queue(key)
        if not queue.retired:
            raise IllegalTransition(f"queue {key} is not retired by an operator")
        self._change(queue, msgspec.structs.replace(record_of(queue), retired=False))

    def set_budget(self, key: str, budget: int | None) -> None:
        """A total budget of its own; with None, that of all again."""
        queue = self._serving.queue(key)
        self._change(queue, msgspec.structs.replace(record_of(queue), budget=budget))

    def _change(self, queue: Queue, changed: QueueRecord) -> None:
        key, now = queue.key, self._serving.now()
        counters = self._serving.counting(now)
        record = counted(queue, changed, counters, self._serving.rules.budgets)
        self._store.rest([record], counters)
        mark(queue, record)
        queue.retired = record.retired
        if self._serving.schedule.get(key) is queue:
            self._serving.schedule.reconsider(queue, now=now)
            if self._serving.schedule.get(key) is not queue:
                self._serving.heads.drop(key)
        if record.moved and record.stands is not None and self._serving.schedule.get(key) is not queue:
            self._serving.standby.came(record.stands)
        self._serving.waiters.wake_all()

    def reconsider(self, key: str) -> bool:
        queue = self._serving.queue(key)
        if queue.stands is not None or not is_served(queue, self._serving.rules.budgets):
            return False
        counters = self._serving.counting(self._serving.now())
        record = counted(queue, record_of(queue), counters, self._serving.rules.budgets)
        self._store.rest([record], counters)
        mark(queue, record)
        if record.stands is not None:
            self._serving.standby.came(record.stands)
        return True
