"""Whether a queue may still spend. Pure."""

from frontier.queues.queue import QueueRecord
from frontier.values import Budgets


def is_retired(record: QueueRecord, budgets: Budgets) -> bool:
    """Whether a queue is not served, because an operator retired it or it has spent its budget."""
    if record.retired:
        return True
    if record.budget is None and budgets.total is None and budgets.total_of is None:
        return False  # nearly always, and asked twice a page
    limit = budgets.limit(record.key, record.budget)
    return limit is not None and record.spent >= limit
