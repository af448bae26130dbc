"""That servers are spared, as their own log tells: within a run, and across kills."""

import asyncio
import socket
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from crawler.simweb.geography import Obstacle
from crawler.simweb.log import LogEntry
from crawler.simweb.params import WorldParams
from crawler.simweb.world import World
from crawler.testing.fetch.raw_server import CLOSE, Script, Seen, page, raw_server
from crawler.write.records import read_records
from tests.e2e.crawling import COMPLETE, ONCEOVER, setting
from tests.e2e.killing import Lines, Victim, growth, rest, victim
from tests.e2e.origins import GONE, host_name, linking, site, to


def by_host(requests: Iterable[LogEntry]) -> dict[str, list[LogEntry]]:
    found: dict[str, list[LogEntry]] = {}
    for request in requests:
        found.setdefault(request.host, []).append(request)
    return found


def gaps_s(requests: Iterable[LogEntry]) -> list[float]:
    """Between the starts of each request and the next of its host, robots.txt included."""
    return [after.at_s - before.at_s for host in by_host(requests).values() for before, after in pairwise(host)]


def kill_often(crawl: Victim, times: int, *, up_to: int) -> None:
    """Kill a crawl after some more requests, again and again unless it is faster, and let it come to its end."""
    random = Random(times)
    lines = Lines(crawl.log)
    for _ in range(times):
        moment = growth(lines, by=random.randint(1, up_to))
        if crawl.run(moment, after_s=random.uniform(0.0, 0.05)) == COMPLETE:
            return
    assert crawl.run() == COMPLETE


def test_no_host_is_asked_sooner_because_the_crawl_was_killed(tmp_path: Path) -> None:
    # Slow answers, so that kills find requests in flight.
    params = WorldParams(hosts=8, pages_per_host=3, page_bytes=600, links_per_page=4, slow=1.0, delay_s=0.3)
    with victim(tmp_path, params, "politeness.min_delay_s=1") as crawl:
        kill_often(crawl, 3, up_to=8)
        requests = crawl.requests()
    assert len(by_host(requests)) == 8
    assert min(gaps_s(requests)) >= 1.0


async def test_no_request_is_sent_again_at_once_because_a_kept_connection_was_closed(tmp_path: Path) -> None:
    """The server reads a second request on each connection, and closes without an answer."""
    delay_s, pages = 0.3, 8
    at_s: list[float] = []

    def script(seen: Seen) -> Script:
        at_s.append(time.monotonic())
        again = sum(each.connection == seen.connection for each in server.seen) > 1
        links = b"".join(b"<a href=/%d>" % number for number in range(pages))
        return [CLOSE] if again else [page(links, b"Content-Type: text/html")]

    async with raw_server(script) as server:
        settings = [
            f'fetch.hosts={{"kept.test" = "127.0.0.1:{server.port}"}}',
            f"politeness.min_delay_s={delay_s}",
            "politeness.delay_factor=0",
            "frontier.retry_delay_s=0.05",
            "frontier.retry_max_delay_s=0.2",
            "scope.sitemap_paths=[]",
        ]
        crawl = await asyncio.create_subprocess_exec(
            ONCEOVER, "crawl", "--dir", tmp_path / "crawl", "--seed", "http://kept.test/", *setting(*settings)
        )
        assert await crawl.wait() == COMPLETE
    assert len(server.seen) > pages + 2  # robots.txt and the seed; some were asked for twice
    assert {seen.target for seen in server.seen} == {"/robots.txt", "/", *(f"/{number}" for number in range(pages))}
    assert {record.state for record in read_records(tmp_path / "crawl" / "records")} == {"done"}
    assert min(after - before for before, after in pairwise(at_s)) >= delay_s


def test_retry_after_and_robots_txt_are_kept_over_kills(tmp_path: Path) -> None:
    params = WorldParams(hosts=5, pages_per_host=4, page_bytes=600, links_per_page=4, throttled=1.0, retry_after_s=3)
    with victim(tmp_path, params) as crawl:
        lines = Lines(crawl.log)
        for _ in range(2):
            if crawl.run(rest(lines, crawl.directory.path, at_least_s=0.5)) == COMPLETE:
                break
        assert crawl.run() == COMPLETE
        hosts = by_host(crawl.requests())
    assert len(hosts) == 5
    for requests in hosts.values():
        assert [request.target for request in requests].count("/robots.txt") == 1
        rests_s = [after.at_s - before.at_s for before, after in pairwise(requests) if before.status == 429]
        assert len(rests_s) == 3
        assert min(rests_s) >= 3.0


