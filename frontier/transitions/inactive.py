"""The queues that are not active, as the store lists them: those that wait for a place, and those put away to rest.

A place in the store's lines is left only when a queue moves to another, or ends. So an active queue still stands where
it was activated from, and after a crash is found there: nothing is written to activate one. Two positions in memory
tell how far the lines have been read.
"""

from frontier.queues.lifecycle import QueueState, Standing
from frontier.store import Store

_FIRST = Standing(QueueState.SNOOZED, 0, -1)


class InactiveQueues:
    """Who is next to be active. `floor` is the first precedence that never is."""

    def __init__(self, store: Store, *, floor: int) -> None:
        self._store = store
        self._floor = floor
        self._read: dict[int, int] = {}
        """For each precedence, the turn up to which queues have been taken."""
        self._rested = _FIRST
        self.best: int | None = 0
        """The best precedence at which a queue may wait; None if none waits."""
        self.next_wake_ms: int | None = None
        """When the first of those put away wakes."""
        self._look_for_wake()

    def came(self, stands: Standing) -> None:
        """A queue stands there now."""
        if stands.state is QueueState.SNOOZED:
            if self.next_wake_ms is None or stands.at < self.next_wake_ms:
                self.next_wake_ms = stands.at
        elif stands.at < self._floor and (self.best is None or stands.at < self.best):
            self.best = stands.at

    def passed(self, stands: Standing) -> None:
        """The queue that came last has been activated at once, as no other waits."""
        self._read[stands.at] = stands.turn

    def read_again(self) -> None:
        """Something that was read could not be dealt with: look at all once more."""
        self._read.clear()
        self.best = 0

    def waiting(self, limit: int) -> list[str]:
        """The keys of the queues to be activated next, taken from the best precedence at which any waits."""
        precedence = self.best
        while precedence is not None and precedence < self._floor:
            after = Standing(QueueState.INACTIVE, precedence, self._read.get(precedence, 0))
            found = self._store.standing(QueueState.INACTIVE, after=after, limit=limit)
            same = [(stands, key) for stands, key in found if stands.at == precedence]
            if same:
                self.best = precedence
                self._read[precedence] = same[-1][0].turn
                return [key for _, key in same]
            # Where the next precedence has been read in part, its own position tells more.
            precedence = found[0][0].at if found else None
        self.best = None
        return []

    def woken(self, now_ms: int, limit: int) -> list[str]:
        """The keys of queues put away whose time has come."""
        if self.next_wake_ms is None or self.next_wake_ms > now_ms:
            return []
        found = self._store.standing(QueueState.SNOOZED, after=self._rested, limit=limit)
        due = [(stands, key) for stands, key in found if stands.at <= now_ms]
        if due:
            self._rested = due[-1][0]
        self._look_for_wake()
        return [key for _, key in due]

    def _look_for_wake(self) -> None:
        found = self._store.standing(QueueState.SNOOZED, after=self._rested, limit=1)
        self.next_wake_ms = found[0][0].at if found else None
