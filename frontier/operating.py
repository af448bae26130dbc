"""What an operator does to queues, which outlives a restart."""

from frontier.books import is_served, mark, recorded
from frontier.lifecycle import IllegalTransition
from frontier.serving import OPERATOR, Serving
from frontier.store import Store


class Operating:
    """Plain transitions, each written as one whole."""

    def __init__(self, store: Store, serving: Serving) -> None:
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

    def set(self, key: str, *, retired: bool | None = None, budget: int | None = None) -> None:
        queue = self._serving.queue(key)
        if retired is not None and queue.retired == retired:
            raise IllegalTransition(f"queue {key} is {'' if retired else 'not '}retired by an operator")
        now = self._serving.now()
        counters = self._serving.counting(now)
        record = recorded(queue, counters, self._serving.rules.budgets, retired=retired, budget=budget)
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
        record = recorded(queue, counters, self._serving.rules.budgets)
        self._store.rest([record], counters)
        mark(queue, record)
        if record.stands is not None:
            self._serving.standby.came(record.stands)
        return True
