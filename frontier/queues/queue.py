"""A queue: the record that survives a restart, and what is known of it while it is active."""

from typing import Final

import msgspec

from frontier.queues.health import HEALTHY
from frontier.queues.lifecycle import EXHAUSTED, RETIRED, QueueState
from frontier.values import Health

NEUTRAL_PRECEDENCE: Final = 128
"""The precedence of all queues, unless they take that of their best URL."""


class Position(msgspec.Struct, frozen=True, gc=False):
    """The position of a queue in one of the store's two orders. An active queue keeps the position it came from."""

    state: QueueState
    """INACTIVE or SNOOZED: which order."""
    rank: int
    """The precedence of an inactive queue; the wake time of a snoozed one, in milliseconds since 1970."""
    turn: int
    """Orders queues of equal rank: first come, first served."""


class QueueRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the store keeps of a queue."""

    key: str
    size: int = 0
    """Pending URLs, the leased ones included."""
    wake_at: float = 0.0
    """It rests until this time, in seconds since 1970."""
    health: Health = HEALTHY
    precedence: int = NEUTRAL_PRECEDENCE
    """0..255; lower goes first."""
    spent: int = 0
    budget: int | None = None
    """Its own total budget; None if the general one applies."""
    retired: bool = False
    """Whether an operator has retired it."""
    drained_to: int = -1
    """All URLs up to this order have left the queue."""
    position: Position | None = None
    """Its position in the store; None if it has no URL or is retired."""
    pace_s: float = 0.0
    """How long it rested after its server's last good answer."""
    address: str | None = None
    """The last known address of its server."""


class Prerequisite(msgspec.Struct, frozen=True, gc=False):
    """A request to another host that a queue needs before its own host can be asked."""

    key: str
    """The key of the queue that a URL of that host would belong to."""
    address: str | None = None
    """The address of that host, if it is known."""


class Queue:
    """The URLs that must take turns. Only `Schedule` and the code that stores the queue change it."""

    __slots__ = (
        "key",
        "leased",
        "per_queue",
        "prerequisite",
        "ready_at",
        "record",
        "rest_reason",
        "session_spent",
        "state",
    )

    def __init__(self, record: QueueRecord) -> None:
        self.key = record.key
        self.record = record
        """As last stored. While a change is in progress, `Schedule` may be ahead of the store."""
        self.leased = 0
        self.per_queue = 1
        """How many leases it may have; set when it becomes active."""
        self.ready_at = NEUTRAL_PRECEDENCE
        """The precedence at which it waits, while it is ready."""
        self.session_spent = 0
        self.prerequisite: Prerequisite | None = None
        """What its next request is for, if not for one of its URLs. A restart forgets it."""
        self.rest_reason: str | None = None
        """Why its last URL was handed back, until another is leased."""
        self.state = EXHAUSTED
        if record.size:
            self.state = RETIRED if record.position is None else record.position.state
