"""That a crawl which did not end in order spares the servers that it may have been asking when it died."""

import asyncio
from pathlib import Path

import pytest

from crawler.testing.frontier.crawls import DONE, next_lease, no_lease_for, page
from crawler.testing.loops import in_virtual_time
from frontier import Outcome, UrlState
from tests.unit.frontier.crawls import Crawl

SLOWED = Outcome(state=UrlState.FAILED, status=503, server_ok=False)


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path / "crawl")


@in_virtual_time
async def test_after_a_crash_each_queue_rests_as_it_did_after_its_last_good_answer(
    crawl: Crawl, tmp_path: Path
) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a", f"{number}") for number in range(9)])
        await frontier.done(await next_lease(frontier), cooldown_s=7, outcome=DONE)
        await frontier.done(await next_lease(frontier), cooldown_s=500, outcome=SLOWED)
        await frontier.retry(await next_lease(frontier), after_s=4000, cooldown_s=600)
        excluded = Outcome(state=UrlState.EXCLUDED, reason="robots")
        await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=excluded)
        await next_lease(frontier)
        crashed = crawl.crashed(tmp_path / "crashed")
    async with crashed.opened(rest_after_crash_s=2) as frontier:
        assert await no_lease_for(frontier, 6.9)
        await next_lease(frontier)


@in_virtual_time
async def test_opening_and_closing_a_crawl_after_a_crash_does_not_shorten_the_rest_of_its_queues(
    crawl: Crawl, tmp_path: Path
) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a", f"{number}") for number in range(9)])
        await frontier.done(await next_lease(frontier), cooldown_s=7, outcome=DONE)
        assert await no_lease_for(frontier, 6.9)
        await next_lease(frontier)
        crashed = crawl.crashed(tmp_path / "crashed")
    async with crashed.opened():
        await asyncio.sleep(2)
    async with crashed.opened() as frontier:
        assert await no_lease_for(frontier, 4.9)
        await next_lease(frontier)


@in_virtual_time
async def test_after_a_crash_a_queue_rests_as_it_did_when_its_robots_txt_had_been_asked(
    crawl: Crawl, tmp_path: Path
) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a")])
        frontier.release(await next_lease(frontier), cooldown_s=7, asked=True)
        await next_lease(frontier)
        crashed = crawl.crashed(tmp_path / "crashed")
    async with crashed.opened() as frontier:
        assert await no_lease_for(frontier, 6.9)
        await next_lease(frontier)


@in_virtual_time
async def test_after_a_crash_a_queue_that_had_no_answer_yet_rests_too_and_again_after_another(
    crawl: Crawl, tmp_path: Path
) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a")])
        await next_lease(frontier)
        crashed = crawl.crashed(tmp_path / "crashed")
    async with crashed.opened(rest_after_crash_s=2) as frontier:
        assert await no_lease_for(frontier, 1.9)
        crashed = crashed.crashed(tmp_path / "crashed again")
    async with crashed.opened(rest_after_crash_s=2) as frontier:
        assert await no_lease_for(frontier, 1.9)
        await next_lease(frontier)


@in_virtual_time
async def test_a_rest_that_was_longer_is_not_shortened_by_a_crash(crawl: Crawl, tmp_path: Path) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a", "1"), page("a", "2")])
        await frontier.done(await next_lease(frontier), cooldown_s=3600, outcome=SLOWED)
        crashed = crawl.crashed(tmp_path / "crashed")
    async with crashed.opened(rest_after_crash_s=2) as frontier:
        assert await no_lease_for(frontier, 3599)
        await next_lease(frontier)


@in_virtual_time
async def test_closing_with_a_lease_out_counts_as_a_crash(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a")])
        await next_lease(frontier)
    async with crawl.opened(rest_after_crash_s=2) as frontier:
        assert await no_lease_for(frontier, 1.9)
        await next_lease(frontier)


@in_virtual_time
async def test_nothing_rests_after_an_end_in_order(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a", "1"), page("a", "2")])
        out = await next_lease(frontier)
        await frontier.done(out, cooldown_s=0.5, outcome=DONE)
    async with crawl.opened(rest_after_crash_s=2) as frontier:
        assert await no_lease_for(frontier, 0.4)
        assert not await no_lease_for(frontier, 0.2)
