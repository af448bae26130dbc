"""A group, and its peers: queues that belong to the same groups. Pure.

What holds one of the peers back holds all back, so they wait as one entry. When a group closes, its peers are parked
with it. When it opens, one entry returns for each free lease. So opening a group of a million hosts costs as much as
opening a group of two.

Peers are parked in the order of their turns, also if they come from another of their groups. Otherwise a host that
waits for its domain could go before all others at its address again and again.
"""

from bisect import bisect_left, insort

from frontier.queues.grouping import GroupLimit
from frontier.queues.priority_fifo import PriorityFifo
from frontier.queues.queue import Queue


class Group:
    """The state that the queues of a group share."""

    __slots__ = ("at_once", "is_elsewhere", "leased", "limit", "members", "name", "parked", "resting", "wake_at")

    def __init__(self, name: str, limit: GroupLimit) -> None:
        self.name = name
        self.limit = limit
        self.at_once = limit.at_once
        self.leased = 0
        self.wake_at = 0.0
        self.resting = False
        self.is_elsewhere = False
        """Whether it waits for other parts of the crawl."""
        self.members = 0
        """Peers that belong to it."""
        self.parked: dict[int, list[tuple[int, Peers]]] = {}
        """Peers that wait for it, by precedence, and then by their turns. Nearly all enter at the end; to remove the
        first of 50,000 moves 400 KB, which takes microseconds."""

    @property
    def is_open(self) -> bool:
        return self.is_open_without(0)

    def is_open_without(self, leases: int) -> bool:
        """Whether the group would be open if it had this many leases fewer."""
        if self.resting or self.is_elsewhere:
            return False
        return self.at_once is None or self.leased - leases < self.at_once

    def park(self, peers: "Peers", precedence: int) -> None:
        peers.parked_at = (self, precedence)
        insort(self.parked.setdefault(precedence, []), (peers.turn, peers))

    def unpark(self, peers: "Peers", precedence: int) -> None:
        peers.parked_at = None
        parked = self.parked[precedence]
        del parked[bisect_left(parked, (peers.turn,))]
        if not parked:
            del self.parked[precedence]

    def has_earlier(self, turn: int, precedence: int) -> bool:
        """Whether peers wait for it, as some must, whose turn comes before this one."""
        best = min(self.parked)
        return best < precedence or (best == precedence and self.parked[best][0][0] < turn)


class Peers:
    """Queues that belong to the same groups."""

    __slots__ = ("fifo", "groups", "members", "names", "offered_at", "parked_at", "ready", "turn")

    def __init__(self, names: tuple[str, ...], groups: tuple[Group, ...]) -> None:
        self.names = names
        self.groups = groups
        self.members = 0
        """Active queues."""
        self.ready = 0
        """Queues that are ready, apart from their groups."""
        self.fifo: PriorityFifo[Queue] = PriorityFifo()
        """The ready ones."""
        self.offered_at: int | None = None
        """The precedence at which they have an entry in the common FIFO."""
        self.turn = 0
        """Orders peers that wait for a group: by when they became ready, or were last leased from."""
        self.parked_at: tuple[Group, int] | None = None
        """The group that holds them back, and the precedence at which they wait for it."""

    @property
    def closed_group(self) -> Group | None:
        """The first of their groups that holds them back."""
        for group in self.groups:
            # What `Group.is_open` says, without two calls for each of several looks a page.
            if group.resting or group.is_elsewhere or (group.at_once is not None and group.leased >= group.at_once):
                return group
        return None

    def awaited_group(self, precedence: int) -> Group | None:
        """The first of their groups for which others wait whose turn comes before."""
        for group in self.groups:
            if group.parked and group.has_earlier(self.turn, precedence):
                return group
        return None

    @property
    def best_precedence(self) -> int | None:
        """The precedence of the next of them that is ready."""
        first = self.fifo.first()
        return None if first is None else first[0]

    @property
    def are_alone(self) -> bool:
        """Whether they are one queue, and no other queue belongs to any of their groups."""
        for group in self.groups:
            if group.members > 1:
                return False
        return self.members == 1
