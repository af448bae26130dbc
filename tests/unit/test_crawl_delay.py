"""A host with a Crawl-delay is asked by one request at a time, whatever else would be allowed."""

import asyncio
from itertools import pairwise

import pytest

from crawler.components import Components
from crawler.discover.discovery import ScopedDiscovery
from crawler.discover.precedence import OrderedDiscovery
from crawler.discover.scope import Scope
from crawler.engine import Ending, Engine, Limits
from crawler.fetch.robots.cache import RobotsCache
from crawler.fetch.robots.robots_txt import RobotsTxt
from crawler.page import Fetched, Page, Request
from crawler.politeness.pace import Pace, parse_retry_after
from crawler.politeness.response_policy import ResponsePolicy
from crawler.politeness.spacing import Spacing
from crawler.testing.frontier.crawls import now
from crawler.testing.loops import in_virtual_time
from crawler.url.urls import UrlReader, host_of, site_of
from frontier.memory.notes import MemoryNotes
from frontier.memory.store import MemoryStore
from frontier.queues.grouping import Grouping
from frontier.queues.settings import QueueSettings
from frontier.shell import QueueFrontier
from tests.unit.crawling import Event, Reader, Records
from visited.digests.exact import ExactSet

DELAY_S = 1.5
PAGES = 12
EARLY_S = 1e-6
"""Of a sum of floating-point numbers."""


class Web:
    """A host that states a Crawl-delay, and one that states none. Each has two ports, and every third page is slow."""

    def __init__(self) -> None:
        self.log: list[tuple[float, float, str]] = []
        """When each request began and ended, and its URL."""

    async def fetch(self, request: Request, /) -> Fetched:
        began_at, path = now(), request.url.rpartition("/")[2]
        await asyncio.sleep(4.0 if path.isdecimal() and int(path) % 3 == 0 else 0.1)
        self.log.append((began_at, now(), request.url))
        origin = request.url.removesuffix(path)
        body = "".join(f"{origin}{page}\n" for page in range(PAGES)) if not path else ""
        if path == "robots.txt":
            body = "User-agent: *\nDisallow: /1\n" + (f"Crawl-delay: {DELAY_S}\n" if "slow" in origin else "")
        return Page(
            url=request.url,
            status=200,
            headers=[],
            fetched_at=began_at,
            duration_s=now() - began_at,
            body=body.encode(),
            raw_body=body.encode(),
        )

    async def aclose(self) -> None: ...


async def crawled(web: Web, *, per_host: int, parallel: int) -> None:
    events: list[Event] = []
    discovery = OrderedDiscovery(
        ScopedDiscovery(urls=UrlReader(), scope=Scope(within="any", seeds=[])),
        order="depth",
        embeds_first=False,
        costs="one",
        parallel={"test,slow": parallel, "test,quick": parallel},
    )
    grouping = Grouping(host_of_key=lambda key: key.partition(":")[0], per_host=lambda _: per_host)
    settings = QueueSettings(per_queue=per_host, grouping=Grouping() if parallel > 1 else grouping)
    frontier = await QueueFrontier.open(MemoryStore(), ExactSet(), settings=settings, now=now)
    await frontier.add(
        discovery.seeds([f"http://{host}.test{port}/" for host in ("slow", "quick") for port in ("", ":81")])
    )
    robots = RobotsTxt(web, RobotsCache(MemoryNotes(), agent="onceover"), read_retry_after=parse_retry_after, clock=now)
    components = Components(
        frontier=frontier,
        fetcher=web,
        extractor=Reader(events),
        robots=robots,
        discovery=discovery,
        sink=Records(events),
        queue_key=site_of,
        policy_for=lambda _: ResponsePolicy(pace=Pace(min_delay_s=0.0, delay_factor=0.0, per_host=per_host)),
        clock=now,
        monotonic=asyncio.get_running_loop().time,
    )
    try:
        assert await Engine(components, concurrency=20, limits=Limits()).run() is Ending.COMPLETE
    finally:
        await frontier.aclose()


def requests_of(web: Web, host: str) -> list[tuple[float, float, str]]:
    """The requests for pages of a host, in order."""
    return sorted(each for each in web.log if host_of(each[2]) == host and not each[2].endswith("robots.txt"))


@pytest.mark.parametrize(("per_host", "parallel"), [(1, 1), (2, 1), (5, 1), (1, 4), (3, 4)])
def test_a_host_with_a_crawl_delay_sees_no_request_sooner_after_another_than_that(per_host: int, parallel: int) -> None:
    web = Web()
    in_virtual_time(crawled)(web, per_host=per_host, parallel=parallel)
    asked = requests_of(web, "slow.test")
    assert len(asked) > PAGES - 2
    for (_, ended_at, _), (began_at, _, _) in pairwise(asked):
        assert began_at - ended_at >= DELAY_S - EARLY_S
    # Nor does it wait for much longer: a lease that found another request in flight asks again after each delay.
    assert asked[-1][1] - asked[0][0] <= sum(ended - began + 2.2 * DELAY_S for began, ended, _ in asked)
    others = requests_of(web, "quick.test")
    at_once = max(sum(began <= at < ended for began, ended, _ in others) for at, _, _ in others)
    assert at_once == min(per_host * parallel, 8) if parallel == 1 else at_once > 1


def test_hosts_that_may_be_asked_again_are_forgotten() -> None:
    spacing, at = Spacing(), 0.0
    for number in range(10_000):
        at += 1.0
        key = f"test,h{number}"
        assert spacing.wait_s(key, now=at) == 0.0
        with spacing.request(key, 5.0, lambda at=at: at):  # type: ignore[misc]
            assert [spacing.wait_s(f"{key}{more}", now=at) for more in ("", ":81", "#2", ":81#/docs/")] == [5.0] * 4
        assert spacing.wait_s(key, now=at + 1) == 4.0
    assert len(spacing._free_at) <= 1000
