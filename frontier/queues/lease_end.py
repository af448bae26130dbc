"""How a lease ends, and what that does to its queue. Pure."""

import msgspec

from frontier.queues.lifecycle import QueueState
from frontier.queues.queue import QueueRecord


class LeaseEnd(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a lease ends."""

    removes_url: bool
    """Whether its URL leaves the queue."""
    cooldown_s: float = 0.0
    """The rest of the queue."""
    group_cooldown_s: float | None = None
    """The rest of those groups that share the queue's cooldown; None means the same."""
    cost: int = 0
    """What it takes from the queue's budgets."""
    asked: bool = True
    """Whether a server was asked; if so, the queue's groups rest too."""
    ends_prerequisite: bool = False
    """Whether the request was the queue's prerequisite."""

    @property
    def group_rest_s(self) -> float:
        return self.cooldown_s if self.group_cooldown_s is None else self.group_cooldown_s


class EndPlan(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the end of a lease changes: `Schedule.plan_end` computes it, `Schedule.settle` carries it out."""

    end: LeaseEnd
    record: QueueRecord
    """The queue afterwards."""
    state: QueueState
    spills: bool
    """Whether a queue that is snoozed leaves memory, because too many are."""
    now: float
