"""What a queue may spend. Pure."""

from collections.abc import Callable

import msgspec

from frontier.queues.queue import QueueRecord


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on what a queue spends. A fetch costs what its URL says; a failure of the server adds `error_penalty`."""

    session: int | None = 1000
    """What a queue may spend in one go while others wait; None for no limit."""
    total: int | None = None
    """What a queue may spend in all, unless it has its own budget; None for no limit."""
    total_of: Callable[[str], int | None] | None = None
    """The total by queue key, where queues differ; it overrides `total`."""
    error_penalty: int = 0

    def limit(self, key: str, own: int | None, /) -> int | None:
        """What a queue with the budget `own` may spend in all; None for no limit."""
        if own is not None:
            return own
        return self.total if self.total_of is None else self.total_of(key)


def is_retired(record: QueueRecord, budgets: Budgets) -> bool:
    """Whether a queue is not served, because an operator retired it or it has spent its budget."""
    if record.retired:
        return True
    limit = budgets.limit(record.key, record.budget)
    return limit is not None and record.spent >= limit
