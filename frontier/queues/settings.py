"""What a user may set about serving queues."""

from collections.abc import Callable

import msgspec

from frontier.queues.grouping import Grouping
from frontier.queues.schedule import READY_IN_MEMORY, SNOOZED_IN_MEMORY
from frontier.values import Budgets

MIN_ACTIVE = 4096
"""A crawl of fewer hosts serves all of them in turn."""


class QueueSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on serving queues."""

    per_queue: int = 1
    """The most leases of one queue at once."""
    per_queue_of: Callable[[str], int] | None = None
    """The same by queue key, where queues differ; it overrides `per_queue`."""
    budgets: Budgets = Budgets()
    precedence_floor: int = 256
    """Queues of this precedence or a higher number are never served."""
    by_best_url: bool = False
    """Whether a queue takes the precedence of its best URL; otherwise all queues are equal."""
    min_active: int = MIN_ACTIVE
    """Keep at least this many queues active, if there are as many."""
    snoozed_in_memory: int = SNOOZED_IN_MEMORY
    """When this many queues rest, further ones are spilled to the store."""
    ready_in_memory: int = READY_IN_MEMORY
    """When this many queues are ready, a queue that would wait for a group behind others is spilled for a while."""
    grouping: Grouping = Grouping()
    """Which queues share a pace."""

    @property
    def serves_all(self) -> bool:
        """Whether every queue that is not retired gets served."""
        return self.precedence_floor > 255
