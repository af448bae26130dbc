"""The states of a queue, and which may follow which. Pure.

    EXHAUSTED    it has no URL
    INACTIVE     it has URLs and waits to become active: lower precedence first, then first come, first served
    READY        active: its first URL may be fetched now
    IN_PROCESS   active: all URLs that may be leased at once are leased
    SNOOZED      it rests until its wake time; it is active, or spilled to the store when very many queues rest
    RETIRED      it is not served, because an operator retired it or its budget is spent; new URLs for it are kept

When a queue has spent its session budget, it goes back to INACTIVE while others wait, so that no giant host starves the
rest. When it has spent its total budget, it is retired.
"""

from enum import IntEnum


class QueueState(IntEnum):
    """The state of a queue; see the module's text."""

    INACTIVE = 0
    READY = 1
    SNOOZED = 2
    IN_PROCESS = 3
    EXHAUSTED = 4
    RETIRED = 5


# Python 3.11 looks up a member in its enumeration ten times as slowly as a global, and each lease needs a dozen.
INACTIVE = QueueState.INACTIVE
READY = QueueState.READY
SNOOZED = QueueState.SNOOZED
IN_PROCESS = QueueState.IN_PROCESS
EXHAUSTED = QueueState.EXHAUSTED
RETIRED = QueueState.RETIRED

SUCCESSORS: dict[QueueState, frozenset[QueueState]] = {
    EXHAUSTED: frozenset({INACTIVE, READY, SNOOZED, IN_PROCESS, RETIRED}),
    INACTIVE: frozenset({READY, SNOOZED, RETIRED}),
    READY: frozenset({READY, IN_PROCESS, SNOOZED, EXHAUSTED, INACTIVE, RETIRED}),
    SNOOZED: frozenset({READY, IN_PROCESS, SNOOZED, EXHAUSTED, INACTIVE, RETIRED}),
    IN_PROCESS: frozenset(QueueState),
    RETIRED: frozenset({INACTIVE, EXHAUSTED}),
}
"""The states that may follow each state. A queue goes from SNOOZED to IN_PROCESS when it has more than one lease."""


class IllegalTransition(ValueError):
    """The state of the queue or of the lease does not allow the request. Nothing has changed."""


def next_state(
    *, size: int, leased: int, per_queue: int, retired: bool, session_over: bool, resting: bool
) -> QueueState:
    """The state of an active queue. A queue that has to leave gives out no more leases, and leaves with the last."""
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


def check_transition(key: str, before: QueueState, after: QueueState) -> None:
    """Raise `IllegalTransition` if `after` may not follow `before`."""
    if after not in SUCCESSORS[before]:
        raise IllegalTransition(f"queue {key} is {before.name} and can't become {after.name}")
