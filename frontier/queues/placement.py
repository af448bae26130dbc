"""Keeps each active queue in the structure of its state. Pure.

    READY        in the FIFO of its precedence, first come, first served, so that no host starves another; or parked
                 with its peers while one of its groups is closed
    SNOOZED      in the heap of wake times
    IN_PROCESS   in neither

A queue in another state is not active, and is dropped.
"""

import msgspec

from frontier.queues.groups import Groups
from frontier.queues.lifecycle import (
    IN_PROCESS,
    READY,
    SNOOZED,
    QueueState,
    check_transition,
)
from frontier.queues.queue import Prerequisite, Queue
from frontier.queues.ready import ReadyQueues
from frontier.queues.snoozed import SnoozedQueues


class Placement:
    """The active queues, by key, and where they wait."""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        self.queues: dict[str, Queue] = {}
        self.ready = ReadyQueues(groups)
        self.snoozed = SnoozedQueues(self.queues)

    def activate(self, queue: Queue, state: QueueState, *, now: float) -> None:
        """Take in a queue that was not active."""
        self.queues[queue.key] = queue
        self._join(queue, now)
        self.place(queue, state)

    def move(self, queue: Queue, state: QueueState) -> None:
        """Move an active queue to another state. A queue that stays ready keeps its place. Raises
        `IllegalTransition`."""
        check_transition(queue.key, queue.state, state)
        if state is queue.state is READY:
            return
        self.withdraw(queue)
        self.place(queue, state)

    def withdraw(self, queue: Queue) -> None:
        """Take the queue out of the structure of its state."""
        if queue.state is READY:
            self.ready.remove(queue)
        elif queue.state is SNOOZED:
            self.snoozed.remove()

    def place(self, queue: Queue, state: QueueState) -> None:
        """Put the queue into the structure of a state. In a state that is not active, it is dropped."""
        queue.state = state
        if state is READY:
            self.ready.add(queue)
        elif state is SNOOZED:
            self.snoozed.add(queue)
        elif state is not IN_PROCESS:
            self.drop(queue)

    def drop(self, queue: Queue) -> None:
        """The queue is not active any more."""
        del self.queues[queue.key]
        self.groups.leave(queue)
        queue.prerequisite = None

    def regroup(self, queue: Queue, address: str | None, prerequisite: Prerequisite | None, *, now: float) -> bool:
        """Move a queue and its leases to the groups of this address and prerequisite. Returns whether these groups
        would be open without its leases."""
        before = self.groups.peers_of.get(queue.key)
        is_ready = queue.state is READY
        if is_ready:
            self.ready.remove(queue)
        for group in before.groups if before else ():
            group.leased -= queue.leased
        self.groups.leave(queue)
        if address != queue.record.address:
            queue.record = msgspec.structs.replace(queue.record, address=address)
        queue.prerequisite = prerequisite
        self._join(queue, now)
        if is_ready:
            self.ready.add(queue)
        for group in before.groups if before else ():
            self.ready.admit_parked(group)
        after = self.groups.peers_of.get(queue.key)
        return all(group.is_open_without(queue.leased) for group in after.groups) if after else True

    def _join(self, queue: Queue, now: float) -> None:
        """Let a queue join its groups with its leases. A queue that was alone on one of these hosts joins too."""
        new_hosts = self.groups.join(queue, now=now)
        peers = self.groups.peers_of.get(queue.key)
        for group in peers.groups if peers else ():
            group.leased += queue.leased
        for host in new_hosts:
            alone = self.queues.get(host)
            if alone is not None and alone is not queue:
                self.regroup(alone, alone.record.address, alone.prerequisite, now=now)
