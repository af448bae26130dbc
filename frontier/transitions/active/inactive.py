"""The queues that are not active, in the store's two orders: those that wait to become active, and those that rest.

A position in the store is removed only when the queue moves to another, or has no URL. So an active queue still has the
position from which it was activated, and after a crash it is found there: activating a queue writes nothing. Two
cursors in memory say how far the orders have been read.
"""

from frontier.queues.lifecycle import QueueState
from frontier.queues.queue import Position
from frontier.store import Store


class InactiveQueues:
    """Which queues become active next. Queues of the precedence `floor` or a higher number never do."""

    def __init__(self, store: Store, *, floor: int) -> None:
        self._store = store
        self._floor = floor
        self._waiting_cursors: dict[int, int] = {}
        """By precedence, the turn up to which queues have been taken."""
        self._resting_cursor = Position(QueueState.SNOOZED, 0, -1)
        self.best_precedence: int | None = 0
        """The best precedence at which a queue may wait; None if none waits."""
        self.next_wake_ms: int | None = None
        """When the first spilled queue wakes."""
        self._find_next_wake()

    def add(self, position: Position) -> None:
        """A queue has this position from now on."""
        if position.state is QueueState.SNOOZED:
            if self.next_wake_ms is None or position.rank < self.next_wake_ms:
                self.next_wake_ms = position.rank
        elif position.rank < self._floor and (self.best_precedence is None or position.rank < self.best_precedence):
            self.best_precedence = position.rank

    def skip(self, position: Position) -> None:
        """The queue that was added last became active at once, because no other waits."""
        self._waiting_cursors[position.rank] = position.turn

    def restart(self) -> None:
        """A queue that was taken could not be handled: read all waiting queues again."""
        self._waiting_cursors.clear()
        self.best_precedence = 0

    def take_best(self, limit: int) -> list[str]:
        """The keys of the queues to be activated next: the first at the best precedence."""
        precedence = self.best_precedence
        while precedence is not None and precedence < self._floor:
            cursor = Position(QueueState.INACTIVE, precedence, self._waiting_cursors.get(precedence, 0))
            found = self._store.reads.queues_after(cursor, limit=limit)
            same = [(position, key) for position, key in found if position.rank == precedence]
            if same:
                self.best_precedence = precedence
                self._waiting_cursors[precedence] = same[-1][0].turn
                return [key for _, key in same]
            # The next precedence has a cursor of its own, which may be further.
            precedence = found[0][0].rank if found else None
        self.best_precedence = None
        return []

    def take_due(self, now_ms: int, limit: int) -> list[str]:
        """The keys of spilled queues whose wake time has come."""
        if self.next_wake_ms is None or self.next_wake_ms > now_ms:
            return []
        found = self._store.reads.queues_after(self._resting_cursor, limit=limit)
        due = [(position, key) for position, key in found if position.rank <= now_ms]
        if due:
            self._resting_cursor = due[-1][0]
        self._find_next_wake()
        return [key for _, key in due]

    def _find_next_wake(self) -> None:
        found = self._store.reads.queues_after(self._resting_cursor, limit=1)
        self.next_wake_ms = found[0][0].rank if found else None
