"""Queues that share a pace because they are of one host, at one address or in one domain. Pure.

A group limits how many of its URLs are fetched at once, and rests after a fetch, in addition to the limits and rests of
each queue. A queue may belong to several groups. It waits for all of them.

The ports of a host have their own queues and share the host's pace. Most hosts have one queue, with the name of the
host, which keeps the host's pace alone. Such a queue joins the group of its host only when another queue does: the
queue of another port, or a queue with a *prerequisite*: its next request goes to a host other than its own.
"""

import heapq
from collections.abc import Callable
from itertools import count

from frontier.queues.grouping import Grouping, group_of_host, host_of_group
from frontier.queues.peers import Group, Peers
from frontier.queues.queue import Queue


class Groups:
    """The groups of active queues, and the groups that rest."""

    def __init__(
        self, grouping: Grouping, group_wake_at: Callable[[str], float], host_wake_at: Callable[[str], float]
    ) -> None:
        """The callables say how long a group or host that is not yet known here rests, in seconds since 1970:
        `group_wake_at` by the name of a group, `host_wake_at` by the queue that kept the host's pace alone."""
        self._grouping = grouping
        self._group_wake_at = group_wake_at
        self._host_wake_at = host_wake_at
        self._groups: dict[str, Group] = {}
        self._peers: dict[tuple[str, ...], Peers] = {}
        self.peers_of: dict[str, Peers] = {}
        """The peers of a queue, by its key. A queue that belongs to no group is missing."""
        self.rest_heap: list[tuple[float, int, Group]] = []
        """Groups that rest, and entries of groups whose rest is over."""
        self._tie = count()
        self.on_drop: Callable[[str], None] = lambda _: None
        """Called with the name of a group that no active queue belongs to any more."""
        self.elsewhere = 0
        """Groups that wait for other parts of the crawl."""

    def names(self, queue: Queue) -> tuple[str, ...]:
        """The groups that a queue belongs to, or would join."""
        grouping, prerequisite = self._grouping, queue.prerequisite
        names = grouping.groups_of(queue.key, queue.record.address)
        host = grouping.host_of_key(queue.key)
        if host is not None:
            group = group_of_host(host)
            if host != queue.key or group in self._groups:
                names += (group,)
        if prerequisite is not None:
            names += grouping.groups_of(prerequisite.key, prerequisite.address)
            host = grouping.host_of_key(prerequisite.key)
            if host is not None:
                names += (group_of_host(host),)
            names = tuple(dict.fromkeys(names))
        return names

    def lone_group(self, queue: Queue) -> str | None:
        """The name of the group of the queue's host, if the queue keeps that host's pace alone."""
        if self._grouping.host_of_key(queue.key) != queue.key:
            return None
        group = group_of_host(queue.key)
        return None if group in self._groups else group

    def join(self, queue: Queue, *, now: float) -> list[str]:
        """Let an active queue join its groups. Returns the hosts that have a group for the first time. The queues that
        kept the pace of these hosts alone have to join too."""
        names = self.names(queue)
        if not names:
            return []
        new_hosts: list[str] = []
        peers = self._peers.get(names)
        if peers is None:
            new_hosts = [host for name in names if name not in self._groups and (host := host_of_group(name))]
            groups = tuple(self._group(name, now) for name in names)
            for group in groups:
                group.members += 1
            peers = self._peers[names] = Peers(names, groups)
        peers.members += 1
        self.peers_of[queue.key] = peers
        self._widen(queue)
        return new_hosts

    def _widen(self, queue: Queue) -> None:
        """Allow the queue's host as many leases as the queue alone may have."""
        host = self._grouping.host_of_key(queue.key)
        group = None if host is None else self._groups.get(group_of_host(host))
        if group is not None and group.at_once is not None:
            group.at_once = max(group.at_once, queue.per_queue)

    def have_waiters(self, queue: Queue) -> bool:
        """Whether other queues wait for a group that the queue belongs to, or would join."""
        names = self.names(queue)
        peers = self._peers.get(names)
        if peers is not None and peers.ready:
            return True
        return any(group is not None and group.parked for group in map(self._groups.get, names))

    def leave(self, queue: Queue) -> None:
        """Let the queue leave all its groups."""
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

    def wake_at(self, name: str) -> float:
        """When the rest of a group ends, in seconds since 1970."""
        group = self._groups.get(name)
        return self._group_wake_at(name) if group is None else group.wake_at

    def plan_rests(
        self, queue: Queue, cooldown_s: float, *, now: float, in_trouble: bool = False
    ) -> tuple[tuple[str, float], ...]:
        """The groups that will rest if a lease of the queue ends now and a server was asked: their names, and until
        when, in seconds since 1970.

        The wake time of a queue that is alone on its host also says how long the host rests. That is not so for a queue
        `in_trouble`: perhaps only one port of its host does not answer. Then the host's group gets a rest of its own.
        """
        peers = self.peers_of.get(queue.key)
        if peers is None and not in_trouble:
            return ()
        rests: list[tuple[str, float]] = []
        for group in peers.groups if peers else ():
            until = now + group.limit.rest_after_s(cooldown_s)
            if until > now:
                rests.append((group.name, max(until, group.wake_at)))
        if in_trouble and (lone_group := self.lone_group(queue)) is not None:
            before = 0.0 if queue.record.health.error_streak else queue.record.wake_at
            until = max(now + cooldown_s, before)
            if until > now:
                rests.append((lone_group, until))
        return tuple(rests)

    def close(self, name: str, *, until: float | None, now: float) -> None:
        """Close a group whose requests other parts of the crawl do not allow now: `until` then, or until `open`."""
        group = self._groups[name]
        if until is not None:
            self._rest(group, until, now=now)
        elif not group.is_elsewhere:
            group.is_elsewhere = True
            self.elsewhere += 1

    def open(self, name: str) -> Group | None:
        """Other parts may allow requests of a group now. Returns the group if it waited for that."""
        group = self._groups.get(name)
        if group is None or not group.is_elsewhere:
            return None
        self._end_wait(group)
        return group

    def _end_wait(self, group: Group) -> None:
        self.elsewhere -= group.is_elsewhere
        group.is_elsewhere = False

    def begin_lease(self, peers: Peers) -> None:
        """Begin a lease of one of the peers."""
        for group in peers.groups:
            group.leased += 1

    def end_lease(self, peers: Peers, cooldown_s: float, *, asked: bool, now: float) -> None:
        """End a lease of one of the peers. If a server was asked, their groups rest."""
        for group in peers.groups:
            group.leased -= 1
            if asked:
                self._rest(group, now + group.limit.rest_after_s(cooldown_s), now=now)

    def _rest(self, group: Group, until: float, *, now: float) -> None:
        # A rest that is already over must not replace one whose end has not been handled yet.
        if until > now and until > group.wake_at:
            group.wake_at = until
            group.resting = True
            heapq.heappush(self.rest_heap, (until, next(self._tie), group))

    def next_wake(self) -> tuple[float, str] | None:
        """When the first group wakes, in seconds since 1970, and its name."""
        while self.rest_heap:
            wake_at, _, group = self.rest_heap[0]
            if group.resting and group.wake_at == wake_at:
                return wake_at, group.name
            heapq.heappop(self.rest_heap)
        return None

    def wake(self, now: float) -> list[Group]:
        """Wake the groups whose rest is over, and return them."""
        woken = []
        while (first := self.next_wake()) is not None and first[0] <= now:
            group = heapq.heappop(self.rest_heap)[2]
            group.resting = False
            woken.append(group)
            self._drop_unused(group)
        return woken

    def _group(self, name: str, now: float) -> Group:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = Group(name, self._grouping.limit_of(name))
            self._rest(group, self._group_wake_at(name), now=now)
            host = host_of_group(name)
            if host is not None:
                self._rest(group, self._host_wake_at(host), now=now)
        return group

    def _drop_unused(self, group: Group) -> None:
        if not group.members and not group.resting:
            del self._groups[group.name]
            self._end_wait(group)
            self.on_drop(group.name)
