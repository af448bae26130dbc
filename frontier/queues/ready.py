"""Whose turn it is among the queues that are ready. Pure.

A queue that belongs to no group stands in the common line of its precedence. Peers stand there as one, with a line of
their own behind; while a group of theirs is closed, they are parked with it.

What must hold: where a group is open and somebody is parked with it, others of the group stand in the common lines, and
whoever of them is taken or leaves lets the next one in. So nobody is forgotten, and nobody is looked at in vain.
"""

from typing import Any

from frontier.queues.groups import Group, Groups, Peers
from frontier.queues.lifecycle import READY, Queue
from frontier.queues.priority_fifo import PriorityFifo


class ReadyQueues:
    """The ready queues, and the order in which they are taken."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._lines: PriorityFifo[Queue | Peers] = PriorityFifo()
        self.open = 0
        """Who stands in the common lines: a queue, or peers."""
        self.ready = 0
        """Queues that are ready, those held back by a group included."""
        self.held_back = 0
        """Queues that are ready, but for a group."""

    def came(self, queue: Queue) -> None:
        """A queue has become ready."""
        self.ready += 1
        peers = self._groups.peers_of.get(queue.key)
        if peers is None:
            self.open += 1
            _stand(self._lines, queue)
            return
        _stand(peers.lines, queue)
        peers.ready += 1
        if peers.parked_at is not None:
            self.held_back += 1
            if queue.precedence < peers.parked_at[1]:
                self._unpark(peers)
                self._offer(peers)
        elif peers.offered:
            self._enter(peers, queue.precedence)
        else:
            self._offer(peers)

    def left(self, queue: Queue) -> None:
        """A queue is not ready any more, although it was not taken. Its place is a gap from now on, which it finds
        again if it is back before the gap comes up."""
        self.ready -= 1
        peers = self._groups.peers_of.get(queue.key)
        if peers is None:
            self.open -= 1
            return
        peers.ready -= 1
        if peers.parked_at is not None:
            self.held_back -= 1
        elif not peers.ready:
            self._withdraw(peers)
            self._let_in(peers)

    def improved(self, queue: Queue) -> None:
        """A ready queue has a better precedence than it had, and goes before those that it stood behind. Where it stood
        is a gap."""
        peers = self._groups.peers_of.get(queue.key)
        _stand(self._lines if peers is None else peers.lines, queue)
        if peers is None:
            return
        if peers.offered:
            self._enter(peers, queue.precedence)
        elif peers.parked_at is not None and queue.precedence < peers.parked_at[1]:
            self._unpark(peers)
            self._offer(peers)

    def best(self) -> int | None:
        """The precedence of the next queue."""
        first = self._first()
        return None if first is None else first[0]

    def take(self) -> Queue | None:
        """The queue of the best precedence that has been ready longest; it is not ready any more. One more of its
        groups' places is taken."""
        first = self._first()
        if first is None:
            return None
        precedence, item = first
        self.ready -= 1
        if isinstance(item, Queue):
            _leave(self._lines, precedence, item)
            self.open -= 1
            return item
        self._lines.pop(precedence)
        item.entries.discard(precedence)
        best = _first_of(item)
        assert best is not None, "peers that are offered have a ready queue"
        place, queue = best
        _leave(item.lines, place, queue)
        item.ready -= 1
        self._withdraw(item)
        for group in item.groups:
            group.leased += 1
        self._offer(item)
        self._let_in(item)
        return queue

    def opened(self, group: Group) -> None:
        """A group may have become open: let in the first that waits for it."""
        while group.parked and group.is_open:
            precedence = min(group.parked)
            peers = next(iter(group.parked[precedence]))
            self._unpark(peers)
            best = _first_of(peers)
            if best is not None and best[0] > precedence and group.parked and best[0] > min(group.parked):
                # The queue for which they stood there has become worse, and others go before them now.
                group.park(peers, best[0])
                self.held_back += peers.ready
                continue
            self._offer(peers)
            if peers.offered:
                return

    def _first(self) -> tuple[int, Queue | Peers] | None:
        """Who is next, after gaps have been removed."""
        while (first := self._lines.first()) is not None:
            precedence, item = first
            if isinstance(item, Queue):
                if _stands(self._lines, precedence, item):
                    return first
                _leave(self._lines, precedence, item)
                continue
            best = _first_of(item) if item.offered else None
            if best is not None and item.closed is None and best[0] <= precedence:
                return first
            self._lines.pop(precedence)
            item.entries.discard(precedence)
            if best is None:
                continue
            self._withdraw(item)
            self._offer(item)
            self._let_in(item)
        return None

    def _offer(self, peers: Peers) -> None:
        """Let peers stand in the common lines, or park them."""
        best = _first_of(peers)
        if best is None:
            return
        group = peers.closed
        if group is not None:
            group.park(peers, best[0])
            self.held_back += peers.ready
            return
        peers.offered = True
        self.open += 1
        self._enter(peers, best[0])

    def _unpark(self, peers: Peers) -> None:
        assert peers.parked_at is not None
        group, precedence = peers.parked_at
        group.unpark(peers, precedence)
        self.held_back -= peers.ready

    def _enter(self, peers: Peers, precedence: int) -> None:
        if precedence not in peers.entries:
            peers.entries.add(precedence)
            self._lines.put(precedence, peers)

    def _withdraw(self, peers: Peers) -> None:
        peers.offered = False
        self.open -= 1

    def _let_in(self, peers: Peers) -> None:
        """Peers do not stand where they stood: others of their groups may."""
        for group in peers.groups:
            self.opened(group)


def _first_of(peers: Peers) -> tuple[int, Queue] | None:
    """The queue of the peers that is next, after gaps have been removed."""
    while (first := peers.lines.first()) is not None:
        precedence, queue = first
        if _stands(peers.lines, precedence, queue):
            return first
        _leave(peers.lines, precedence, queue)
    return None


def _stand(lines: PriorityFifo[Any], queue: Queue) -> None:
    """Let the queue stand in line at its precedence, where a gap of its own may be."""
    if queue.line is not lines:
        queue.line, queue.line_places = lines, 0
    place = 1 << queue.precedence
    if not queue.line_places & place:
        queue.line_places |= place
        lines.put(queue.precedence, queue)


def _stands(lines: PriorityFifo[Any], precedence: int, queue: Queue) -> bool:
    """Whether the queue, found there, is no gap."""
    return queue.line is lines and queue.state is READY and queue.precedence == precedence


def _leave(lines: PriorityFifo[Any], precedence: int, queue: Queue) -> None:
    """Take the queue, which is the first there, out of the line."""
    lines.pop(precedence)
    if queue.line is lines:
        queue.line_places &= ~(1 << precedence)
