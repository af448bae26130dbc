"""What an operator does. It survives a restart."""

import msgspec

from frontier.queues.budgets import is_retired
from frontier.queues.lifecycle import IllegalTransition
from frontier.queues.queue import Queue, QueueRecord
from frontier.store import Store
from frontier.transitions.accounting import plan_update
from frontier.transitions.active_queues import ActiveQueues
from frontier.transitions.holds import OPERATOR


class Operator:
    """Each method is one transition, without await. A call that makes no sense raises `IllegalTransition`."""

    def __init__(self, store: Store, active: ActiveQueues) -> None:
        self._store = store
        self._active = active

    def hold(self, reason: str) -> None:
        """Lease nothing until `release`. Open leases can still be settled."""
        self._store.marks.set_held(reason)
        self._active.holds.hold(reason, by=OPERATOR)

    def release(self) -> None:
        """End the hold. Raises `IllegalTransition` if there is none."""
        if self._store.marks.held is None:
            raise IllegalTransition("no operator holds the crawl")
        self._store.marks.set_held(None)
        self._active.holds.release(by=OPERATOR)

    def skip_numbers(self, upto: int) -> bool:
        """Give no URL a number up to this. Returns whether any such number was left."""
        counters = self._active.copy_counters(self._active.now())
        if upto < counters.next_number:
            return False
        counters.next_number = upto + 1
        self._store.update_queues([], counters)
        return True

    def forget_lost(self) -> None:
        """Stop counting the URLs that damage has destroyed: all pages that link to them will be fetched again."""
        counters = self._active.copy_counters(self._active.now())
        counters.lost = 0
        self._store.update_queues([], counters)

    def retire(self, key: str) -> None:
        """Serve a queue no more. Its open leases can still be settled, and new URLs for it are kept."""
        queue = self._active.queue(key)
        if queue.record.retired:
            raise IllegalTransition(f"queue {key} is retired by an operator")
        self._change(queue, msgspec.structs.replace(queue.record, retired=True))

    def unretire(self, key: str) -> None:
        """Serve a queue again that an operator has retired."""
        queue = self._active.queue(key)
        if not queue.record.retired:
            raise IllegalTransition(f"queue {key} is not retired by an operator")
        self._change(queue, msgspec.structs.replace(queue.record, retired=False))

    def set_budget(self, key: str, budget: int | None) -> None:
        """Give a queue its own total budget; with None, the general one applies again. The queue is retired if it has
        spent its budget, and served again if not."""
        if budget is not None and budget < 0:
            raise IllegalTransition(f"a budget is at least 0, got {budget}")
        queue = self._active.queue(key)
        self._change(queue, msgspec.structs.replace(queue.record, budget=budget))

    def _change(self, queue: Queue, after: QueueRecord) -> None:
        active, now = self._active, self._active.now()
        counters = active.copy_counters(now)
        update = plan_update(queue.record, after, counters, active.settings.budgets)
        self._store.update_queues([update], counters)
        queue.record = update.record
        is_active = active.schedule.get(queue.key) is queue
        if is_active:
            active.schedule.reconsider(queue, now=now)
            is_active = active.schedule.get(queue.key) is queue
            if not is_active:
                active.prefetch.drop(queue.key)
        if update.new_position is not None and not is_active:
            active.inactive.add(update.new_position)
        active.waiters.wake_all()

    def reconsider(self, key: str) -> bool:
        """Serve a queue again whose budget now allows it. Returns whether it did not before."""
        active, queue = self._active, self._active.queue(key)
        record = queue.record
        if record.position is not None or not record.size or is_retired(record, active.settings.budgets):
            return False
        counters = active.copy_counters(active.now())
        update = plan_update(record, record, counters, active.settings.budgets)
        self._store.update_queues([update], counters)
        queue.record = update.record
        if update.record.position is not None:
            active.inactive.add(update.record.position)
        return True
