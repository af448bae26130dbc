"""A frontier that keeps the pace of hosts together with other crawls."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from crawler.shared_pace.slot import BUSY_WAIT_S
from crawler.shared_pace.table import PaceTable
from frontier import ForwardingFrontier, Frontier, Lease, Outcome

log = logging.getLogger(__name__)

LONGEST_WAIT_S: Final = 60.0


class PaceGroup(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A group of hosts whose pace crawls keep together, as one crawl asks it."""

    name: str
    at_once: int
    delay_s: float
    """How long it rests at least after each request."""
    shares_cooldown: bool
    """Whether it rests at least as long as the queue whose URL was fetched."""
    alone: bool = False
    """Whether it gets one request at a time, however many other crawls let run."""
    whole_host: str | None = None
    """The name of the host, if this is one of several of its queues that each keep a pace of their own."""

    def rest_after_s(self, cooldown_s: float) -> float:
        return max(self.delay_s, cooldown_s) if self.shares_cooldown else self.delay_s


GroupsOf = Callable[[str, str, str | None], Sequence[PaceGroup]]
"""The groups of a queue key, a URL of that queue, and the address of its server, if that is known. The first one is the
host of the URL, whatever other hosts share its queue."""
HostRestOf = Callable[[str], float]
"""For how many seconds the host of a queue rests for all its queues, as for Retry-After, even if each of them keeps a
pace of its own."""
PrerequisiteOf = Callable[[str], str | None]
"""The URL on another host that must be asked for before a URL may be fetched."""
RestAloneOf = Callable[[str], float | None]
"""How long the host of a URL rests at least if it gets one request at a time from all queues of all crawls: for its
Crawl-delay, or 0 while its robots.txt is to be asked for. Else None."""


