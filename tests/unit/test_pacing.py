"""Thousands of requests to many hosts, checked by the log of who was asked: nobody was asked too soon."""

import asyncio
from itertools import pairwise
from pathlib import Path
from random import Random

import msgspec
import pytest

from crawler.components import Components
from crawler.discover.discovery import ScopedDiscovery
from crawler.discover.scope import Scope
from crawler.engine import Ending, Engine, Limits
from crawler.page import Fetched, Page, Request
from crawler.politeness.pace import Pace
from crawler.politeness.response_policy import ResponsePolicy
from crawler.testing.frontier.crawls import now
from crawler.testing.loops import in_virtual_time
from crawler.url.urls import UrlReader, host_of, site_of
from frontier.queues.grouping import Grouping, GroupLimit
from frontier.queues.settings import QueueSettings
from frontier.shell import QueueFrontier
from tests.unit.crawling import Event, Reader, Records
from tests.unit.crawling import Rules as Robots
from tests.unit.frontier.crawls import leveldb, snapshots
from visited.digests.exact import ExactSet

PACE = Pace(min_delay_s=1.0, max_delay_s=5.0, delay_factor=2.0, retry_delay_s=4.0, retry_max_delay_s=60.0)
IP_REST_S = 2.5
RETRY_AFTER_S = 40.0
LOOK_UP_S = 0.01
SHARED = ("h0.test", "h1.test")
EARLY_S = 1e-6
"""Of a sum of floating-point numbers."""


class Asked(msgspec.Struct, frozen=True):
    """A request, as its server saw it."""

    host: str
    began_at: float
    ended_at: float
    status: int
    life: int
    """Of how many that the crawl has had."""
    retry_after_s: float | None = None


class Web:
    """Hosts that are quick or slow, each in its way, and some of which ask to be spared now and then."""

    def __init__(self, *, hosts: int, pages: int) -> None:
        self.hosts = hosts
        self.pages = pages
        """Of each host."""
        self.log: list[Asked] = []
        self.life = 0
        self._times: dict[str, int] = {}
        self._random = Random(1)

    async def fetch(self, request: Request, /) -> Fetched:
        host = host_of(request.url)
        number = int(host[1:].partition(".")[0])
        began_at = now()
        duration_s = (0.02 + number % 7 / 2) * self._random.uniform(0.5, 1.5)
        await asyncio.sleep(duration_s)
        times = self._times[request.url] = self._times.get(request.url, 0) + 1
        path = int(request.url.rpartition("/")[2] or 0)
        status, headers = 200, []
        if times == 1 and number % 10 == 3 and path % 9 == 4:
            status, headers = 429, [(b"Retry-After", b"%d" % RETRY_AFTER_S)]
        elif times <= 2 and number % 10 == 7 and path % 11 == 5:
            status = 503
        self.log.append(Asked(host, began_at, now(), status, self.life, RETRY_AFTER_S if headers else None))
        body = "\n".join(f"http://{host}/{page}" for page in range(1, self.pages)).encode() if path == 0 else b""
        return Page(
            url=request.url,
            status=status,
            headers=headers,
            ip=lies_at(host),
            fetched_at=began_at,
            duration_s=duration_s,
            body=body,
            raw_body=body,
        )

    async def aclose(self) -> None: ...

    async def address(self, url: str, /) -> str | None:
        """The two share one; the others have their own. It takes a while to find out."""
        await asyncio.sleep(LOOK_UP_S)
        return lies_at(host_of(url))


def lies_at(host: str) -> str:
    return "192.0.2.1" if host in SHARED else f"198.51.100.{host[1:].partition('.')[0]}"


async def crawled_for(directory: Path, web: Web, seconds: float) -> Ending:
    """A process of the crawl, which is stopped after so long."""
    reader = UrlReader()
    seeds = [f"http://h{number}.test/" for number in range(web.hosts)]
    discovery = ScopedDiscovery(urls=reader, scope=Scope(within="any", seeds=[]))
    events: list[Event] = []
    frontier = await QueueFrontier.open(
        leveldb(directory),
        ExactSet(),
        snapshots=snapshots(directory),
        settings=QueueSettings(grouping=Grouping(limits={"ip": GroupLimit(at_once=1, rest_s=IP_REST_S)})),
        now=now,
    )
    await frontier.add(discovery.seeds(seeds))
    components = Components(
        frontier=frontier,
        fetcher=web,
        extractor=Reader(events),
        robots=Robots({}, events),
        discovery=discovery,
        sink=Records(events),
        queue_key=site_of,
        policy_for=lambda _: ResponsePolicy(pace=PACE),
        addresses=web,
        clock=now,
        monotonic=asyncio.get_running_loop().time,
    )
    try:
        return await Engine(components, concurrency=web.hosts, limits=Limits(seconds=seconds)).run()
    finally:
        await frontier.aclose()


def rest_s(asked: Asked, pressure: int) -> float:
    """What was owed to the host after a request."""
    plain_s = PACE.cooldown_s(asked.ended_at - asked.began_at)
    doubled_s = min(plain_s * 2.0**pressure, PACE.retry_max_delay_s) if pressure else plain_s
    return max(doubled_s, asked.retry_after_s or 0.0)


@in_virtual_time
async def check(tmp_path: Path, *, hosts: int, pages: int) -> None:
    web = Web(hosts=hosts, pages=pages)
    while await crawled_for(tmp_path, web, 0.9 * pages + web.life) is not Ending.COMPLETE:
        web.life += 1
    assert web.life >= 4
    assert len(web.log) >= hosts * pages
    by_host: dict[str, list[Asked]] = {}
    for asked in sorted(web.log, key=lambda asked: asked.began_at):
        by_host.setdefault(asked.host, []).append(asked)
    assert {len(requests) >= pages for requests in by_host.values()} == {True}
    spared = 0
    for requests in by_host.values():
        pressure = 0
        for before, after in pairwise(requests):
            pressure = pressure + 1 if before.status != 200 else max(0, pressure - 1)
            spared += before.status != 200
            rested_s = after.began_at - before.ended_at
            assert rested_s >= rest_s(before, pressure) - EARLY_S, (before, after, pressure)
            if pressure == 0 and before.life == after.life and before.host not in SHARED:
                # Where nothing else is to wait for, nobody waits longer than is due, and to look up an address.
                assert rested_s <= max(rest_s(before, 0), IP_REST_S) + 2 * LOOK_UP_S, (before, after)
    assert spared > hosts
    shared = sorted((asked for host in SHARED for asked in by_host[host]), key=lambda asked: asked.began_at)
    assert len({asked.host for asked in shared[:6]}) == 2  # they take turns
    for before, after in pairwise(shared):
        assert after.began_at - before.ended_at >= IP_REST_S - EARLY_S


@pytest.mark.parametrize(("hosts", "pages"), [(40, 50), pytest.param(200, 50, marks=pytest.mark.long)])
def test_many_hosts_are_asked_when_it_is_due_and_never_sooner_in_thousands_of_requests_and_some_restarts(
    tmp_path: Path, hosts: int, pages: int
) -> None:
    check(tmp_path, hosts=hosts, pages=pages)
