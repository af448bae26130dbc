"""Whose turn it is among the queues that are ready. Pure.

A queue that belongs to no group stands in the common line of its precedence. Peers stand there as one, with a line of
their own behind; while a group of theirs is closed, they are parked with it.

What must hold: where a group is open and somebody is parked with it, others of the group stand in the common lines, and
whoever of them is taken or leaves lets the next one in. So nobody is forgotten, and nobody is looked at in vain.
"""

from frontier.groups import Group, Groups, Peers
from frontier.lifecycle import READY, Queue
from frontier.lines import Lines


class Turns:
    """The ready queues, and the order in which they are taken."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._lines: Lines[Queue | Peers] = Lines()
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
            if queue.line is not self._lines:
                queue.line = self._lines
                self._lines.put(queue.precedence, queue)
            return
        if queue.line is not peers.lines:
            queue.line = peers.lines
            peers.lines.put(queue.precedence, queue)
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
        self._lines.pop(precedence)
        self.ready -= 1
        if isinstance(item, Queue):
            item.line = None
            self.open -= 1
            return item
        item.entries.discard(precedence)
        best = _first_of(item)
        assert best is not None, "peers that are offered have a ready queue"
        queue = best[1]
        item.lines.pop(best[0])
        queue.line = None
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
            peers = next(iter(group.parked[min(group.parked)]))
            self._unpark(peers)
            self._offer(peers)
            if peers.offered:
                return

    def _first(self) -> tuple[int, Queue | Peers] | None:
        """Who is next, after gaps have been removed."""
        while (first := self._lines.first()) is not None:
            precedence, item = first
            if isinstance(item, Queue):
                if item.line is self._lines:
                    if item.state is READY:
                        return first
                    item.line = None
                self._lines.pop(precedence)
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
        if queue.line is peers.lines:
            if queue.state is READY:
                return first
            queue.line = None
        peers.lines.pop(precedence)
    return None
