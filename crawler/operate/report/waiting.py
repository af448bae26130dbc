"""What the hosts of a report do now, or why they wait."""

from collections.abc import Iterable
from typing import Final

import msgspec

from crawler.control.replies import HostForm, HostList
from crawler.control.requests import MAX_ITEMS, Top
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
        return msgspec.structs.replace(
            table,
            most_pages=[self._added(row) for row in table.most_pages],
            most_bytes=[self._added(row) for row in table.most_bytes],
            most_failures=[self._added(row) for row in table.most_failures],
        )

    def _added(self, row: HostRow) -> HostRow:
        found = self._hosts.get(row.host)
        return row if found is None else msgspec.structs.replace(row, queued=found.size, waits=found.waits)


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
