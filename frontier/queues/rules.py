"""By what queues are served: what a user may set."""

from collections.abc import Callable

import msgspec

from frontier.queues.groups import Grouping
from frontier.queues.lifecycle import Budgets
from frontier.queues.schedule import READY_IN_MEMORY, SNOOZED_IN_MEMORY

ACTIVE_LEAST = 4096
"""So many queues are active if there are as many: a crawl of fewer hosts serves all of them in turn."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """By what queues are served."""

    per_queue: int = 1
    """Leases of one queue at most."""
    per_queue_of: Callable[[str], int] | None = None
    """By queue key, where queues differ; goes before `per_queue`."""
    budgets: Budgets = Budgets()
    precedence_floor: int = 256
    """Queues of this precedence or more are never served."""
    by_best_url: bool = False
    """Whether a queue has the precedence of its best URL; else all are equal."""
    active_least: int = ACTIVE_LEAST
    snoozed_in_memory: int = SNOOZED_IN_MEMORY
    """Queues that rest beyond these are put away."""
    ready_in_memory: int = READY_IN_MEMORY
    """Beyond these, queues that would wait for a group behind others are put away for a while."""
    grouping: Grouping = Grouping()
    """Which queues share a pace beside their own."""

    @property
    def serves_all(self) -> bool:
        """Whether each queue that is not retired is served once."""
        return self.precedence_floor > 255
