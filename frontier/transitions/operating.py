"""What an operator does. It survives a restart, but for a change of the budgets that all queues have."""

import asyncio
from functools import partial

import msgspec

from frontier.pauses import OPERATOR
from frontier.queues.budgets import is_retired
from frontier.queues.lifecycle import IllegalTransition
from frontier.queues.queue import Queue, QueueRecord
from frontier.records import number_after
from frontier.store import Store
from frontier.transitions.accounting import plan_update
from frontier.transitions.active.active_queues import ActiveQueues
from frontier.transitions.commit import Commit
from frontier.values import Budgets

READ_AT_ONCE = 500


class Operator:
    """Each method is one transition, without await. For what they promise, see `frontier.protocol.serving`. A call that
    makes no sense raises `IllegalTransition`."""

    def __init__(self, store: Store, active: ActiveQueues) -> None:
        self._store = store
        self._active = active

    def pause(self, reason: str) -> None:
        self._store.marks.set_paused(reason)
        self._active.pauses.pause(reason, by=OPERATOR)

    def resume(self) -> None:
        if self._store.marks.paused is None:
            raise IllegalTransition("no operator has paused the crawl")
        self._store.marks.set_paused(None)
        self._active.pauses.resume(by=OPERATOR)

    def keep_clock(self) -> None:
        """Store how far the frontier's clock is ahead of the system's, so that its time goes on until the next run."""
        counters = self._active.copy_counters(self._active.now())
        if counters.ahead_s != self._store.counters.ahead_s:
            self._store.update_queues([], counters)

    def skip_numbers(self, upto: int) -> bool:
        counters = self._active.copy_counters(self._active.now())
        following = number_after(counters.next_number, upto)
        if following == counters.next_number:
            return False
        counters.next_number = following
        self._store.update_queues([], counters)
        return True

    def set_lost(self, count: int) -> None:
        counters = self._active.copy_counters(self._active.now())
        counters.lost = count
        self._store.update_queues([], counters)

    def retire(self, key: str) -> None:
        queue = self._active.queue(key)
        if queue.record.retired:
            raise IllegalTransition(f"queue {key} is retired by an operator")
        self._change(queue, msgspec.structs.replace(queue.record, retired=True))

    def unretire(self, key: str) -> None:
        queue = self._active.queue(key)
        if not queue.record.retired:
            raise IllegalTransition(f"queue {key} is not retired by an operator")
        self._change(queue, msgspec.structs.replace(queue.record, retired=False))

    def set_budget(self, key: str, budget: int | None) -> None:
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

    def reconsider_active(self, key: str) -> None:
        """Serve an active queue no more if it has spent its budget."""
        queue = self._active.schedule.get(key)
        if queue is not None:
            self._change(queue, queue.record)

    def reconsider(self, key: str) -> None:
        """Serve a queue again whose budget did not allow it, and now does."""
        queue = self._active.queue(key)
        record = queue.record
        if record.position is None and record.size and not is_retired(record, self._active.settings.budgets):
            self._change(queue, record)


class Budgeting:
    """Serves and retires queues after a change of the budgets that all of them have. Each queue is one transition.
    After a crash in between, opening the frontier reconsiders the others."""

    def __init__(self, store: Store, active: ActiveQueues, operator: Operator, commit: Commit) -> None:
        self._store = store
        self._active = active
        self._operator = operator
        self._commit = commit

    async def set_budgets(self, budgets: Budgets, /) -> None:
        """Active queues that have spent these budgets are retired now, others when their turn comes."""
        active = self._active
        active.set_budgets(budgets)
        over = [queue.key for queue in active.schedule if is_retired(queue.record, budgets)]
        for key in over:
            await self._commit.run(partial(self._operator.reconsider_active, key))
        if self._store.counters.retired_queues:
            await self.reconsider()
        else:
            await self._commit.sync()

    async def reconsider(self) -> None:
        """Serve the queues again whose budgets now allow it. Reads every queue."""
        keys: list[str] = []
        for number, record in enumerate(self._store.reads.queues()):
            if record.size and record.position is None:
                keys.append(record.key)
            if number % READ_AT_ONCE == READ_AT_ONCE - 1:
                await asyncio.sleep(0)
        for key in keys:
            await self._commit.run(partial(self._operator.reconsider, key))
        await self._commit.sync()
