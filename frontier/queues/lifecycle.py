"""The life of a queue, as one pure state machine: no clock, no store.

    EXHAUSTED    it has no URL
    INACTIVE     it has URLs and waits for a place among the active ones: by precedence, then first come, first served
    READY        active: its first URL may be fetched now
    IN_PROCESS   active: all that may be leased of it is leased
    SNOOZED      it rests until its wake time; active, or put away when very many rest
    RETIRED      it is not served: by an operator, or because its budget is spent; what comes for it is kept

A session budget sends a queue back to INACTIVE while others wait, so that no giant host starves the rest; a total
budget retires it.
"""

from collections.abc import Callable
from enum import IntEnum

import msgspec


class QueueState(IntEnum):
    """Where a queue stands; see the module's text."""

    INACTIVE = 0
    READY = 1
    SNOOZED = 2
    IN_PROCESS = 3
    EXHAUSTED = 4
    RETIRED = 5


INACTIVE = QueueState.INACTIVE
READY = QueueState.READY
SNOOZED = QueueState.SNOOZED
IN_PROCESS = QueueState.IN_PROCESS
EXHAUSTED = QueueState.EXHAUSTED
RETIRED = QueueState.RETIRED
# Named for themselves, as a member is looked up in its enumeration ten times as slowly (CPython 3.11), and each lease
# asks for a dozen.

FOLLOWS: dict[QueueState, frozenset[QueueState]] = {
    EXHAUSTED: frozenset({INACTIVE, READY, SNOOZED, IN_PROCESS, RETIRED}),
    INACTIVE: frozenset({READY, SNOOZED, RETIRED}),
    READY: frozenset({READY, IN_PROCESS, SNOOZED, EXHAUSTED, INACTIVE, RETIRED}),
    SNOOZED: frozenset({READY, IN_PROCESS, SNOOZED, EXHAUSTED, INACTIVE, RETIRED}),
    IN_PROCESS: frozenset(QueueState),
    RETIRED: frozenset({INACTIVE, EXHAUSTED}),
}
"""Which state may follow which. From SNOOZED to IN_PROCESS goes a queue of which other leases are out."""


class IllegalTransition(ValueError):
    """What was asked makes no sense in the state that the queue is in; nothing has been changed."""


class Standing(msgspec.Struct, frozen=True, gc=False):
    """Where a queue stands when it is not active, or came from when it is."""

    state: QueueState
    """INACTIVE or SNOOZED."""
    at: int
    """The precedence, or the wake time in milliseconds since 1970."""
    turn: int
    """Tells those of equal rank apart: first come, first served."""


class Health(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How the server of a queue has done lately."""

    error_streak: int = 0
    """Failures in a row: all of them answers, or none."""
    answered: bool = False
    """They were answers: the server sent a status and headers each time."""
    trouble: str | None = None
    """What the last of them was."""
    pressure: int = 0
    """How often it has asked to be spared, less what it has answered well since."""
    probe_at: float = 0.0
    """It is given up until then: seconds since 1970."""


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """What a queue may spend. A fetch costs what its URL costs, a failure of the server `error_penalty` more."""

    session: int | None = 1000
    """In one go, while others wait; None for no end."""
    total: int | None = None
    """In all, unless the queue has a budget of its own."""
    total_of: Callable[[str], int | None] | None = None
    """By queue key, where queues differ; goes before `total`."""
    error_penalty: int = 0

    def limit(self, key: str, own: int | None, /) -> int | None:
        """What a queue may spend in all, if its own budget is `own`; None for no end."""
        if own is not None:
            return own
        return self.total if self.total_of is None else self.total_of(key)


class Errand(msgspec.Struct, frozen=True, gc=False):
    """A request to another host that a queue needs before its own can be asked."""

    key: str
    """Of the queue to which a URL there would belong."""
    address: str | None = None
    """Where that host is, if it is known."""


class Queue:
    """The URLs that must take turns. Only `Schedule`, and who stores it, changes it."""

    __slots__ = (
        "address",
        "budget",
        "errand",
        "head",
        "health",
        "key",
        "leased",
        "line",
        "line_places",
        "pace_s",
        "per_queue",
        "precedence",
        "retired",
        "session_spent",
        "size",
        "spent",
        "stands",
        "state",
        "wake_at",
        "why_rests",
    )

    def __init__(self, key: str, *, wake_at: float = 0.0, precedence: int = 128) -> None:
        self.key = key
        self.size = 0
        """URLs that are pending, the leased ones included but for those removed since."""
        self.leased = 0
        self.per_queue = 1
        """Leases that it may have, as it was told when it became active."""
        self.line: object | None = None
        """The lines in which it stands when it is ready, and is no more than a gap when it is not."""
        self.line_places = 0
        """The precedences at which it stands there, as a set of bits. All but its own are gaps."""
        self.wake_at = wake_at
        self.health = Health()
        self.pace_s = 0.0
        """How long it rested after its server's last good answer."""
        self.precedence = precedence
        """0..255; lower goes first."""
        self.spent = 0
        self.session_spent = 0
        self.budget: int | None = None
        """Of its own; None for that of all."""
        self.retired = False
        """By an operator."""
        self.address: str | None = None
        """Where its server was found last."""
        self.errand: Errand | None = None
        """Where its next request goes, if not to its own host. A restart forgets it."""
        self.head = -1
        """None of its URLs has an order up to this."""
        self.why_rests: str | None = None
        """Where a URL of it was handed back for a reason, and none has been leased since."""
        self.stands: Standing | None = None
        self.state = EXHAUSTED


def is_retired(queue: Queue, budgets: Budgets, *, more_spent: int = 0) -> bool:
    """Whether a queue is not served, by an operator or for its budget, once it has spent so much more."""
    if queue.retired:
        return True
    budget = budgets.limit(queue.key, queue.budget)
    return budget is not None and queue.spent + more_spent >= budget


def state_of(*, size: int, leased: int, per_queue: int, retired: bool, session_over: bool, resting: bool) -> QueueState:
    """The state that an active queue takes. One that is to leave gives no more leases, and leaves with the last."""
    if leased == 0:
        if size == 0:
            return EXHAUSTED
        if retired:
            return RETIRED
        if session_over:
            return INACTIVE
    elif retired or session_over or leased >= per_queue or leased >= size:
        return IN_PROCESS
    return SNOOZED if resting else READY


def check_follows(queue: Queue, state: QueueState) -> None:
    """Raises `IllegalTransition` if the state can't follow the one that the queue is in."""
    if state not in FOLLOWS[queue.state]:
        raise IllegalTransition(f"queue {queue.key} is {queue.state.name}, and can't become {state.name}")
