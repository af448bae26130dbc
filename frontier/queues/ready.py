"""The ready queues, and the order in which they are leased from. Pure.

A queue that belongs to no group has an entry in the common FIFO of its precedence. Peers share one entry there, and
have a FIFO of their own. While one of their groups is closed, they are parked with it.

Invariant: if peers are parked with an open group, other peers of that group are in the common FIFO; whenever one of
these is taken or leaves, the next parked peers enter. So no queue is forgotten, and none is checked in vain. Peers that
return to a group while others wait for it wait behind them.
"""

from itertools import count

from frontier.queues.groups import Groups
from frontier.queues.peers import Group, Peers
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
        """Entries of the common FIFO: queues without a group, and peers."""
        self.ready = 0
        """Ready queues, including those that a group holds back."""
        self._turns = count(1)
        self.held_back = 0
        """Queues that only a group keeps from being leased from."""

    def add(self, queue: Queue) -> None:
        """Add a queue that has become ready."""
        self.ready += 1
        precedence = queue.ready_at = queue.record.precedence
        peers = self._groups.peers_of.get(queue.key)
        if peers is None:
            self.offered += 1
            self._fifo.put(precedence, queue)
            return
        peers.fifo.put(precedence, queue)
        peers.ready += 1
        if peers.parked_at is not None:
            self.held_back += 1
        self._improve(peers, precedence)

    def remove(self, queue: Queue) -> None:
        """Remove a queue that is no longer ready, although it was not taken."""
        self.ready -= 1
        peers = self._groups.peers_of.get(queue.key)
        if peers is None:
            self.offered -= 1
            self._fifo.remove(queue.ready_at, queue)
            return
        peers.fifo.remove(queue.ready_at, queue)
        peers.ready -= 1
        if peers.parked_at is not None:
            self.held_back -= 1
        elif (best := peers.best_precedence) is None:
            self._withdraw(peers)
            self._admit_parked(peers)
        elif best != peers.offered_at:
            self._withdraw(peers)
            self._enter(peers, best)

    def promote(self, queue: Queue) -> None:
        """Let a ready queue enter again at its new, better precedence."""
        peers = self._groups.peers_of.get(queue.key)
        fifo = self._fifo if peers is None else peers.fifo
        fifo.remove(queue.ready_at, queue)
        precedence = queue.ready_at = queue.record.precedence
        fifo.put(precedence, queue)
        if peers is not None:
            self._improve(peers, precedence)

    def best_precedence(self) -> int | None:
        """The precedence of the next queue."""
        first = self.first()
        return None if first is None else first[0]

    def first_keys(self, limit: int) -> list[str]:
        """Keys of the next queues, about in their order."""
        keys = []
        for item in self._fifo.first_ones(limit):
            keys += [item.key] if isinstance(item, Queue) else [queue.key for queue in item.fifo.first_ones(1)]
        return keys

    def first(self) -> First | None:
        """The next entry of the common FIFO: of the best precedence, the one that has been ready longest."""
        while (entry := self._fifo.first()) is not None:
            precedence, item = entry
            if isinstance(item, Queue):
                return precedence, item, None
            if not self.hold_back(item):
                next_of_peers = item.fifo.first()
                assert next_of_peers is not None
                return precedence, next_of_peers[1], item
        return None

    def hold_back(self, peers: Peers) -> bool:
        """If peers in the common FIFO have a closed group, park them with it. Returns whether they were parked."""
        group, precedence = peers.closed_group, peers.offered_at
        if group is None or precedence is None:
            return False
        self._withdraw(peers)
        self._park(peers, group, precedence)
        self._admit_parked(peers)
        return True

    def take(self, first: First) -> None:
        """Remove the `first` queue, of which a lease has begun."""
        precedence, queue, peers = first
        self.ready -= 1
        if peers is None:
            self._fifo.remove(precedence, queue)
            self.offered -= 1
            return
        peers.fifo.remove(precedence, queue)
        peers.ready -= 1
        self._withdraw(peers)
        if (best := peers.best_precedence) is not None:
            self._return(peers, best)
        self._admit_parked(peers)

    def send_back(self, first: First) -> None:
        """Send the `first` queue to the end of the line: a lease of it has begun, and it stays ready."""
        precedence, queue, peers = first
        if peers is None:
            self._fifo.send_back(precedence, queue)
        elif peers.are_alone and peers.closed_group is None:
            self._fifo.send_back(precedence, peers)
        else:
            self.take(first)
            self.add(queue)

    def admit_parked(self, group: Group) -> None:
        """If the group is open, let the first peers that wait for it enter the common FIFO."""
        while group.parked and group.is_open:
            precedence = min(group.parked)
            _, peers = group.parked[precedence][0]
            self._unpark(peers)
            best = peers.best_precedence
            # If the queue that gave them their precedence has become worse, other peers may go first now.
            if best is not None and self._offer(peers, best):
                return

    def _improve(self, peers: Peers, precedence: int) -> None:
        """One of the peers has become ready, or better, with this precedence."""
        if peers.offered_at is not None:
            if precedence < peers.offered_at:
                self._withdraw(peers)
                self._enter(peers, precedence)
        elif peers.parked_at is None:
            self._return(peers, precedence)
        elif precedence < peers.parked_at[1]:
            self._unpark(peers)
            self._return(peers, precedence)

    def _return(self, peers: Peers, precedence: int) -> None:
        """Give peers a new turn: they have become ready or better, or were leased from."""
        peers.turn = next(self._turns)
        self._offer(peers, precedence)

    def _offer(self, peers: Peers, precedence: int) -> bool:
        """Let peers enter the common FIFO, or park them: with the group that holds them back, or with one for which
        others wait longer. Returns whether they entered."""
        group = peers.closed_group or peers.awaited_group(precedence)
        if group is None:
            self._enter(peers, precedence)
            return True
        self._park(peers, group, precedence)
        return False

    def _enter(self, peers: Peers, precedence: int) -> None:
        peers.offered_at = precedence
        self.offered += 1
        self._fifo.put(precedence, peers)

    def _withdraw(self, peers: Peers) -> None:
        assert peers.offered_at is not None
        self._fifo.remove(peers.offered_at, peers)
        peers.offered_at = None
        self.offered -= 1

    def _park(self, peers: Peers, group: Group, precedence: int) -> None:
        group.park(peers, precedence)
        self.held_back += peers.ready

    def _unpark(self, peers: Peers) -> None:
        assert peers.parked_at is not None
        group, precedence = peers.parked_at
        group.unpark(peers, precedence)
        self.held_back -= peers.ready

    def _admit_parked(self, peers: Peers) -> None:
        """The peers have left the common FIFO, so others of their groups may enter it."""
        for group in peers.groups:
            if group.parked:
                self.admit_parked(group)
