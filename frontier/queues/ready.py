"""The ready queues, and the order in which they are leased from. Pure.

A queue that belongs to no group has an entry in the common FIFO of its precedence. Peers share one entry there, and
have a FIFO of their own. While one of their groups is closed, they are parked with it.

Invariant: if peers are parked with an open group, other peers of that group are in the common FIFO; whenever one of
these is taken or leaves, the next parked peers enter. So no queue is forgotten, and none is checked in vain.
"""

from typing import Any

from frontier.queues.groups import Group, Groups, Peers
from frontier.queues.lifecycle import READY
from frontier.queues.priority_fifo import PriorityFifo
from frontier.queues.queue import Queue

First = tuple[int, Queue, Peers | None]
"""The first entry of the common FIFO: its precedence, its queue, and the peers whose entry it is."""


class ReadyQueues:
    """The ready queues, in order."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._fifo: PriorityFifo[Queue | Peers] = PriorityFifo()
        self.offered = 0
        """Valid entries of the common FIFO: queues without a group, and peers."""
        self.ready = 0
        """Ready queues, including those that a group holds back."""
        self.held_back = 0
        """Queues that only a group keeps from being leased from."""

    def add(self, queue: Queue) -> None:
        """Add a queue that has become ready."""
        self.ready += 1
        peers = self._groups.peers_of.get(queue.key)
        if peers is None:
            self.offered += 1
            _enter(self._fifo, queue)
            return
        _enter(peers.fifo, queue)
        peers.ready += 1
        if peers.parked_at is not None:
            self.held_back += 1
            if queue.record.precedence < peers.parked_at[1]:
                self._unpark(peers)
                self._offer(peers)
        elif peers.offered:
            self._enter_peers(peers, queue.record.precedence)
        elif peers.ready == 1:
            self._offer_at(peers, queue.record.precedence)  # the queue is alone, so it is the next
        else:
            self._offer(peers)

    def remove(self, queue: Queue) -> None:
        """Remove a queue that is no longer ready, although it was not taken. Its entry becomes a gap. If the queue
        returns before the gap comes up, it has its old entry again."""
        self.ready -= 1
        peers = self._groups.peers_of.get(queue.key)
        if peers is None:
            self.offered -= 1
            return
        peers.ready -= 1
        if peers.parked_at is not None:
            self.held_back -= 1
        elif not peers.ready:
            self._withdraw(peers)
            self._admit_parked(peers)

    def promote(self, queue: Queue) -> None:
        """Let a ready queue enter again at its new, better precedence. Its old entry becomes a gap."""
        peers = self._groups.peers_of.get(queue.key)
        _enter(self._fifo if peers is None else peers.fifo, queue)
        if peers is None:
            return
        if peers.offered:
            self._enter_peers(peers, queue.record.precedence)
        elif peers.parked_at is not None and queue.record.precedence < peers.parked_at[1]:
            self._unpark(peers)
            self._offer(peers)

    def best_precedence(self) -> int | None:
        """The precedence of the next queue."""
        first = self.first()
        return None if first is None else first[0]

    def first_keys(self, limit: int) -> list[str]:
        """Keys of the next queues, about in their order: those of gaps may be among them."""
        keys = []
        for item in self._fifo.first_ones(limit):
            queues = [item] if isinstance(item, Queue) else item.fifo.first_ones(1)
            keys += [queue.key for queue in queues if queue.state is READY]
        return keys

    def first(self) -> First | None:
        """The next entry of the common FIFO: of the best precedence, the one that has been ready longest."""
        while (entry := self._fifo.first()) is not None:
            precedence, item = entry
            if isinstance(item, Queue):
                if _is_valid(self._fifo, precedence, item):
                    return precedence, item, None
                _leave(self._fifo, precedence, item)
                continue
            best = _first_of(item) if item.offered else None
            if best is not None and item.closed_group is None and best[0] <= precedence:
                return precedence, best[1], item
            self._fifo.pop(precedence)
            item.entries.discard(precedence)
            if best is None:
                continue
            self._withdraw(item)
            self._offer(item)
            self._admit_parked(item)
        return None

    def take(self, first: First) -> None:
        """Remove the `first` queue, of which a lease has begun."""
        precedence, queue, peers = first
        self.ready -= 1
        if peers is None:
            _leave(self._fifo, precedence, queue)
            self.offered -= 1
            return
        self._fifo.pop(precedence)
        peers.entries.discard(precedence)
        _leave(peers.fifo, queue.record.precedence, queue)
        peers.ready -= 1
        self._withdraw(peers)
        if peers.ready:
            self._offer(peers)
        self._admit_parked(peers)

    def send_back(self, first: First) -> None:
        """Send the `first` queue to the end of the line: a lease of it has begun, and it stays ready."""
        precedence, queue, peers = first
        if peers is None or (peers.are_alone and precedence == queue.record.precedence and peers.closed_group is None):
            self._fifo.send_back(precedence)
        else:
            self.take(first)
            self.add(queue)

    def admit_parked(self, group: Group) -> None:
        """If the group is open, let the first peers that wait for it enter the common FIFO."""
        while group.parked and group.is_open:
            precedence = min(group.parked)
            peers = next(iter(group.parked[precedence]))
            self._unpark(peers)
            best = _first_of(peers)
            if best is not None and best[0] > precedence and group.parked and best[0] > min(group.parked):
                # The queue that gave them this precedence has become worse, and other peers go first now.
                group.park(peers, best[0])
                self.held_back += peers.ready
                continue
            self._offer(peers)
            if peers.offered:
                return

    def _offer(self, peers: Peers) -> None:
        """Let peers enter the common FIFO, or park them with the group that holds them back."""
        best = _first_of(peers)
        if best is not None:
            self._offer_at(peers, best[0])

    def _offer_at(self, peers: Peers, precedence: int) -> None:
        """The same for peers whose next queue has this precedence."""
        group = peers.closed_group
        if group is not None:
            group.park(peers, precedence)
            self.held_back += peers.ready
            return
        peers.offered = True
        self.offered += 1
        self._enter_peers(peers, precedence)

    def _unpark(self, peers: Peers) -> None:
        assert peers.parked_at is not None
        group, precedence = peers.parked_at
        group.unpark(peers, precedence)
        self.held_back -= peers.ready

    def _enter_peers(self, peers: Peers, precedence: int) -> None:
        if precedence not in peers.entries:
            peers.entries.add(precedence)
            self._fifo.put(precedence, peers)

    def _withdraw(self, peers: Peers) -> None:
        peers.offered = False
        self.offered -= 1

    def _admit_parked(self, peers: Peers) -> None:
        """The peers have left the common FIFO, so others of their groups may enter it."""
        for group in peers.groups:
            if group.parked:
                self.admit_parked(group)


def _first_of(peers: Peers) -> tuple[int, Queue] | None:
    """The next queue of the peers and its precedence, after gaps have been removed."""
    while (first := peers.fifo.first()) is not None:
        precedence, queue = first
        if _is_valid(peers.fifo, precedence, queue):
            return first
        _leave(peers.fifo, precedence, queue)
    return None


def _enter(fifo: PriorityFifo[Any], queue: Queue) -> None:
    """Give the queue an entry at its precedence, unless it has one there already."""
    if queue.fifo is not fifo:
        queue.fifo, queue.fifo_precedences = fifo, 0
    bit = 1 << queue.record.precedence
    if not queue.fifo_precedences & bit:
        queue.fifo_precedences |= bit
        fifo.put(queue.record.precedence, queue)


def _is_valid(fifo: PriorityFifo[Any], precedence: int, queue: Queue) -> bool:
    """Whether this entry of the queue is no gap."""
    return queue.fifo is fifo and queue.state is READY and queue.record.precedence == precedence


def _leave(fifo: PriorityFifo[Any], precedence: int, queue: Queue) -> None:
    """Remove the entry of the queue, which is the first of that precedence."""
    fifo.pop(precedence)
    if queue.fifo is fifo:
        queue.fifo_precedences &= ~(1 << precedence)