class PacedFrontier(ForwardingFrontier):
    """Begins no request against the pace of other crawls. The URL then goes back, and its queue waits."""

    def __init__(
        self,
        frontier: Frontier,
        table: PaceTable,
        groups_of: GroupsOf,
        *,
        prerequisite_of: PrerequisiteOf,
        rest_alone_of: RestAloneOf,
        host_rest_of: HostRestOf,
    ) -> None:
        super().__init__(frontier)
        self._table = table
        self._groups_of = groups_of
        self._prerequisite_of = prerequisite_of
        self._rest_alone_of = rest_alone_of
        self._host_rest_of = host_rest_of
        self._begun: dict[int, list[PaceGroup]] = {}
        """The groups in which the request of a lease runs, by the number of its URL."""
        self._unexpected: dict[int, list[PaceGroup]] = {}
        """The groups whose server had a request that had been expected elsewhere."""
        self._elsewhere: dict[int, tuple[str, str]] = {}
        """The queue key and the URL of the prerequisite that a lease asks for."""
        self._refused: dict[str, set[str]] = {}
        """The queues that a group has refused since it last let one begin."""
        self._has_failed = False

    def begin_fetch(self, lease: Lease, /, *, address: str | None, prerequisite: str | None = None) -> bool:
        # The crawl's own limits come first: what they hold back needs no turn among crawls.
        if not super().begin_fetch(lease, address=address, prerequisite=prerequisite):
            return False
        if prerequisite is not None and (url := self._prerequisite_of(lease.url.url)) is not None:
            self._elsewhere[lease.number] = prerequisite, url
        wait_s = self._begin(lease, self._groups(lease, address))
        if wait_s:
            self._elsewhere.pop(lease.number, None)
            super().release(lease, cooldown_s=wait_s, reason="another crawl")
        return not wait_s

    def relocate(self, lease: Lease, /, *, address: str, prerequisite: str | None = None) -> None:
        super().relocate(lease, address=address, prerequisite=prerequisite)
        host, *limits = self._groups_of(*self._asked(lease), address)
        of_host = (host.name, host.whole_host, _robots_of(host))
        unexpected = {group.name: group for group in limits}
        begun = []
        for group in self._begun.pop(lease.number, ()):
            # Robots.txt may be known by now, but its request has not ended yet.
            if unexpected.pop(group.name, None) is not None or group.name in of_host:
                begun.append(group)
            else:
                self._end_in(group, None)
        self._begun[lease.number] = begun
        self._unexpected[lease.number] = list(unexpected.values())

    async def done(
        self,
        lease: Lease,
        /,
        *,
        cooldown_s: float,
        group_cooldown_s: float | None = None,
        outcome: Outcome,
        **how: Any,
    ) -> None:
        rest_s = cooldown_s if group_cooldown_s is None else group_cooldown_s
        self._end(lease, rest_s if outcome.asked else None)
        await super().done(lease, cooldown_s=cooldown_s, group_cooldown_s=group_cooldown_s, outcome=outcome, **how)

    async def retry(
        self, lease: Lease, /, *, cooldown_s: float, group_cooldown_s: float | None = None, **how: Any
    ) -> None:
        self._end(lease, cooldown_s if group_cooldown_s is None else group_cooldown_s)
        await super().retry(lease, cooldown_s=cooldown_s, group_cooldown_s=group_cooldown_s, **how)

    def release(
        self,
        lease: Lease,
        /,
        *,
        cooldown_s: float = 0.0,
        group_cooldown_s: float | None = None,
        asked: bool = False,
        **how: Any,
    ) -> None:
        # Without an answer we cannot know whether the server was asked: the crawl may be ending.
        rest_s = cooldown_s if group_cooldown_s is None else group_cooldown_s
        self._end(lease, rest_s if asked else 0.0)
        super().release(lease, cooldown_s=cooldown_s, group_cooldown_s=group_cooldown_s, asked=asked, **how)

    def _asked(self, lease: Lease) -> tuple[str, str]:
        """The queue key and the URL of the next request of the lease: its own, or those of a prerequisite."""
        return self._elsewhere.get(lease.number) or (lease.url.queue_key, lease.url.url)

    def _groups(self, lease: Lease, address: str | None) -> Sequence[PaceGroup]:
        """The groups whose server the next request of the lease asks. A Crawl-delay holds for all queues of the host
        together. A request for robots.txt is one of its queue, and comes after those of other crawls; but one for the
        robots.txt of another host, which leads here, tells none of them what this host asks for. If the host has
        several queues, only the group of all of them shows whether another crawl keeps a Crawl-delay there."""
        queue_key, url = self._asked(lease)
        host, *limits = self._groups_of(queue_key, url, address)
        rest_s = self._rest_alone_of(url)
        if rest_s is None or (not rest_s and host.whole_host is None and lease.number in self._elsewhere):
            return [host, *limits]
        if not rest_s:
            return [msgspec.structs.replace(host, name=_robots_of(host), at_once=1), host, *limits]
        name, delay_s = host.whole_host or host.name, max(host.delay_s, rest_s)
        return [msgspec.structs.replace(host, name=name, at_once=1, delay_s=delay_s, alone=True), *limits]

    def _begin(self, lease: Lease, groups: Sequence[PaceGroup]) -> float:
        """Begin in all groups, or in none. Returns how long to wait."""
        if (whole_host := groups[0].whole_host) is not None:
            rests = _rests_of(whole_host)
            if wait_s := self._call(partial(self._table.rest_s, rests)):
                return max(wait_s, self._refuse(rests, lease.url.queue_key))
            self._refused.pop(rests, None)
        for group in groups:
            at_once, delay_s, alone = group.at_once, group.delay_s, group.alone
            begin = partial(self._table.begin, group.name, at_once=at_once, delay_s=delay_s, alone=alone)
            wait_s = self._call(begin)
            if wait_s is None:
                continue  # without the others
            if wait_s:
                self._end(lease, None)
                return max(wait_s, self._refuse(group.name, lease.url.queue_key))
            self._refused.pop(group.name, None)
            self._begun.setdefault(lease.number, []).append(group)
        return 0.0

    def _refuse(self, group: str, queue_key: str) -> float:
        """How long a queue waits that a group has refused, so that of many queues not all look again at once."""
        refused = self._refused.setdefault(group, set())
        refused.add(queue_key)
        return min(BUSY_WAIT_S * (len(refused) - 1), LONGEST_WAIT_S)

    def _end(self, lease: Lease, cooldown_s: float | None) -> None:
        """The request of a lease has ended; with None no server was asked. Harmless if there is none.

        This comes before the frontier is told, so that the rest that others see does not end after its own."""
        for group in self._begun.pop(lease.number, ()):
            self._end_in(group, cooldown_s)
        for group in self._unexpected.pop(lease.number, ()):
            if cooldown_s is not None:
                self._call(partial(self._table.rest, group.name, group.rest_after_s(cooldown_s)))
        queue_key, url = self._asked(lease)
        self._elsewhere.pop(lease.number, None)
        if host_rest_s := self._host_rest_of(queue_key):
            host = self._groups_of(queue_key, url, None)[0]
            if host.whole_host is not None:
                self._call(partial(self._table.rest, host.whole_host, host_rest_s))
            self._call(partial(self._table.rest, _rests_of(host.whole_host or host.name), host_rest_s))

    def _end_in(self, group: PaceGroup, cooldown_s: float | None) -> None:
        rest_s = None if cooldown_s is None else group.rest_after_s(cooldown_s)
        self._call(partial(self._table.end, group.name, rest_s))

    def _call(self, call: Callable[[], float | None]) -> float | None:
        """The result of a call to the table; None if the table fails."""
        try:
            return call()
        except OSError as error:
            self._warn(error)
            return None

    def _warn(self, error: OSError) -> None:
        if not self._has_failed:
            self._has_failed = True
            log.warning("the pace of hosts can't be shared with other crawls, so this one keeps it alone: %s", error)


def _robots_of(host: PaceGroup) -> str:
    """The group of the requests for the robots.txt of a host. If it has several queues, its other requests that have to
    be alone are in it, too."""
    return host.whole_host or f"robots of {host.name}"


def _rests_of(host: str) -> str:
    """The group of all rests that hold for several queues of a host with a pace of their own. Those that follow from
    the pace of a crawl with a single queue do not."""
    return f"rests of {host}"
