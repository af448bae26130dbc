"""What the hosts of a report do now, or why they wait, and what their robots.txt files say."""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from crawler.control.replies import HostForm, HostList, RobotsForm, RobotsList
from crawler.control.requests import MAX_ITEMS, InspectRobots, Top
from crawler.operate.reach import ReachedCrawl
from crawler.operate.refused import Refused
from crawler.operate.report.forms import HostRow, HostTable

_OF_PORTS_AND_QUEUES: Final = ":#"


class Waiting:
    """The hosts that a crawl serves now, and those that come next, as far as one request tells."""

    def __init__(self, hosts: Iterable[HostForm]) -> None:
        self._hosts: dict[str, HostForm] = {}
        for each in hosts:
            name = _name(each.host)
            before = self._hosts.get(name)
            # The first one is that which is served first. Ports, and parts of a host, are queues of their own.
            size = each.size if before is None else before.size + each.size
            self._hosts[name] = msgspec.structs.replace(before or each, size=size)

    def add_to(self, table: HostTable) -> HostTable:
        return _changed(table, self._added)

    def _added(self, row: HostRow) -> HostRow:
        found = self._hosts.get(row.host)
        return row if found is None else msgspec.structs.replace(row, queued=found.size, waits=found.waits)


class RobotsOfHosts:
    """What the robots.txt files of hosts say."""

    def __init__(self, found: Iterable[RobotsForm]) -> None:
        self._found = {each.host: each for each in found}

    def add_to(self, table: HostTable) -> HostTable:
        return _changed(table, self._added)

    def _added(self, row: HostRow) -> HostRow:
        found = self._found.get(row.host)
        if found is None:
            return row
        return msgspec.structs.replace(
            row, robots=found.robots, robots_at=found.asked_at, crawl_delay_s=found.crawl_delay_s
        )


def _changed(table: HostTable, change: Callable[[HostRow], HostRow]) -> HostTable:
    return msgspec.structs.replace(
        table,
        most_pages=[change(row) for row in table.most_pages],
        most_bytes=[change(row) for row in table.most_bytes],
        most_failures=[change(row) for row in table.most_failures],
    )


def _name(host: str) -> str:
    """The host as URLs have it: without a port, also where an address in brackets has colons."""
    end = host.rfind("]") + 1
    return host[:end] + min((host[end:].partition(mark)[0] for mark in _OF_PORTS_AND_QUEUES), key=len)


def ask_who_waits(crawl: ReachedCrawl) -> Waiting:
    """A frontier of others may be unable to tell."""
    try:
        return Waiting(crawl.ask(Top(limit=MAX_ITEMS), HostList).hosts)
    except Refused:
        return Waiting(())


def ask_robots(crawl: ReachedCrawl, table: HostTable) -> RobotsOfHosts:
    """A crawl that an earlier version runs can't tell."""
    hosts = [row.host for row in table.rows]
    try:
        pieces = [InspectRobots(hosts=hosts[at : at + MAX_ITEMS]) for at in range(0, len(hosts), MAX_ITEMS)]
        return RobotsOfHosts([each for piece in pieces for each in crawl.ask(piece, RobotsList).hosts])
    except Refused:
        return RobotsOfHosts(())