@pytest.mark.parametrize("per_host", [1, 3])
def test_crawl_delay_is_kept_from_the_first_page_on(tmp_path: Path, per_host: int) -> None:
    params = WorldParams(
        hosts=4, pages_per_host=5, page_bytes=600, links_per_page=4, crawl_delays=1.0, crawl_delay_s=0.4
    )
    with victim(tmp_path, params, f"politeness.per_host={per_host}") as crawl:
        assert crawl.run() == COMPLETE
        requests = crawl.requests()
    assert len(requests) >= 4 * 6
    assert min(gaps_s(requests)) >= 0.4


def at_once(crawl: Victim, params: WorldParams) -> dict[str, int]:
    """The most requests for slow pages that each host had in flight."""
    slow = {item.url for item in World(params).expected() if item.obstacle is Obstacle.SLOW}
    most = {}
    for host, of_host in by_host(crawl.requests()).items():
        began_s = [request.at_s for request in of_host if f"http://{host}{request.target}" in slow]
        assert len(began_s) >= 8
        # A request is in flight at least until its answer is sent.
        most[host] = max(sum(at_s - params.delay_s < other_s <= at_s for other_s in began_s) for at_s in began_s)
    return most


def test_two_fetches_at_once_where_two_are_allowed_and_never_three(tmp_path: Path) -> None:
    params = WorldParams(hosts=3, pages_per_host=12, page_bytes=600, links_per_page=4, slow=1.0, delay_s=0.25)
    with victim(tmp_path, params, "politeness.per_host=2") as crawl:
        assert crawl.run() == COMPLETE
        assert set(at_once(crawl, params).values()) == {2}


def test_the_queues_of_a_giant_host_are_served_at_once(tmp_path: Path) -> None:
    params = WorldParams(hosts=2, pages_per_host=24, page_bytes=600, links_per_page=12, slow=1.0, delay_s=0.25)
    giant, other = (World(params).url(number, 0).split("/")[2] for number in range(2))
    settings = [f'frontier.parallel_queues=["{giant}:3"]', "politeness.min_delay_s=0.01"]
    with victim(tmp_path, params, *settings) as crawl:
        assert crawl.run() == COMPLETE
        assert at_once(crawl, params) == {giant: 3, other: 1}


def test_none_of_forty_hosts_that_are_crawled_together_is_asked_too_soon(tmp_path: Path) -> None:
    # That none of them waits for longer than is due is shown in virtual time, where a busy machine changes nothing.
    params = WorldParams(hosts=40, pages_per_host=12, page_bytes=4_000, links_per_page=20)
    with victim(tmp_path, params, "politeness.min_delay_s=0.2", seeds=seeds(params)) as crawl:
        assert crawl.run() == COMPLETE
        found = gaps_s(crawl.requests())
    assert len(found) >= 40 * 12
    assert min(found) >= 0.2


def seeds(params: WorldParams) -> list[str]:
    """All hosts, so that each has work from the start to its end."""
    world = World(params)
    return [world.url(host, 0) for host in range(params.hosts)]


@pytest.mark.parametrize("setting", ["politeness.ip_delay_s=0.15", "politeness.domain_delay_s=0.15"])
def test_hosts_that_share_an_address_or_a_domain_share_its_pace_also_over_kills(tmp_path: Path, setting: str) -> None:
    params = WorldParams(hosts=6, pages_per_host=3, page_bytes=600, links_per_page=4)
    with victim(tmp_path, params, setting, "politeness.min_delay_s=0.05", seeds=seeds(params)) as crawl:
        kill_often(crawl, 2, up_to=6)
        requests = crawl.requests()
    assert len(by_host(requests)) == 6
    assert min(after.at_s - before.at_s for before, after in pairwise(requests)) >= 0.15


# one host, however it is written


async def test_all_ports_and_both_schemes_of_a_host_keep_one_pace(tmp_path: Path) -> None:
    origins = [
        "http://a.web.test",
        "https://a.web.test",
        "http://a.web.test:8080",
        "https://a.web.test:8443",
        "http://a.web.test:9090",
    ]
    pages = [f"{origin}/{number}" for origin in origins for number in range(3)]

    def answer(_: str, seen: Seen) -> Script:
        return GONE if seen.target == "/robots.txt" else linking(*pages)

    async with site(tmp_path, answer) as web:
        records = await web.crawl(pages[0], "http://b.web.test/", settings={"politeness.min_delay_s": 0.2})
        assert {record.url for record in records if record.status == 200} == {*pages, "http://b.web.test/"}
        assert len(web.asked("a.web.test")) == len(pages) + len(origins)
        assert web.least_gap_s("a.web.test") >= 0.2


