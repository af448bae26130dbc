"""Decides which active queue is leased from next. Pure.

The schedule knows how many URLs each queue has, not which. A method that needs the time takes `now`, in seconds since
1970. A call that makes no sense raises `IllegalTransition` and changes nothing. `lifecycle` decides which state
follows; `placement` keeps each queue where its state says. Queues that are not active are in the store alone, so memory
is bounded by the active queues.
"""

from collections.abc import Callable, Iterator

import msgspec

from frontier.queues.budgets import is_retired
from frontier.queues.grouping import Grouping
from frontier.queues.groups import Groups
from frontier.queues.lease_end import EndPlan, LeaseEnd
from frontier.queues.lifecycle import (
    IN_PROCESS,
    INACTIVE,
    READY,
    RETIRED,
    SNOOZED,
    SUCCESSORS,
    IllegalTransition,
    QueueState,
    check_transition,
    next_state,
)
from frontier.queues.placement import Placement
from frontier.queues.queue import Prerequisite, Queue, QueueRecord
from frontier.values import Budgets, Health

SNOOZED_IN_MEMORY = 50_000
READY_IN_MEMORY = 50_000


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
        group_wake_at: Callable[[str], float] = lambda _: 0.0,
        host_wake_at: Callable[[str], float] = lambda _: 0.0,
    ) -> None:
        """`per_queue` is the most leases of one queue at once, or gives that number by queue key. For the last two, see
        `Groups`."""
        if isinstance(per_queue, int) and per_queue < 1:
            raise ValueError(f"per_queue must be at least 1, got {per_queue}")
        self._per_queue = per_queue
        self.budgets = budgets or Budgets()
        self._snoozed_in_memory = snoozed_in_memory
        self._ready_in_memory = ready_in_memory
        self.groups = Groups(grouping or Grouping(), group_wake_at, host_wake_at)
        self._placement = Placement(self.groups)
        self._queues = self._placement.queues
        self.get: Callable[[str], Queue | None] = self._queues.get
        """The queue of a key, if it is active."""
        self._ready = self._placement.ready
        self._snoozed = self._placement.snoozed
        self.best_precedence: Callable[[], int | None] = self._ready.best_precedence
        """The precedence of the next queue; None if none is ready."""
        self.next_wake: Callable[[], Queue | None] = self._snoozed.first
        """The snoozed queue that wakes first."""
        self.lease_count = 0
        """The number of open leases."""

    # questions

    def __iter__(self) -> Iterator[Queue]:
        return iter(self._queues.values())

    def __len__(self) -> int:
        """The number of active queues."""
        return len(self._queues)

    @property
    def ready_count(self) -> int:
        return self._ready.ready - self._ready.held_back

    @property
    def held_back_count(self) -> int:
        """The number of queues that only a group keeps from being ready."""
        return self._ready.held_back

    @property
    def leasable_count(self) -> int:
        """At least this many leases can be given now; 0 means none."""
        return self._ready.offered

    @property
    def snoozed_count(self) -> int:
        return self._snoozed.count

    def is_snoozed_full(self) -> bool:
        """Whether memory holds as many snoozed queues as it may."""
        return self._snoozed.count >= self._snoozed_in_memory

    def must_spill(self, queue: Queue) -> bool:
        """Whether the queue would wait for a group behind others while memory holds too many ready queues."""
        return self._ready.ready >= self._ready_in_memory and self.groups.have_waiters(queue)

    def upcoming(self, *, until: float, limit: int) -> list[str]:
        """Keys of up to `limit` queues that are leased from next: those that are ready, then those that wake until
        then."""
        ready = self._ready.first_keys(limit)
        return ready + self._snoozed.first_keys(until, limit - len(ready))

    def plan_end(
        self,
        queue: Queue,
        end: LeaseEnd,
        /,
        *,
        now: float,
        others_wait: bool = False,
        health: Health | None = None,
        pace_s: float | None = None,
        drained: tuple[int, int] | None = None,
    ) -> EndPlan:
        """Compute what `settle` will do at the end of a lease, if the queue does not change before. `others_wait` says
        whether other queues wait to become active. The other arguments change fields of the record with it: `drained`
        is how far it is drained, and its precedence then."""
        before, session = queue.record, self.budgets.session
        record = msgspec.structs.replace(
            before,
            size=before.size - end.removes_url,
            wake_at=max(before.wake_at, now + end.cooldown_s),
            spent=before.spent + end.cost,
            health=before.health if health is None else health,
            pace_s=before.pace_s if pace_s is None else pace_s,
            drained_to=before.drained_to if drained is None else drained[0],
            precedence=before.precedence if drained is None else drained[1],
        )
        state = next_state(
            size=record.size,
            leased=queue.leased - 1,
            per_queue=queue.per_queue,
            retired=is_retired(record, self.budgets),
            session_over=others_wait and session is not None and queue.session_spent + end.cost >= session,
            resting=record.wake_at > now,
        )
        spills = state is SNOOZED and queue.leased == 1 and (self.is_snoozed_full() or self.must_spill(queue))
        return EndPlan(end=end, record=record, state=state, spills=spills, now=now)

    # transitions

    def activate(self, queue: Queue, *, now: float) -> None:
        """Make a queue that has URLs active; its session begins."""
        if queue.key in self._queues:
            raise IllegalTransition(f"queue {queue.key} is already active")
        if queue.record.size < 1:
            raise IllegalTransition(f"queue {queue.key} has no URL and can't be active")
        if (lone_group := self.groups.lone_group(queue)) is not None:
            wake_at = max(queue.record.wake_at, self.groups.wake_at(lone_group))
            queue.record = msgspec.structs.replace(queue.record, wake_at=wake_at)
        state = self._next_state(queue, now)
        if state is RETIRED:
            raise IllegalTransition(f"queue {queue.key} is retired and can't be active")
        queue.state = INACTIVE
        queue.session_spent = 0
        queue.per_queue = self._per_queue if isinstance(self._per_queue, int) else self._per_queue(queue.key)
        self._placement.activate(queue, state, now=now)

    def fill(self, queue: Queue, urls: int, *, now: float, record: QueueRecord | None = None) -> None:
        """Add `urls` to the size of an active queue. With a `record`, take over everything else from it."""
        if urls < 1:
            raise IllegalTransition(f"a queue is filled with at least one URL, got {urls} for {queue.key}")
        if self._queues.get(queue.key) is not queue:
            raise IllegalTransition(f"queue {queue.key} is not active")
        queue.record = msgspec.structs.replace(record or queue.record, size=queue.record.size + urls)
        if queue.state is IN_PROCESS:
            self._placement.place(queue, self._next_state(queue, now))

    def promote(self, queue: Queue) -> None:
        """The precedence of an active queue has become better."""
        if queue.state is READY:
            self._ready.promote(queue)

    def remove(self, queue: Queue, *, now: float) -> None:
        """Remove a leased URL from the queue before its lease ends."""
        size = queue.record.size
        if queue.leased < 1 or size < 1:
            raise IllegalTransition(f"queue {queue.key} has {size} URLs and {queue.leased} leases: can't remove a URL")
        queue.record = msgspec.structs.replace(queue.record, size=size - 1)
        self._placement.move(queue, self._next_state(queue, now))

    def wake(self, now: float) -> int:
        """Make the snoozed queues whose wake time has come ready, and return their number."""
        woken = 0
        while (queue := self._snoozed.pop_due(now)) is not None:
            self._placement.place(queue, READY)
            woken += 1
        for group in self.groups.wake(now) if self.groups.rest_heap else ():
            self._ready.admit_parked(group)
        return woken

    def lease(self) -> Queue | None:
        """Take a lease of the next queue: of the best precedence, the one that has been ready longest. Returns None if
        none is ready."""
        first = self._ready.first()
        if first is None:
            return None
        _, queue, peers = first
        if peers is not None:
            self.groups.begin_lease(peers)
        queue.leased += 1
        queue.rest_reason = None
        self.lease_count += 1
        if queue.leased < queue.per_queue and queue.leased < queue.record.size:
            self._ready.send_back(first)
        else:
            self._ready.take(first)
            queue.state = IN_PROCESS
        return queue

    def move(self, queue: Queue, address: str | None, *, prerequisite: Prerequisite | None = None, now: float) -> bool:
        """Note where the next request of a leased queue goes: to that address of its host (None: as before), or to
        a prerequisite. Returns False if one of the queue's new groups is closed; the lease must then be handed back."""
        if queue.leased < 1 or self._queues.get(queue.key) is not queue:
            raise IllegalTransition(f"queue {queue.key} has no lease and can't be moved")
        known = queue.record.address
        if address in (None, known) and prerequisite == queue.prerequisite:
            return True
        return self._placement.regroup(queue, known if address is None else address, prerequisite, now=now)

    def open_group(self, group: str) -> None:
        """Open a group that was closed by `Groups.close`."""
        if (found := self.groups.open(group)) is not None:
            self._ready.admit_parked(found)

    def settle(self, queue: Queue, plan: EndPlan, /) -> None:
        """End a lease as `plan_end` has computed it."""
        if queue.leased < 1 or plan.record.size < 0:
            raise IllegalTransition(
                f"queue {queue.key} has {queue.record.size} URLs and {queue.leased} leases: can't settle one"
            )
        if plan.state not in SUCCESSORS[queue.state]:
            check_transition(queue.key, queue.state, plan.state)
        peers = self.groups.peers_of.get(queue.key)
        # A queue that stays ready keeps its place.
        stays = queue.state is READY and plan.state is READY and queue.record.precedence == plan.record.precedence
        if not stays:
            self._placement.withdraw(queue)
        queue.record = plan.record
        queue.leased -= 1
        queue.session_spent += plan.end.cost
        self.lease_count -= 1
        if peers is not None:
            self.groups.end_lease(peers, plan.end.group_rest_s, asked=plan.end.asked, now=plan.now)
        if plan.spills:
            queue.state = plan.state
            self._placement.drop(queue)
        elif not stays:
            self._placement.place(queue, plan.state)
        elif peers is not None:
            self._ready.hold_back(peers)
        if peers is not None:
            for group in peers.groups:
                if group.parked:
                    self._ready.admit_parked(group)
        if plan.end.ends_prerequisite and self._queues.get(queue.key) is queue:
            self._placement.regroup(queue, queue.record.address, None, now=plan.now)

    def reconsider(self, queue: Queue, *, now: float) -> None:
        """An operator has changed whether an active queue is served, or its budget. A queue that is not served leaves
        with its last lease."""
        if self._queues.get(queue.key) is not queue:
            raise IllegalTransition(f"queue {queue.key} is not active")
        self._placement.move(queue, self._next_state(queue, now))

    def _next_state(self, queue: Queue, now: float) -> QueueState:
        record = queue.record
        return next_state(
            size=record.size,
            leased=queue.leased,
            per_queue=queue.per_queue,
            retired=is_retired(record, self.budgets),
            session_over=False,
            resting=record.wake_at > now,
        )
