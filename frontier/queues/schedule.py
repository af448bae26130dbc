"""Whose turn it is: the active queues, and which of them may be leased from now. Pure.

It knows how many URLs each queue has, not which. Each method takes `now` (seconds since 1970) where it needs it,
happens whole, and raises `IllegalTransition`, changing nothing, where it makes no sense. What state follows is decided
by `lifecycle`; here each active queue stands in the structure of its state:

    READY        in the ready line of its precedence, first come, first served: so no host starves another; or held back
                 with its peers, while a group that it belongs to is closed
    SNOOZED      in the heap of wake times
    IN_PROCESS   in none

Queues that are not active are in the store alone: memory is bounded by the active ones.
"""

from collections.abc import Callable, Iterator

import msgspec

from frontier.queues.groups import Grouping, Groups
from frontier.queues.lifecycle import (
    IN_PROCESS,
    INACTIVE,
    READY,
    RETIRED,
    SNOOZED,
    Budgets,
    Errand,
    IllegalTransition,
    Queue,
    QueueState,
    check_follows,
    is_retired,
    state_of,
)
from frontier.queues.ready import ReadyQueues
from frontier.queues.snoozed import Snoozed

SNOOZED_IN_MEMORY = 50_000
READY_IN_MEMORY = 50_000


class Ending(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The end of a lease, and what it will make of its queue."""

    gone: bool
    """Whether its URL leaves the queue."""
    cooldown_s: float
    """How long the queue rests."""
    now: float
    cost: int
    group_cooldown_s: float
    """How long the groups rest that share the queue's cooldown."""
    asked: bool
    """Whether a server was asked: then the queue's groups rest too."""
    ends_errand: bool
    """Whether that was what the queue's errand was for."""
    state: QueueState
    put_away: bool
    """Whether a queue that will be snoozed is not to be kept in memory, as too many are."""


class Schedule:
    """All active queues."""

    def __init__(
        self,
        *,
        per_queue: int | Callable[[str], int] = 1,
        budgets: Budgets | None = None,
        snoozed_in_memory: int = SNOOZED_IN_MEMORY,
        ready_in_memory: int = READY_IN_MEMORY,
        grouping: Grouping | None = None,
        rested_until: Callable[[str], float] = lambda _: 0.0,
        host_rested_until: Callable[[str], float] = lambda _: 0.0,
    ) -> None:
        """`per_queue` is how many leases a queue may have, or gives that by its key. `rested_until` tells until when a
        group rests of which nothing is known yet, and `host_rested_until` how long the queue that kept the pace of a
        host alone lets it rest: seconds since 1970."""
        if isinstance(per_queue, int) and per_queue < 1:
            raise ValueError(f"per_queue must be at least 1, got {per_queue}")
        self._per_queue = per_queue
        self._budgets = budgets or Budgets()
        self._snoozed_in_memory = snoozed_in_memory
        self._ready_in_memory = ready_in_memory
        self._queues: dict[str, Queue] = {}
        self._groups = Groups(grouping or Grouping(), rested_until, host_rested_until)
        self._turns = ReadyQueues(self._groups)
        self._snoozed = Snoozed(self._queues)
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
        return self._turns.ready - self._turns.held_back

    @property
    def held_back_count(self) -> int:
        """Queues that would be ready, but for a group."""
        return self._turns.held_back

    @property
    def turns(self) -> int:
        """How many leases could be given now, at least; none if it is 0."""
        return self._turns.open

    @property
    def snoozed_count(self) -> int:
        return self._snoozed.count

    def is_full_of_snoozed(self) -> bool:
        """Whether no more that rest are to be kept in memory."""
        return self._snoozed.count >= self._snoozed_in_memory

    def has_no_room_for(self, queue: Queue) -> bool:
        """Whether the queue would wait for a group behind others, and too many wait to be kept in memory."""
        return self._turns.ready >= self._ready_in_memory and self._groups.are_awaited(queue)

    def best_ready(self) -> int | None:
        """The precedence of the next queue."""
        return self._turns.best()

    def next_opening(self) -> tuple[float, str] | None:
        """When the first group that rests is to open, and its name: seconds since 1970."""
        return self._groups.next_wake()

    def group_rests(
        self, queue: Queue, cooldown_s: float, *, now: float, in_trouble: bool = False
    ) -> tuple[tuple[str, float], ...]:
        """Until when the queue's groups rest if a lease of it ends now, and a server was asked: names, seconds since
        1970.

        The wake time of a queue that is alone on its host tells how long the host rests. Not so of one that is
        `in_trouble`, which may rest because one port of its host does not answer: then the host's group is told too.
        """
        rests = self._groups.rests(queue, cooldown_s, now=now)
        if in_trouble and (alone := self._groups.alone(queue)) is not None:
            before = 0.0 if queue.health.error_streak else queue.wake_at
            until = max(now + cooldown_s, before)
            rests += ((alone, until),) if until > now else ()
        return rests

    def next_wake(self) -> Queue | None:
        """The snoozed queue that wakes first."""
        return self._snoozed.first()

    def ending(
        self,
        queue: Queue,
        /,
        *,
        gone: bool,
        cooldown_s: float,
        now: float,
        cost: int = 0,
        group_cooldown_s: float | None = None,
        asked: bool = True,
        ends_errand: bool = False,
        others_wait: bool = False,
    ) -> Ending:
        """What the end of a lease will do, if the queue is `settle`d as it is now. `others_wait` tells whether other
        queues want to be active."""
        session = self._budgets.session
        state = state_of(
            size=queue.size - gone,
            leased=queue.leased - 1,
            per_queue=queue.per_queue,
            retired=is_retired(queue, self._budgets, more_spent=cost),
            session_over=others_wait and session is not None and queue.session_spent + cost >= session,
            resting=now + cooldown_s > now or queue.wake_at > now,
        )
        away = state is SNOOZED and queue.leased == 1 and (self.is_full_of_snoozed() or self.has_no_room_for(queue))
        return Ending(
            gone=gone,
            cooldown_s=cooldown_s,
            now=now,
            cost=cost,
            group_cooldown_s=cooldown_s if group_cooldown_s is None else group_cooldown_s,
            asked=asked,
            ends_errand=ends_errand,
            state=state,
            put_away=away,
        )

    # transitions

    def activate(self, queue: Queue, *, now: float) -> None:
        """Give a queue that has URLs its place among the active ones; its session begins."""
        if queue.key in self._queues:
            raise IllegalTransition(f"queue {queue.key} is active already")
        if queue.size < 1:
            raise IllegalTransition(f"queue {queue.key} has no URL, and can't be active")
        if (alone := self._groups.alone(queue)) is not None:
            queue.wake_at = max(queue.wake_at, self._groups.rested_until(alone))
        state = self._state(queue, now)
        if state is RETIRED:
            raise IllegalTransition(f"queue {queue.key} is retired, and can't be active")
        queue.state = INACTIVE
        queue.session_spent = 0
        queue.per_queue = self._per_queue if isinstance(self._per_queue, int) else self._per_queue(queue.key)
        self._queues[queue.key] = queue
        self._join(queue, now)
        self._place(queue, state)

    def fill(self, queue: Queue, urls: int, *, now: float) -> None:
        """`urls` more URLs stand in an active queue."""
        if urls < 1:
            raise IllegalTransition(f"a queue is filled with at least one URL, got {urls} for {queue.key}")
        if self._queues.get(queue.key) is not queue:
            raise IllegalTransition(f"queue {queue.key} is not active")
        queue.size += urls
        if queue.state is IN_PROCESS:
            self._place(queue, self._state(queue, now))

    def improve(self, queue: Queue) -> None:
        """The precedence of an active queue has become better."""
        if queue.state is READY:
            self._turns.improved(queue)

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
        while (queue := self._snoozed.woken(now)) is not None:
            self._place(queue, READY)
            woken += 1
        for group in self._groups.woken(now) if self._groups.resting else ():
            self._turns.opened(group)
        return woken

    def lease(self) -> Queue | None:
        """Take a lease from the queue of the best precedence that has been ready longest; None if none is ready."""
        queue = self._turns.take()
        if queue is None:
            return None
        queue.leased += 1
        queue.why_rests = None
        self._leased += 1
        if queue.leased < queue.per_queue and queue.leased < queue.size:
            self._place(queue, READY)
        else:
            queue.state = IN_PROCESS
        return queue

    def move(self, queue: Queue, address: str | None, *, errand: Errand | None = None, now: float) -> bool:
        """The server of a queue with a lease has that address, None if that is as it was; or the next request of the
        queue is an errand. Whether the lease may go on; if not, it is to be handed back, as a group that the queue
        belongs to from now on is closed."""
        if queue.leased < 1 or self._queues.get(queue.key) is not queue:
            raise IllegalTransition(f"queue {queue.key} has no lease, and can't be moved")
        if address in (None, queue.address) and errand == queue.errand:
            return True
        return self._regroup(queue, queue.address if address is None else address, errand, now)

    def settle(self, queue: Queue, end: Ending, /) -> None:
        """End a lease, as `ending` has worked it out."""
        if queue.leased < 1 or queue.size < end.gone:
            raise IllegalTransition(
                f"queue {queue.key} has {queue.size} URLs and {queue.leased} leases: none can be settled"
            )
        check_follows(queue, end.state)
        queue.leased -= 1
        self._leased -= 1
        queue.size -= end.gone
        queue.spent += end.cost
        queue.session_spent += end.cost
        queue.wake_at = max(queue.wake_at, end.now + end.cooldown_s)
        self._leave_place(queue)
        peers = self._groups.peers_of.get(queue.key)
        if peers is not None:
            self._groups.ended(peers, end.group_cooldown_s, asked=end.asked, now=end.now)
        if end.put_away:
            queue.state = end.state
            self._let_go(queue)
        else:
            self._place(queue, end.state)
        if peers is not None:
            for group in peers.groups:
                self._turns.opened(group)
        if end.ends_errand and self._queues.get(queue.key) is queue:
            self._regroup(queue, queue.address, None, end.now)

    def reconsider(self, queue: Queue, *, now: float) -> None:
        """An active queue was retired, or has another budget: it leaves, once its leases are back, or may stay."""
        if self._queues.get(queue.key) is not queue:
            raise IllegalTransition(f"queue {queue.key} is not active")
        self._replace(queue, self._state(queue, now))

    # groups

    def _join(self, queue: Queue, now: float) -> None:
        """Let a queue, with its leases, join its groups. Where that ends the solitude of another, that joins too."""
        new = self._groups.join(queue, now=now)
        peers = self._groups.peers_of.get(queue.key)
        for group in peers.groups if peers else ():
            group.leased += queue.leased
        for host in new:
            alone = self._queues.get(host)
            if alone is not None and alone is not queue:
                self._regroup(alone, alone.address, alone.errand, now)

    def _regroup(self, queue: Queue, address: str | None, errand: Errand | None, now: float) -> bool:
        """Let a queue join the groups that it belongs to, with its leases. Whether these would be open without them."""
        before = self._groups.peers_of.get(queue.key)
        is_ready = queue.state is READY
        if is_ready:
            self._turns.left(queue)
        for group in before.groups if before else ():
            group.leased -= queue.leased
        self._groups.leave(queue)
        queue.address, queue.errand = address, errand
        self._join(queue, now)
        if is_ready:
            self._turns.came(queue)
        for group in before.groups if before else ():
            self._turns.opened(group)
        after = self._groups.peers_of.get(queue.key)
        return all(group.is_open_beside(queue.leased) for group in after.groups) if after else True

    # places

    def _state(self, queue: Queue, now: float) -> QueueState:
        return state_of(
            size=queue.size,
            leased=queue.leased,
            per_queue=queue.per_queue,
            retired=is_retired(queue, self._budgets),
            session_over=False,
            resting=queue.wake_at > now,
        )

    def _replace(self, queue: Queue, state: QueueState) -> None:
        check_follows(queue, state)
        self._leave_place(queue)
        self._place(queue, state)

    def _leave_place(self, queue: Queue) -> None:
        if queue.state is READY:
            self._turns.left(queue)
        elif queue.state is SNOOZED:
            self._snoozed.left()

    def _place(self, queue: Queue, state: QueueState) -> None:
        queue.state = state
        if state is READY:
            self._turns.came(queue)
        elif state is SNOOZED:
            self._snoozed.came(queue)
        elif state is not IN_PROCESS:
            self._let_go(queue)

    def _let_go(self, queue: Queue) -> None:
        del self._queues[queue.key]
        self._groups.leave(queue)
        queue.errand = None
