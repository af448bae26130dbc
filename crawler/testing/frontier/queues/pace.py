"""Groups of queues that share a pace, for the tests."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from crawler.testing.frontier.crawls import START, next_lease, now, settle
from frontier import CrawlUrl, Frontier, Lease
from frontier.queues.grouping import Grouping, GroupLimit
from frontier.queues.settings import QueueSettings

ONE: Final = "192.0.2.1"
OTHER: Final = "192.0.2.2"

Start = tuple[str, float]
"""The key of a queue, and when a URL of it was fetched, in seconds since the beginning."""


def limit_groups(*, ip: GroupLimit | None = None, domain: GroupLimit | None = None) -> QueueSettings:
    """Limits for addresses and domains. Hosts whose names end with the same digit are of one domain."""
    limits = {kind: limit for kind, limit in (("ip", ip), ("domain", domain)) if limit is not None}
    return QueueSettings(grouping=Grouping(limits=limits, groups_of_key=lambda key: (f"domain {key[-1]}",)))


def share_hosts(*, per_host: int = 1, ip: GroupLimit | None = None) -> QueueSettings:
    """Queues of the ports of a host share its pace."""
    grouping = Grouping(
        limits={} if ip is None else {"ip": ip},
        host_of_key=lambda key: key.partition(":")[0],
        per_host=lambda _: per_host,
    )
    return QueueSettings(per_queue=per_host, grouping=grouping)


def ported(host: str, *ports: int, each: int = 1) -> list[CrawlUrl]:
    """So many URLs of each of the ports of a host. The queue of port 80 has the key of the host."""
    return [
        CrawlUrl(
            url=f"http://{host}.test:{port}/{number}",
            canonical=f"http://{host}.test:{port}/{number}",
            queue_key=f"test,{host}" if port == 80 else f"test,{host}:{port}",
        )
        for number in range(each)
        for port in ports
    ]


async def begin_next(frontier: Frontier, address: str = ONE) -> Lease:
    """The next lease that may be fetched from that address."""
    while True:
        lease = await next_lease(frontier)
        if frontier.begin_fetch(lease, address=address):
            return lease


def begin_prerequisite(frontier: Frontier, lease: Lease, to: str, *, address: str | None = None) -> bool:
    """Whether another host may be asked first."""
    return frontier.begin_fetch(lease, address=address, prerequisite=f"test,{to}")


async def fetch_all(frontier: Frontier, cooldown_s: float) -> list[Start]:
    """Fetch all there is, each at once."""
    starts = []
    async for lease in frontier:
        starts.append((lease.url.queue_key, now() - START))
        await settle(frontier, lease, cooldown_s)
    return starts


def gaps_s(starts: Sequence[Start]) -> list[float]:
    """The seconds between one fetch and the next."""
    return [after - before for (_, before), (_, after) in pairwise(starts)]
