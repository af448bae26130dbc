"""A host with a Crawl-delay is asked by one request at a time, whatever else would be allowed."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from crawler.components import Components
from crawler.discover.discovery import ScopedDiscovery
from crawler.discover.precedence import OrderedDiscovery
from crawler.discover.scope import Scope
from crawler.engine import Ending, Engine, Limits
from crawler.fetch.robots.cache import RobotsCache
from crawler.fetch.robots.robots_txt import RobotsTxt
from crawler.fetch.robots.status import RobotsLifetimes
from crawler.page import Fetched, LoadAnswer, Page, Request
from crawler.politeness.pace import Pace, parse_retry_after
from crawler.politeness.response_policy import ResponsePolicy
from crawler.politeness.spaced_requests import SpacedRequests
from crawler.politeness.spacing import Spacing
from crawler.testing.frontier.crawls import now
from crawler.testing.loops import in_virtual_time
from crawler.url.urls import UrlReader, host_of, site_of
from frontier import ForwardingFrontier, Frontier, Lease
from frontier.memory.notes import MemoryNotes
from frontier.memory.store import MemoryStore
from frontier.queues.grouping import Grouping
from frontier.queues.settings import QueueSettings
from frontier.shell import QueueFrontier
from tests.unit.crawling import Event, Reader, Records
from visited.digests.exact import ExactSet

DELAY_S = 1.5
PAGES = 12
BUSY_S = 100
EARLY_S = 1e-6
"""Of a sum of floating-point numbers."""


class Web:
    """A host that states a Crawl-delay, and one that states none. Each has two ports, and every third page is slow."""

    def __init__(self, *, delay_s: float = DELAY_S, slow_s: float = 4.0, busy_path: str | None = None) -> None:
        """The page at `busy_path` is answered by 503 at first, and asks to wait for `BUSY_S`."""
        self.delay_s, self.slow_s, self.busy_path = delay_s, slow_s, busy_path
        self.log: list[tuple[float, float, str]] = []
        """When each request began and ended, and its URL."""
        self.handed_back: list[str] = []

    async def fetch(self, request: Request, /) -> Fetched:
        began_at, path = now(), request.url.rpartition("/")[2]
        await asyncio.sleep(self.slow_s if path.isdecimal() and int(path) % 3 == 0 else 0.1)
        self.log.append((began_at, now(), request.url))
        if path and path == self.busy_path:
            self.busy_path = None
            return Page(
                url=request.url,
                status=503,
                headers=[(b"Retry-After", str(BUSY_S).encode())],
                fetched_at=now(),
                duration_s=now() - began_at,
                body=b"",
                raw_body=b"",
            )
        origin = request.url.removesuffix(path)
        body = "".join(f"{origin}{page}\n" for page in range(PAGES)) if not path else ""
        if path == "robots.txt":
            body = "User-agent: *\nDisallow: /1\n" + (f"Crawl-delay: {self.delay_s}\n" if "slow" in origin else "")
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


class Releases(ForwardingFrontier):
    """Notes which URLs are handed back."""

    def __init__(self, frontier: Frontier, released: list[str]) -> None:
        super().__init__(frontier)
        self._released = released

    def release(self, lease: Lease, /, **how: Any) -> None:
        self._released.append(lease.url.url)
        super().release(lease, **how)


async def crawled(
    web: Web,
    *,
    per_host: int,
    parallel: int = 1,
    max_crawl_delay_s: float = 300.0,
    lifetimes: RobotsLifetimes | None = None,
    runs_of_pages: Sequence[int] = (),
) -> None:
    """Crawl the web to its end, if need be after runs of that many pages."""
    store, notes = MemoryStore(), MemoryNotes()
    for pages in (*runs_of_pages, None):
        await run_once(web, store, notes, per_host, parallel, max_crawl_delay_s, lifetimes, Limits(pages=pages))


async def run_once(
    web: Web,
    store: MemoryStore,
    notes: MemoryNotes,
    per_host: int,
    parallel: int,
    max_crawl_delay_s: float,
    lifetimes: RobotsLifetimes | None,
    limits: Limits,
) -> None:
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
    opened = await QueueFrontier.open(store, ExactSet(), settings=settings, now=now)
    frontier = Releases(opened, web.handed_back)
    await frontier.add(
        discovery.seeds([f"http://{host}.test{port}/" for host in ("slow", "quick") for port in ("", ":81")])
    )
    cache = RobotsCache(notes, agent="onceover")
    robots = RobotsTxt(web, cache, lifetimes=lifetimes, read_retry_after=parse_retry_after, clock=now)
    pace = Pace(min_delay_s=0.0, delay_factor=0.0, per_host=per_host, max_crawl_delay_s=max_crawl_delay_s)
    components = Components(
        frontier=frontier,
        fetcher=web,
        extractor=Reader(events),
        robots=robots,
        discovery=discovery,
        sink=Records(events),
        queue_key=site_of,
        policy_for=lambda _: ResponsePolicy(pace=pace),
        clock=now,
        monotonic=asyncio.get_running_loop().time,
    )
    try:
        ending = await Engine(components, concurrency=20, limits=limits).run()
        assert ending is Ending.COMPLETE or limits.pages is not None
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
    # Nor does it wait for much longer: a lease that found another request in flight looks again after each delay.
    assert asked[-1][1] - asked[0][0] <= sum(ended - began + 2.2 * DELAY_S for began, ended, _ in asked)
    others = requests_of(web, "quick.test")
    at_once = max(sum(began <= at < ended for began, ended, _ in others) for at, _, _ in others)
    assert at_once == min(per_host * parallel, 8) if parallel == 1 else at_once > 1


@pytest.mark.parametrize(("per_host", "parallel"), [(1, 1), (3, 1), (1, 4), (2, 4)])
def test_a_restart_makes_no_request_come_sooner_after_another_than_the_delay(per_host: int, parallel: int) -> None:
    web = Web()
    in_virtual_time(crawled)(web, per_host=per_host, parallel=parallel, runs_of_pages=[1] * 8)
    asked = requests_of(web, "slow.test")
    assert len(asked) > PAGES - 2
    for (_, ended_at, _), (began_at, _, _) in pairwise(asked):
        assert began_at - ended_at >= DELAY_S - EARLY_S


@pytest.mark.parametrize(("per_host", "parallel"), [(1, 1), (2, 1), (1, 4), (2, 4)])
@pytest.mark.parametrize("runs_of_pages", [[], [1] * 12], ids=["one-run", "restarts"])
def test_retry_after_holds_for_all_queues_of_a_host(per_host: int, parallel: int, runs_of_pages: list[int]) -> None:
    web = Web(busy_path="4", slow_s=0.1)
    in_virtual_time(crawled)(web, per_host=per_host, parallel=parallel, runs_of_pages=runs_of_pages)
    asked = [(url, began, ended) for began, ended, url in requests_of(web, "quick.test")]
    busy, _, busy_at = next(each for each in asked if each[0].endswith("/4"))
    in_time = [began for _, began, _ in asked if busy_at < began < busy_at + BUSY_S - EARLY_S]
    assert (busy, in_time) == ("http://quick.test/4", [])


@pytest.mark.parametrize("busy_path", ["4", "robots.txt"])
@in_virtual_time
async def test_retry_after_is_known_of_the_host_whatever_was_asked_for(busy_path: str) -> None:
    web = Web(busy_path=busy_path, slow_s=0.1)
    robots = RobotsTxt(web, RobotsCache(MemoryNotes(), agent="onceover"), read_retry_after=parse_retry_after, clock=now)
    loop = asyncio.get_running_loop()
    requests = SpacedRequests(
        web, robots, policy_for=lambda _: ResponsePolicy(pace=Pace()), queue_key=site_of, monotonic=loop.time
    )
    url = "http://quick.test:81/4"
    await requests.ask_robots(url, site_of(url), None)
    await requests.fetch(Request(url=url), site_of(url), None)
    rests_s = [requests.host_rest_s(key) for key in (site_of("http://quick.test/"), "test,quick#3", "test,other")]
    assert rests_s == [pytest.approx(BUSY_S, abs=0.2), pytest.approx(BUSY_S, abs=0.2), 0.0]


@pytest.mark.parametrize(("host", "then_s"), [("slow", DELAY_S), ("quick", None)])
@in_virtual_time
async def test_a_host_is_asked_alone_for_robots_txt_and_then_if_it_states_a_crawl_delay(
    host: str, then_s: float | None
) -> None:
    web = Web()
    robots = RobotsTxt(web, RobotsCache(MemoryNotes(), agent="onceover"), read_retry_after=parse_retry_after, clock=now)
    loop = asyncio.get_running_loop()
    requests = SpacedRequests(
        web, robots, policy_for=lambda _: ResponsePolicy(pace=Pace()), queue_key=site_of, monotonic=loop.time
    )
    url = f"http://{host}.test/4"
    assert requests.rest_alone_s(url) == 0.0
    await requests.ask_robots(url, site_of(url), None)
    assert requests.rest_alone_s(url) == then_s


@in_virtual_time
async def test_retry_after_of_what_a_page_loads_holds_for_all_queues_of_its_host() -> None:
    class Rendering(Web):
        async def fetch(self, request: Request, /) -> Fetched:
            page = await super().fetch(request)
            assert isinstance(page, Page)
            loads = (LoadAnswer(200, "1"), LoadAnswer(429, str(BUSY_S)), LoadAnswer(404, None))
            return msgspec.structs.replace(page, troubled_loads=loads)

    web = Rendering(slow_s=0.1)
    robots = RobotsTxt(web, RobotsCache(MemoryNotes(), agent="onceover"), read_retry_after=parse_retry_after, clock=now)
    policy, loop = ResponsePolicy(pace=Pace()), asyncio.get_running_loop()
    requests = SpacedRequests(web, robots, policy_for=lambda _: policy, queue_key=site_of, monotonic=loop.time)
    await requests.fetch(Request(url="http://quick.test/4"), "test,quick#0", None)
    assert requests.wait_s("test,quick#1") == pytest.approx(BUSY_S, abs=0.2)


@pytest.mark.parametrize(("per_host", "parallel"), [(1, 1), (3, 1), (1, 4)])
def test_requests_for_robots_txt_keep_the_delay_as_soon_as_it_is_known(per_host: int, parallel: int) -> None:
    web = Web()
    lifetimes = RobotsLifetimes(keep_s=10.0)
    in_virtual_time(crawled)(web, per_host=per_host, parallel=parallel, lifetimes=lifetimes)
    asked = sorted(each for each in web.log if host_of(each[2]) == "slow.test")
    known_at = asked[0][1]
    assert len(asked) - len(requests_of(web, "slow.test")) >= 4
    for (_, ended_at, _), (began_at, _, _) in pairwise(asked):
        assert began_at < known_at or began_at - ended_at >= DELAY_S - EARLY_S


def test_a_short_delay_of_a_slow_host_does_not_hand_back_urls_again_and_again() -> None:
    web = Web(delay_s=0.001, slow_s=60.0)
    in_virtual_time(crawled)(web, per_host=4)
    assert len(web.handed_back) < 1000
    asked = requests_of(web, "slow.test")
    assert all(after[0] >= before[1] for before, after in pairwise(asked))
    assert asked[-1][1] - asked[0][0] <= 1.25 * sum(ended - began + 0.002 for began, ended, _ in asked)


@pytest.mark.parametrize("delay_s", [5.0, 1e-12])
def test_a_delay_that_counts_as_none_holds_nothing_up(delay_s: float) -> None:
    web = Web(delay_s=delay_s)
    in_virtual_time(crawled)(web, per_host=3, max_crawl_delay_s=0.0)
    assert len(requests_of(web, "slow.test")) > PAGES - 2


def test_hosts_that_may_be_asked_again_are_forgotten() -> None:
    spacing, at = Spacing(), 0.0
    for number in range(10_000):
        at += 1.0
        key = f"test,h{number}"
        assert spacing.wait_s(key, now=at) == 0.0
        with spacing.in_flight(key, 5.0, now=at):
            assert [spacing.wait_s(f"{key}{more}", now=at) for more in ("", ":81", "#2", ":81#/docs/")] == [5.0] * 4
        spacing.rest(key, 5.0, now=at)
        assert spacing.wait_s(key, now=at + 1) == 4.0
    assert len(spacing._free_at) <= 1000
