"""That servers are spared, as their own log tells: within a run, and across kills."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from crawler.simweb.geography import Obstacle
from crawler.simweb.log import Logged
from crawler.simweb.params import WorldParams
from crawler.simweb.world import World
from tests.e2e.crawling import COMPLETE
from tests.e2e.killing import Lines, Victim, growth, idleness, victim


def by_host(requests: Iterable[Logged]) -> dict[str, list[Logged]]:
    found: dict[str, list[Logged]] = {}
    for request in requests:
        found.setdefault(request.host, []).append(request)
    return found


def gaps_s(requests: Iterable[Logged]) -> list[float]:
    """Between the starts of each request and the next of its host, robots.txt included."""
    return [after.at_s - before.at_s for host in by_host(requests).values() for before, after in pairwise(host)]


def kill_often(crawl: Victim, times: int, *, up_to: int) -> None:
    """Kill a crawl after some more requests, again and again, and let it come to its end."""
    random = Random(times)
    lines = Lines(crawl.log)
    for _ in range(times):
        moment = growth(lines, by=random.randint(1, up_to))
        assert crawl.run(moment, after_s=random.uniform(0.0, 0.05)) != COMPLETE
    assert crawl.run() == COMPLETE


def test_no_host_is_asked_sooner_because_the_crawl_was_killed(tmp_path: Path) -> None:
    # Slow answers, so that kills find requests in flight.
    params = WorldParams(hosts=8, pages_per_host=3, page_bytes=600, links_per_page=4, slow=1.0, delay_s=0.3)
    with victim(tmp_path, params, "politeness.min_delay_s=1") as crawl:
        kill_often(crawl, 3, up_to=8)
        requests = crawl.requests()
    assert len(by_host(requests)) == 8
    assert min(gaps_s(requests)) >= 1.0


def test_retry_after_and_robots_txt_are_kept_over_kills(tmp_path: Path) -> None:
    params = WorldParams(hosts=5, pages_per_host=4, page_bytes=600, links_per_page=4, throttled=1.0, retry_after_s=2)
    with victim(tmp_path, params) as crawl:
        lines = Lines(crawl.log)
        for _ in range(2):
            assert crawl.run(idleness(lines)) != COMPLETE  # all wait, so nothing is in flight
        assert crawl.run() == COMPLETE
        hosts = by_host(crawl.requests())
    assert len(hosts) == 5
    for requests in hosts.values():
        assert [request.target for request in requests].count("/robots.txt") == 1
        rests_s = [after.at_s - before.at_s for before, after in pairwise(requests) if before.status == 429]
        assert len(rests_s) == 3
        assert min(rests_s) >= 2.0


def test_crawl_delay_is_kept_from_the_first_page_on(tmp_path: Path) -> None:
    params = WorldParams(
        hosts=4, pages_per_host=5, page_bytes=600, links_per_page=4, crawl_delays=1.0, crawl_delay_s=0.4
    )
    with victim(tmp_path, params) as crawl:
        assert crawl.run() == COMPLETE
        requests = crawl.requests()
    assert len(requests) >= 4 * 6
    assert min(gaps_s(requests)) >= 0.4


def test_two_fetches_at_once_where_two_are_allowed_and_never_three(tmp_path: Path) -> None:
    params = WorldParams(hosts=3, pages_per_host=12, page_bytes=600, links_per_page=4, slow=1.0, delay_s=0.25)
    slow = {item.url for item in World(params).expected() if item.obstacle is Obstacle.SLOW}
    with victim(tmp_path, params, "politeness.per_host=2") as crawl:
        assert crawl.run() == COMPLETE
        requests = crawl.requests()
    for host, of_host in by_host(requests).items():
        began_s = [request.at_s for request in of_host if f"http://{host}{request.target}" in slow]
        assert len(began_s) >= 8
        # A request is in flight at least until its answer is sent.
        at_once = [sum(at_s - params.delay_s < other_s <= at_s for other_s in began_s) for at_s in began_s]
        assert max(at_once) == 2


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
