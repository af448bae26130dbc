"""Queues that share a pace: groups, because they are of one host, lie on one address or in one domain. Pure.

A group bounds how many of its URLs are fetched at once, and rests after a fetch, beside what each of its queues does
for itself. A queue may belong to several groups, and waits for all of them.

The ports of a host have queues of their own and share the host's pace. Nearly all hosts have one queue, which is named
as the host is and keeps the pace alone. It joins the group of its host only when another queue does: one of another
port, or one on an *errand*, whose next request goes to a host other than its own.

Queues that belong to the same groups are *peers*: what holds one back holds back all, so they wait as one. Peers whose
group is closed are parked with it, and come back when it opens, one for each place: opening a group of a million hosts
costs as much as one of two.
"""

import heapq
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Final

import msgspec

from frontier.queues.lifecycle import Queue
from frontier.queues.priority_fifo import PriorityFifo


class GroupLimit(msgspec.Struct, frozen=True, kw_only=True):
    """What a kind of groups may do."""

    at_once: int | None = None
    """Leases of all its queues together; None for no limit."""
    rest_s: float = 0.0
    """After each fetch."""
    shares_cooldown: bool = False
    """Whether the group rests as long as the queue does whose URL was fetched."""

    def rest_after_s(self, cooldown_s: float) -> float:
        return max(self.rest_s, cooldown_s) if self.shares_cooldown else self.rest_s


def _none(queue_key: str) -> Sequence[str]:  # noqa: ARG001
    return ()


def _no_host(queue_key: str) -> str | None:  # noqa: ARG001
    return None


class Grouping(msgspec.Struct, frozen=True, kw_only=True):
    """To which groups a queue belongs. A group is named by kind and name: `ip 192.0.2.1`, `domain org,example`."""

    limits: Mapping[str, GroupLimit] = {}
    """By kind; a kind without limit has no groups."""
    named: Callable[[str], Sequence[str]] = _none
    """The groups that a queue's key tells of, but for its host."""
    host: Callable[[str], str | None] = _no_host
    """The host whose pace a queue keeps, by the queue's key; None for a queue that keeps one of its own."""
    per_host: Callable[[str], int] | None = None
    """Leases of all queues of a host, by its name; None for no limit."""

    def of(self, queue_key: str, address: str | None) -> tuple[str, ...]:
        """The groups of a queue whose server has that address, if it is known; without that of its host."""
        if not self.limits:
            return ()
        names = [*self.named(queue_key), *(() if address is None else (f"ip {address}",))]
        return tuple(name for name in names if kind_of(name) in self.limits)

    def limit(self, name: str) -> GroupLimit:
        """What a group may do."""
        if not name.startswith(_OF_HOST):
            return self.limits[kind_of(name)]
        at_once = None if self.per_host is None else self.per_host(name[len(_OF_HOST) :])
        return GroupLimit(at_once=at_once, shares_cooldown=True)


_OF_HOST: Final = "host "


def kind_of(name: str) -> str:
    return name.partition(" ")[0]


def group_of_host(host: str) -> str:
    """The name of its group."""
    return f"{_OF_HOST}{host}"


class Group:
    """What the hosts of a group share."""

    __slots__ = ("at_once", "leased", "limit", "members", "name", "parked", "resting", "wake_at")

    def __init__(self, name: str, limit: GroupLimit) -> None:
        self.name = name
        self.limit = limit
        self.at_once = limit.at_once
        self.leased = 0
        self.wake_at = 0.0
        self.resting = False
        self.members = 0
        """Peers that belong to it."""
        self.parked: dict[int, OrderedDict[Peers, None]] = {}
        """Those that wait for it, by precedence, and then in the order they came."""

    @property
    def is_open(self) -> bool:
        return self.is_open_beside(0)

    def is_open_beside(self, leases: int) -> bool:
        """Whether it would be open without so many of its leases."""
        return not self.resting and (self.at_once is None or self.leased - leases < self.at_once)

    def park(self, peers: "Peers", precedence: int) -> None:
        peers.parked_at = (self, precedence)
        self.parked.setdefault(precedence, OrderedDict())[peers] = None

    def unpark(self, peers: "Peers", precedence: int) -> None:
        peers.parked_at = None
        line = self.parked[precedence]
        del line[peers]
        if not line:
            del self.parked[precedence]


class Peers:
    """Queues that belong to the same groups."""

    __slots__ = ("entries", "groups", "lines", "members", "names", "offered", "parked_at", "ready")

    def __init__(self, names: tuple[str, ...], groups: tuple[Group, ...]) -> None:
        self.names = names
        self.groups = groups
        self.members = 0
        """Active queues."""
        self.ready = 0
        """Queues that are ready, but for their groups."""
        self.lines: PriorityFifo[Queue] = PriorityFifo()
        self.entries: set[int] = set()
        """The precedences at which they stand in the common lines, or have stood."""
        self.offered = False
        """Whether their turn may come."""
        self.parked_at: tuple[Group, int] | None = None
        """The group that holds them back, and the precedence at which they wait for it."""

    @property
    def closed(self) -> Group | None:
        """The first of their groups that holds them back."""
        for group in self.groups:
            if not group.is_open:
                return group
        return None


