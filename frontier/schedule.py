"""Whose turn it is: the active queues, and which of them may be leased from now. Pure.

It knows how many URLs each queue has, not which. Each method takes `now` (seconds since 1970) where it needs it,
happens whole, and raises `IllegalTransition`, changing nothing, where it makes no sense. What state follows is decided
by `lifecycle`; here each active queue stands in the structure of its state:

    READY        in the ready line of its precedence, first come, first served: so no host starves another
    SNOOZED      in the heap of wake times
    IN_PROCESS   in none

Queues that are not active are in the store alone: memory is bounded by the active ones.
"""

import heapq
from collections import deque
from collections.abc import Iterator
from itertools import count

import msgspec

from frontier.lifecycle import (
    Budgets,
    IllegalTransition,
    Queue,
    QueueState,
    check_follows,
    is_retired,
    state_of,
)

AWAY = (QueueState.EXHAUSTED, QueueState.INACTIVE, QueueState.RETIRED)
"""States in which a queue is not active."""
SNOOZED_IN_MEMORY = 50_000


class Outlook(msgspec.Struct, frozen=True):
    """What the end of a lease will make of its queue."""

    state: QueueState
    put_away: bool
    """Whether a queue that will be snoozed is not to be kept in memory, as too many are."""


class Schedule:
    """All active queues."""

    def __init__(
        self,
        *,
        per_queue: int = 1,
        budgets: Budgets | None = None,
        snoozed_in_memory: int = SNOOZED_IN_MEMORY,
    ) -> None:
        if per_queue < 1:
            raise ValueError(f"per_queue must be at least 1, got {per_queue}")
        self._per_queue = per_queue
        self._budgets = budgets or Budgets()
        self._snoozed_in_memory = snoozed_in_memory
        self._queues: dict[str, Queue] = {}
        self._lines: dict[int, deque[Queue]] = {}
        self._line_order: list[int] = []
        """The precedences that have a line, in order."""
        self._ready_count = 0
        self._snoozed: list[tuple[float, int, Queue]] = []
        self._snoozed_count = 0
        self._tie = count()
        self._leased = 0

    # questions

    def get(self, key: str) -> Queue | None:
        """The queue of that key, if it is active."""
        return self._queues.get(key)

    def __iter__(self) -> Iterator[Queue]:
        return iter(self._queues.values())

    def __len__(self) -> int:
        """Active queues."""
        return len(self._queues)

    @property
    def leased(self) -> int:
        """Leases that are out."""
        return self._leased

    @property
    def ready_count(self) -> int:
        return self._ready_count

    @property
    def snoozed_count(self) -> int:
        return self._snoozed_count

    def is_full_of_snoozed(self) -> bool:
        """Whether no more that rest are to be kept in memory."""
        return self._snoozed_count >= self._snoozed_in_memory

    def best_ready(self) -> int | None:
        """The precedence of the next queue."""
        if not self._ready_count:
            return None
        for precedence in self._line_order:
            line = self._lines[precedence]
            while line:
                if line[0].state is QueueState.READY:
                    return precedence
                line.popleft().in_line = False
        return None

    def next_wake(self) -> Queue | None:
        """The snoozed queue that wakes first."""
        while self._snoozed:
            wake_at, _, queue = self._snoozed[0]
            if queue.state is QueueState.SNOOZED and queue.wake_at == wake_at and queue.key in self._queues:
                return queue
            heapq.heappop(self._snoozed)
        return None

    def outlook(
        self, queue: Queue, /, *, gone: bool, cooldown_s: float, cost: int, others_wait: bool, now: float
    ) -> Outlook:
        """What `settle` with the same arguments will do."""
        state = state_of(
            size=queue.size - gone,
            leased=queue.leased - 1,
            per_queue=self._per_queue,
            retired=is_retired(queue, self._budgets, more_spent=cost),
            session_over=others_wait and self._session_over(queue, cost),
            resting=max(queue.wake_at, now + cooldown_s) > now,
        )
        away = state is QueueState.SNOOZED and queue.leased == 1 and self.is_full_of_snoozed()
        return Outlook(state, away)

    def outlook_alone(self, queue: Queue, cooldown_s: float, now: float, /) -> QueueState:
        """The state after a lease that is handed back, if no other queue waits."""
        return self.outlook(queue, gone=False, cooldown_s=cooldown_s, cost=0, others_wait=False, now=now).state

    def _session_over(self, queue: Queue, cost: int) -> bool:
        session = self._budgets.session
        return session is not None and queue.session_spent + cost >= session

    # transitions

    def activate(self, queue: Queue, *, now: float) -> None:
        """Give a queue that has URLs its place among the active ones; its session begins."""
        if queue.key in self._queues:
            raise IllegalTransition(f"queue {queue.key} is active already")
        if queue.size < 1:
            raise IllegalTransition(f"queue {queue.key} has no URL, and can't be active")
        if is_retired(queue, self._budgets):
            raise IllegalTransition(f"queue {queue.key} is retired, and can't be active")
        queue.state = QueueState.INACTIVE
        queue.session_spent = 0
        self._queues[queue.key] = queue
        self._place(queue, self._state(queue, now))

    def fill(self, queue: Queue, urls: int, *, now: float) -> None:
        """`urls` more URLs stand in an active queue."""
        if urls < 1:
            raise IllegalTransition(f"a queue is filled with at least one URL, got {urls} for {queue.key}")
        if self._queues.get(queue.key) is not queue:
            raise IllegalTransition(f"queue {queue.key} is not active")
        queue.size += urls
        if queue.state is QueueState.IN_PROCESS:
            self._place(queue, self._state(queue, now))

    def remove(self, queue: Queue, *, now: float) -> None:
        """A leased URL leaves the queue before its lease ends."""
        if queue.leased < 1 or queue.size < 1:
            raise IllegalTransition(
                f"queue {queue.key} has {queue.size} URLs and {queue.leased} leases: none can be removed"
            )
        queue.size -= 1
        self._replace(queue, self._state(queue, now))

    def wake(self, now: float) -> int:
        """Make the snoozed queues whose time has come ready, and return how many."""
        woken = 0
        while (queue := self.next_wake()) is not None and queue.wake_at <= now:
            heapq.heappop(self._snoozed)
            self._snoozed_count -= 1
            self._place(queue, QueueState.READY)
            woken += 1
        return woken

    def lease(self) -> Queue | None:
        """Take a lease from the queue of the best precedence that has been ready longest; None if none is ready."""
        queue = self._first_ready()
        if queue is None:
            return None
        self._ready_count -= 1
        queue.leased += 1
        self._leased += 1
        if queue.leased < self._per_queue and queue.leased < queue.size:
            self._place(queue, QueueState.READY)
        else:
            queue.state = QueueState.IN_PROCESS
        return queue

    def settle(
        self,
        queue: Queue,
        *,
        gone: bool,
        cooldown_s: float,
        now: float,
        cost: int = 0,
        state: QueueState | None = None,
        put_away: bool = False,
    ) -> None:
        """End a lease. With `gone`, its URL has left the queue, which rests for `cooldown_s`.

        `state` and `put_away` are what `outlook` has said, if it was asked.
        """
        if queue.leased < 1 or queue.size < gone:
            raise IllegalTransition(
                f"queue {queue.key} has {queue.size} URLs and {queue.leased} leases: none can be settled"
            )
        if state is None:
            state = self.outlook(queue, gone=gone, cooldown_s=cooldown_s, cost=cost, others_wait=False, now=now).state
        check_follows(queue, state)
        queue.leased -= 1
        self._leased -= 1
        queue.size -= gone
        queue.spent += cost
        queue.session_spent += cost
        queue.wake_at = max(queue.wake_at, now + cooldown_s)
        self._leave_place(queue)
        if put_away:
            queue.state = state
            del self._queues[queue.key]
        else:
            self._place(queue, state)

    def reconsider(self, queue: Queue, *, now: float) -> None:
        """An active queue was retired, or has another budget: it leaves, once its leases are back, or may stay."""
        if self._queues.get(queue.key) is not queue:
            raise IllegalTransition(f"queue {queue.key} is not active")
        self._replace(queue, self._state(queue, now))

    # places

    def _state(self, queue: Queue, now: float) -> QueueState:
        return state_of(
            size=queue.size,
            leased=queue.leased,
            per_queue=self._per_queue,
            retired=is_retired(queue, self._budgets),
            session_over=False,
            resting=queue.wake_at > now,
        )

    def _first_ready(self) -> Queue | None:
        if not self._ready_count:
            return None
        for precedence in self._line_order:
            line = self._lines[precedence]
            while line:
                queue = line.popleft()
                queue.in_line = False
                if queue.state is QueueState.READY:
                    return queue
        return None

    def _replace(self, queue: Queue, state: QueueState) -> None:
        check_follows(queue, state)
        self._leave_place(queue)
        self._place(queue, state)

    def _leave_place(self, queue: Queue) -> None:
        if queue.state is QueueState.READY:
            self._ready_count -= 1
        elif queue.state is QueueState.SNOOZED:
            self._snoozed_count -= 1

    def _place(self, queue: Queue, state: QueueState) -> None:
        queue.state = state
        if state in AWAY:
            del self._queues[queue.key]
        elif state is QueueState.SNOOZED:
            self._snoozed_count += 1
            # An older entry, whose time is no longer its queue's, is skipped when it comes up: cheaper than finding it.
            heapq.heappush(self._snoozed, (queue.wake_at, next(self._tie), queue))
        elif state is QueueState.READY:
            self._ready_count += 1
            # One that left the line and is back before its gap came up has kept its place.
            if not queue.in_line:
                queue.in_line = True
                self._line(queue.precedence).append(queue)

    def _line(self, precedence: int) -> deque[Queue]:
        line = self._lines.get(precedence)
        if line is None:
            line = self._lines[precedence] = deque()
            self._line_order = sorted(self._lines)
        return line
