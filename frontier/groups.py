"""Hosts that share a pace: groups of queues, because they lie on one address or in one domain. Pure.

A group bounds how many of its URLs are fetched at once, and rests after a fetch, beside what each of its queues does
for itself. A queue may belong to several groups, and waits for all of them.

Queues that belong to the same groups are *peers*: what holds one back holds back all, so they wait as one. Peers whose
group is closed are parked with it, and come back when it opens, one for each place: opening a group of a million hosts
costs as much as one of two.
"""

import heapq
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from itertools import count

import msgspec

from frontier.lifecycle import Queue
from frontier.lines import Lines


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


class Grouping(msgspec.Struct, frozen=True, kw_only=True):
    """To which groups a queue belongs. A group is named by kind and name: `ip 192.0.2.1`, `domain org,example`."""

    limits: Mapping[str, GroupLimit] = {}
    """By kind; a kind without limit has no groups."""
    named: Callable[[str], Sequence[str]] = _none
    """The groups that a queue's key tells of."""

    def of(self, queue_key: str, address: str | None) -> tuple[str, ...]:
        """The groups of a queue whose server has that address, if it is known."""
        if not self.limits:
            return ()
        names = [*self.named(queue_key), *(() if address is None else (f"ip {address}",))]
        return tuple(name for name in names if kind_of(name) in self.limits)


def kind_of(name: str) -> str:
    return name.partition(" ")[0]


class Group:
    """What the hosts of a group share."""

    __slots__ = ("leased", "limit", "members", "name", "parked", "resting", "wake_at")

    def __init__(self, name: str, limit: GroupLimit) -> None:
        self.name = name
        self.limit = limit
        self.leased = 0
        self.wake_at = 0.0
        self.resting = False
        self.members = 0
        """Peers that belong to it."""
        self.parked: dict[int, OrderedDict[Peers, None]] = {}
        """Those that wait for it, by precedence, and then in the order they came."""

    @property
    def is_open(self) -> bool:
        at_once = self.limit.at_once
        return not self.resting and (at_once is None or self.leased < at_once)

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
        self.lines: Lines[Queue] = Lines()
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

    def __init__(self, grouping: Grouping, rested_until: Callable[[str], float]) -> None:
        """`rested_until` tells until when a group rests that has no active queue: seconds since 1970."""
        self._grouping = grouping
        self._rested_until = rested_until
        self._groups: dict[str, Group] = {}
        self._peers: dict[tuple[str, ...], Peers] = {}
        self.peers_of: dict[str, Peers] = {}
        """With whom a queue waits, by its key; one that belongs to no group is not there."""
        self.resting: list[tuple[float, int, Group]] = []
        """A heap, of those too that rest no more."""
        self._tie = count()

    def join(self, queue: Queue, *, now: float) -> None:
        """An active queue belongs to its groups from now on."""
        names = self._grouping.of(queue.key, queue.address)
        if not names:
            return
        peers = self._peers.get(names)
        if peers is None:
            groups = tuple(self._group(name, now) for name in names)
            for group in groups:
                group.members += 1
            peers = self._peers[names] = Peers(names, groups)
        peers.members += 1
        self.peers_of[queue.key] = peers

    def are_awaited(self, queue: Queue) -> bool:
        """Whether others wait for a group that the queue belongs to, or would."""
        names = self._grouping.of(queue.key, queue.address)
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
            group = self._groups[name] = Group(name, self._grouping.limits[kind_of(name)])
            self._rest(group, self._rested_until(name), now=now)
        return group

    def _drop_unused(self, group: Group) -> None:
        if not group.members and not group.resting:
            del self._groups[group.name]