class Groups:
    """The groups of active queues, and those that rest."""

    def __init__(
        self, grouping: Grouping, rested_until: Callable[[str], float], host_rested_until: Callable[[str], float]
    ) -> None:
        """Both tell until when somebody rests, in seconds since 1970: a group of which nothing is known yet, and a host
        by the queue that kept its pace alone."""
        self._grouping = grouping
        self._rested_until = rested_until
        self._host_rested_until = host_rested_until
        self._groups: dict[str, Group] = {}
        self._peers: dict[tuple[str, ...], Peers] = {}
        self.peers_of: dict[str, Peers] = {}
        """With whom a queue waits, by its key; one that belongs to no group is not there."""
        self.resting: list[tuple[float, int, Group]] = []
        """A heap, of those too that rest no more."""
        self._tie = count()

    def names(self, queue: Queue) -> tuple[str, ...]:
        """The groups to which a queue belongs, or would."""
        grouping, errand = self._grouping, queue.errand
        names = grouping.of(queue.key, queue.address)
        host = grouping.host(queue.key)
        if host is not None:
            group = group_of_host(host)
            if host != queue.key or group in self._groups:
                names += (group,)
        if errand is not None:
            names += grouping.of(errand.key, errand.address)
            host = grouping.host(errand.key)
            if host is not None:
                names += (group_of_host(host),)
            names = tuple(dict.fromkeys(names))
        return names

    def alone(self, queue: Queue) -> str | None:
        """The group of the queue's host, if the queue keeps that host's pace alone."""
        if self._grouping.host(queue.key) != queue.key:
            return None
        group = group_of_host(queue.key)
        return None if group in self._groups else group

    def join(self, queue: Queue, *, now: float) -> list[str]:
        """An active queue belongs to its groups from now on. Returns the hosts that have a group for the first time:
        the queues that kept their pace alone are to join it."""
        names = self.names(queue)
        if not names:
            return []
        new: list[str] = []
        peers = self._peers.get(names)
        if peers is None:
            new = [name[len(_OF_HOST) :] for name in names if name.startswith(_OF_HOST) and name not in self._groups]
            groups = tuple(self._group(name, now) for name in names)
            for group in groups:
                group.members += 1
            peers = self._peers[names] = Peers(names, groups)
        peers.members += 1
        self.peers_of[queue.key] = peers
        self._widen(queue)
        return new

    def _widen(self, queue: Queue) -> None:
        """Let the host of a queue, or one of its ports, have as many leases as that queue alone may."""
        host = self._grouping.host(queue.key)
        group = None if host is None else self._groups.get(group_of_host(host))
        if group is not None and group.at_once is not None:
            group.at_once = max(group.at_once, queue.per_queue)

    def are_awaited(self, queue: Queue) -> bool:
        """Whether others wait for a group that the queue belongs to, or would."""
        names = self.names(queue)
        peers = self._peers.get(names)
        if peers is not None and peers.ready:
            return True
        return any(group is not None and group.parked for group in map(self._groups.get, names))

    def leave(self, queue: Queue) -> None:
        """It belongs to none any more."""
        peers = self.peers_of.pop(queue.key, None)
        if peers is None:
            return
        peers.members -= 1
        if peers.members:
            return
        del self._peers[peers.names]
        for group in peers.groups:
            group.members -= 1
            self._drop_unused(group)

    def rested_until(self, name: str) -> float:
        """Until when a group rests: seconds since 1970."""
        group = self._groups.get(name)
        return self._rested_until(name) if group is None else group.wake_at

    def rests(self, queue: Queue, cooldown_s: float, *, now: float) -> tuple[tuple[str, float], ...]:
        """Until when the queue's groups rest if a fetch ends now: their names, and seconds since 1970."""
        peers = self.peers_of.get(queue.key)
        if peers is None:
            return ()
        rests = ((group, now + group.limit.rest_after_s(cooldown_s)) for group in peers.groups)
        return tuple((group.name, max(until, group.wake_at)) for group, until in rests if until > now)

    def ended(self, peers: Peers, cooldown_s: float, *, asked: bool, now: float) -> None:
        """A fetch of theirs ends; their groups rest if a server was asked."""
        for group in peers.groups:
            group.leased -= 1
            if asked:
                self._rest(group, now + group.limit.rest_after_s(cooldown_s), now=now)

    def _rest(self, group: Group, until: float, *, now: float) -> None:
        # An end that is over already must not hide one that nobody has been woken for yet.
        if until > max(now, group.wake_at):
            group.wake_at = until
            group.resting = True
            heapq.heappush(self.resting, (until, next(self._tie), group))

    def next_wake(self) -> tuple[float, str] | None:
        """When the first group wakes, and its name: seconds since 1970."""
        while self.resting:
            wake_at, _, group = self.resting[0]
            if group.resting and group.wake_at == wake_at:
                return wake_at, group.name
            heapq.heappop(self.resting)
        return None

    def woken(self, now: float) -> list[Group]:
        """Groups whose rest is over."""
        found = []
        while (first := self.next_wake()) is not None and first[0] <= now:
            group = heapq.heappop(self.resting)[2]
            group.resting = False
            found.append(group)
            self._drop_unused(group)
        return found

    def _group(self, name: str, now: float) -> Group:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = Group(name, self._grouping.limit(name))
            self._rest(group, self._rested_until(name), now=now)
            if name.startswith(_OF_HOST):
                self._rest(group, self._host_rested_until(name[len(_OF_HOST) :]), now=now)
        return group

    def _drop_unused(self, group: Group) -> None:
        if not group.members and not group.resting:
            del self._groups[group.name]
