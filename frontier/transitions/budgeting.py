"""Serves and retires queues after a change of the budgets that all of them have."""

import asyncio
from functools import partial

from frontier.queues.budgets import is_retired
from frontier.store import Store
from frontier.transitions.active.active_queues import ActiveQueues
from frontier.transitions.commit import Commit
from frontier.transitions.operating import Operator
from frontier.values import Budgets

READ_AT_ONCE = 500


class Budgeting:
    """Each queue is one transition. After a crash in between, opening the frontier reconsiders the others."""

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
