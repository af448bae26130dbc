"""What the end of a lease does to its queue. Pure."""

import msgspec

from frontier.queues.lifecycle import QueueState
from frontier.queues.queue import QueueRecord


class LeaseEnd(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The changes, as `Schedule.plan_end` computes them and `Schedule.settle` makes them."""

    record: QueueRecord
    """The queue afterwards."""
    state: QueueState
    spills: bool
    """Whether a queue that is snoozed leaves memory, because too many are."""
    cost: int
    group_cooldown_s: float
    """The rest of those groups that share the queue's cooldown."""
    asked: bool
    """Whether a server was asked; if so, the queue's groups rest too."""
    ends_prerequisite: bool
    """Whether the queue's prerequisite was asked for."""
    now: float