class TwoAddresses(AbstractResolver):
    """Of `a.web.test` the first address is dead; others have one."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        addresses = ["127.0.0.2", "127.0.0.1"] if host == "a.web.test" else ["127.0.0.1"]
        return [
            ResolveResult(hostname=host, host=each, port=port, family=socket.AF_INET, proto=0, flags=0)
            for each in addresses
        ]

    async def close(self) -> None: ...


async def test_the_address_rests_that_answered_and_not_the_first_of_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawler.wiring.components.fetching.DnsResolver", TwoAddresses)
    seeds: list[str] = []

    def answer(_: str, seen: Seen) -> Script:
        return GONE if seen.target == "/robots.txt" else linking("/1", "/2", *seeds)

    async with site(tmp_path, answer) as web:
        seeds += [f"http://{name}.web.test:{web.port}/" for name in "abc"]
        settings = {
            "politeness.min_delay_s": 0.0,
            "politeness.ip_delay_s": 0.2,
            "fetch.hosts": {},
            "fetch.allow_private": True,
            "scope.ports": [web.port],
        }
        records = await web.crawl(seeds[0], settings=settings)
        assert {record.ip for record in records if record.status == 200} == {"127.0.0.1"}
        assert sum(record.status == 200 for record in records) == 9
        at_s = sorted(seen.at_s for seen in web.log)
    assert min(after - before for before, after in pairwise(at_s)) >= 0.2


async def test_robots_txt_that_redirects_from_http_to_https_makes_its_host_rest_between(tmp_path: Path) -> None:
    def answer(scheme: str, seen: Seen) -> Script:
        if seen.target == "/robots.txt" and scheme == "http":
            return to(f"https://{host_name(seen)}/robots.txt")
        return GONE if seen.target == "/robots.txt" else linking("/1", "/2")

    async with site(tmp_path, answer) as web:
        records = await web.crawl("http://a.web.test/", settings={"politeness.min_delay_s": 0.3})
        assert [seen.target for seen in web.asked("a.web.test")] == ["/robots.txt", "/robots.txt", "/", "/1", "/2"]
        assert web.least_gap_s("a.web.test") >= 0.3
    assert {record.state for record in records} == {"done"}


async def test_robots_txt_that_redirects_to_another_host_waits_for_its_turn_there(tmp_path: Path) -> None:
    """Ten hosts whose robots.txt is that of one, which is crawled meanwhile and asks for more rest."""
    names = [f"h{number}.web.test" for number in range(10)]
    shared = "a.web.test"

    def answer(_: str, seen: Seen) -> Script:
        if seen.target == "/robots.txt" and host_name(seen) != shared:
            return to(f"https://{shared}/robots.txt")
        if seen.target == "/robots.txt":
            return [page(b"User-agent: *\nDisallow: /no\nCrawl-delay: 0.2")]
        return linking(*(f"/{number}" for number in range(5)), "/no")

    async with site(tmp_path, answer) as web:
        seeds = [f"http://{name}/" for name in (shared, *names)]
        records = await web.crawl(*seeds, settings={"politeness.min_delay_s": 0.1, "fetch.concurrency": 4})
        assert [seen.target for seen in web.asked(shared)].count("/robots.txt") == 11
        assert web.least_gap_s(shared) >= 0.2
        for name in names:
            assert [seen.target for seen in web.asked(name)].count("/robots.txt") == 1
            assert web.least_gap_s(name) >= 0.2
    told = {record.url: (record.state, record.reason) for record in records}
    for name in (shared, *names):
        assert told[f"http://{name}/4"] == ("done", None)
        assert told[f"http://{name}/no"] == ("excluded", "robots")


async def test_robots_txt_that_leads_to_hosts_that_lead_back_or_do_not_answer_stops_nobody(tmp_path: Path) -> None:
    elsewhere = {
        "a.web.test": "http://b.web.test/robots.txt",
        "b.web.test": "https://a.web.test/robots.txt",
        "c.web.test": "http://c.web.test:8080/robots.txt",
        "d.web.test": "http://gone.test/robots.txt",
        "e.web.test": "http://127.0.0.1/robots.txt",
    }

    def answer(_: str, seen: Seen) -> Script:
        return to(elsewhere[host_name(seen)]) if seen.target == "/robots.txt" else linking("/1")

    async with site(tmp_path, answer) as web:
        seeds = [f"http://{name}/" for name in elsewhere]
        settings = {"politeness.min_delay_s": 0.1, "frontier.max_attempts": 2}
        records = await web.crawl(*seeds, settings=settings)
        for name in elsewhere:
            assert web.least_gap_s(name) >= 0.1
    told = {record.url: (record.state, record.reason) for record in records}
    # After five redirects there is none (RFC 9309, section 2.3.1.2).
    for name in ("a", "b", "c"):
        assert told[f"http://{name}.web.test/1"] == ("done", None)
    for name in ("d", "e"):
        assert told[f"http://{name}.web.test/"] == ("excluded", "unreachable")


async def test_retry_after_of_any_status_delays_its_whole_host_also_over_a_kill(tmp_path: Path) -> None:
    """Each page asks for rest, on one of three origins. The crawl is killed while one of these rests lasts and is
    stored: another host was asked meanwhile."""
    name, other = "a.web.test", "b.web.test"
    statuses = [b"302 Found", b"200 OK", b"404 Not Found", b"410 Gone", b"200 OK"]
    origins = [f"http://{name}", f"https://{name}", f"http://{name}:8080"]
    pages = [f"{origins[number % 3]}/{number}" for number in range(len(statuses))]
    rests_s: dict[str, int] = {}
    spared, killed = asyncio.Event(), asyncio.Event()
    meanwhile = 0

    def answer(_: str, seen: Seen) -> Script:
        nonlocal meanwhile
        if host_name(seen) == other:
            meanwhile += spared.is_set()
            if meanwhile == 5:
                killed.set()
            return GONE if seen.target == "/robots.txt" else linking(*(f"/{number}" for number in range(150)))
        if seen.target == "/robots.txt":
            return GONE
        if len(rests_s) == 1:
            spared.set()
        rests_s[seen.target] = 4 if len(rests_s) == 1 else 1
        asks = b"Retry-After: %d" % rests_s[seen.target]
        return [page(b"", asks, b"Location: /0", status=statuses[int(seen.target[1:])])]

    async with site(tmp_path, answer) as web:
        settings = {"politeness.min_delay_s": 0.05, "politeness.delay_factor": 0}
        crawl = await web.crawl_with_a_kill(*pages, f"http://{other}/", settings=settings, at=killed)
        asked = web.asked(name)
    assert {record.url for record in crawl.records} >= set(pages)
    assert len(rests_s) == len(pages)
    for before, after in pairwise(asked):
        assert after.at_s - before.at_s >= rests_s.get(before.target, 0.05), (before, after)
    assert sum(before.at_s <= crawl.at_s <= after.at_s for before, after in pairwise(asked)) == 1


async def test_no_host_is_asked_too_soon_whatever_happens_in_one_crawl(tmp_path: Path) -> None:
    """Both schemes and several ports of two hosts; connections that are dropped after a request was read; robots.txt
    that redirects to https and to another host; Retry-After with three statuses; and a kill in the middle."""
    delay_s = 0.15
    ports = {"a.web.test": ["http", "https", "http:8080", "https:8443"], "b.web.test": ["http", "https"]}
    origins = [
        f"{scheme}://{name}{colon}{port}"
        for name, of_host in ports.items()
        for scheme, colon, port in (each.partition(":") for each in of_host)
    ]
    pages = [f"{origin}/{number}" for origin in origins for number in range(4)]
    asking = {
        "http://a.web.test/1": b"302 Found",
        "https://a.web.test/2": b"200 OK",
        "http://a.web.test:8080/3": b"503 Service Unavailable",
    }
    asked_to_wait: list[tuple[str, float]] = []
    kept: set[tuple[str, int]] = set()
    dropped: list[Seen] = []
    of_a = 0
    middle = asyncio.Event()

    def answer(scheme: str, seen: Seen) -> Script:
        nonlocal of_a
        name, url = host_name(seen), f"{scheme}://{seen.header('Host')}{seen.target}"
        of_a += name == "a.web.test"
        if of_a == len(pages) // 2:
            middle.set()
        if seen.target == "/robots.txt":
            if scheme == "http":
                return to(f"https://{name}/robots.txt")
            return to("https://a.web.test/robots.txt") if name == "b.web.test" else [page(b"User-agent: *\nAllow: /")]
        connection = (scheme, seen.connection)
        if connection in kept:
            dropped.append(seen)
            return [CLOSE]
        kept.add(connection)
        if url in asking:
            asked_to_wait.append((name, seen.at_s))
            status = asking[url] if asking[url][:1] != b"5" else asking.pop(url)
            return [page(b"", b"Retry-After: 1", b"Location: /0", status=status)]
        return linking(*pages)

    async with site(tmp_path, answer) as web:
        settings = {"politeness.min_delay_s": delay_s, "politeness.delay_factor": 0, "frontier.max_attempts": 10}
        seeds = (pages[0], "http://b.web.test/0")
        crawl = await web.crawl_with_a_kill(*seeds, settings=settings, at=middle)
        for name in ports:
            assert web.least_gap_s(name) >= delay_s
        for name, at_s in asked_to_wait:
            later_s = min((seen.at_s for seen in web.asked(name) if seen.at_s > at_s), default=at_s + 1)
            # An answer that was on its way to a killed process was read by nobody.
            assert later_s - at_s >= 1 or at_s <= crawl.at_s <= later_s
        answered = {record.url for record in crawl.records if record.state == "done"}
        assert answered == set(pages)
        assert sum(seen.target == "/robots.txt" for seen in web.log) > len(origins)
        assert len({host for seen in web.log if (host := seen.header("Host")) is not None}) == 4
    assert dropped
    assert len(asked_to_wait) >= 3
