"""That engines that share a crawl keep what one engine promises."""

import asyncio
from collections import Counter
from itertools import pairwise, permutations

import pytest

from crawler.engine import Ending
from crawler.politeness.pace import Pace
from crawler.testing.loops import in_virtual_time
from crawler.url.urls import site_of
from tests.unit.crawling import SEED, Site, failure, page, redirect
from tests.unit.parts.engines import PARTS, RigOfParts

HOSTS = [f"h{number}.test" for number in range(12)]


def web(each: int) -> Site:
    """So many pages of each host, and the seed. Each links to all."""
    urls = [f"http://{host}/{number}" for number in range(each) for host in HOSTS]
    return {SEED: page(SEED, urls), **{url: page(url, [SEED, *urls]) for url in urls}}


@in_virtual_time
async def test_each_page_is_fetched_once_by_the_part_of_its_host_whoever_links_to_it() -> None:
    site = web(5)
    rig = RigOfParts(site, concurrency=8)
    async with rig.begun() as lives:
        assert await rig.finish(lives) == [Ending.COMPLETE] * PARTS
        links = sum(life.engine.counters.links for life in lives.values())
    assert Counter(rig.urls) == Counter(site.keys())
    assert set(rig.web.asked.values()) == {1}
    for number, sink in enumerate(rig.sinks):
        assert {rig.owner(site_of(record.url)) for record in sink.records} == {number}
    assert set(rig.crossed()) == set(permutations(range(PARTS), 2))
    assert links == 60 + 60 * 60  # a page is no link of its own
    assert sum(store.counters.done for store in rig.stores) == len(site)


@in_virtual_time
async def test_the_links_to_a_page_are_counted_whichever_parts_they_come_from() -> None:
    site = web(2)
    rig = RigOfParts(site)
    assert await rig.run() == [Ending.COMPLETE] * PARTS
    for url in site:
        reads = rig.stores[rig.owner(site_of(url))].reads
        entry = reads.entry(url)
        assert entry is not None
        assert entry.hit_count + reads.link_count(url) == len(site) - (
            url == SEED
        )  # all pages link to it, but not itself


@in_virtual_time
async def test_hosts_take_turns_and_each_rests_between_its_pages() -> None:
    rig = RigOfParts(web(6), pace=Pace(min_delay_s=3.0, max_delay_s=3.0), per_host=1, concurrency=len(HOSTS))
    rig.web.duration_s = 0.5
    assert await rig.run() == [Ending.COMPLETE] * PARTS
    began_at = [rig.web.began_at[f"test,h{number}"] for number in range(len(HOSTS))]
    for times in began_at:
        assert len(times) == 6
        # The clock of the store knows milliseconds.
        assert all(after - before >= 3.5 - 0.01 for before, after in pairwise(times))
    for turn in zip(*began_at, strict=True):
        assert max(turn) - min(turn) < 3.5


@in_virtual_time
async def test_the_end_is_told_when_no_part_has_work_and_no_link_is_on_its_way() -> None:
    urls = [f"http://{HOSTS[number % len(HOSTS)]}/{number}" for number in range(40)]
    site: Site = {SEED: page(SEED, urls[:1])}
    site |= {url: page(url, [following]) for url, following in pairwise(urls)}
    site[urls[7]] = [failure(urls[7]), page(urls[7], [urls[8]])]
    site[urls[-1]] = page(urls[-1])
    rig = RigOfParts(site)
    rig.web.durations_s = {urls[20]: 100.0}
    assert await rig.run() == [Ending.COMPLETE] * PARTS
    assert Counter(rig.urls) == Counter(site.keys())
    assert sum(rig.owner(site_of(one)) != rig.owner(site_of(other)) for one, other in pairwise(urls)) > 10
    assert await rig.run() == [Ending.COMPLETE] * PARTS
    assert len(rig.urls) == len(site)


@pytest.mark.parametrize("limit", [1, 7, 20])
@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_limit_of_pages_stops_all_parts_at_exactly_that_many(limit: int, concurrency: int) -> None:
    @in_virtual_time
    async def crawl() -> None:
        site = web(3)
        moved, missing, flaky = (f"http://{HOSTS[number]}/1" for number in (2, 5, 8))
        site |= {moved: redirect(moved, "/new"), f"http://{HOSTS[2]}/new": page(f"http://{HOSTS[2]}/new")}
        site |= {missing: page(missing, status=404), flaky: [failure(flaky), page(flaky)]}
        pages = len(site) - 2
        rig = RigOfParts(site, concurrency=concurrency)
        rig.web.duration_s = 0.1
        for run in range(1, pages // limit + 1):
            await rig.run(limit=limit)
            assert rig.pages == run * limit
        await rig.run(limit=limit)
        assert Counter(rig.urls) == Counter(site.keys())
        assert rig.pages == pages

    crawl()


@in_virtual_time
async def test_a_part_cancelled_at_any_moment_loses_nothing() -> None:
    site = web(2)
    moved, flaky = (f"http://{HOSTS[number]}/1" for number in (2, 8))
    site |= {moved: redirect(moved, "/new"), f"http://{HOSTS[2]}/new": page(f"http://{HOSTS[2]}/new")}
    site[flaky] = [failure(flaky), page(flaky)]
    cancelled_at_work = 0
    for moment in range(60):
        rig = RigOfParts(site, concurrency=3)
        rig.web.duration_s = 0.1
        part = moment % PARTS
        async with rig.begun() as lives:
            await asyncio.sleep(moment * 0.02)
            for _ in range(moment % 7):
                await asyncio.sleep(0)
            before = Counter(rig.urls)
            cancelled_at_work += bool(lives[part].engine.counters.in_flight)
            await rig.cancel(lives.pop(part))
            await asyncio.sleep(0.3)  # the others go on
            lives[part] = await rig.begin(part)
            assert await rig.finish(lives) == [Ending.COMPLETE] * PARTS
        after = Counter(rig.urls)
        assert before <= after
        assert set(after) == set(site)
        # What is written twice was in flight: at most one page for each worker.
        assert sum(after.values()) - len(after) <= 3
        assert sum(store.counters.done + store.counters.excluded for store in rig.stores) == len(site)
    assert cancelled_at_work > 10
