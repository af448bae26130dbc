"""What a frontier keeps of servers in trouble: one URL is tried, the others wait, and a restart changes nothing."""

from pathlib import Path

import pytest

from frontier import Outcome, UrlState
from frontier.queues.budgets import Budgets
from frontier.queues.settings import QueueSettings
from tests.unit.frontier.crawls import DONE, START, Crawl, check, drain, lease, none_for, now, page, pages
from tests.unit.frontier.virtual_time import in_virtual_time


@pytest.fixture(params=["memory", "leveldb"])
def crawl(request: pytest.FixtureRequest, tmp_path: Path) -> Crawl:
    return Crawl(tmp_path, kind=request.param)


async def agree(crawl: Crawl) -> None:
    if crawl.kind == "leveldb":
        await check(crawl.directory)


@in_virtual_time
async def test_a_url_that_stays_is_the_next_of_its_queue_when_that_has_rested(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([*pages(1, 3), page("other")])
        first = await lease(frontier)
        await frontier.retry(first, after_s=None, cooldown_s=60.0, reason="dns")
        assert (await lease(frontier)).url.queue_key == "test,other"
        stats = frontier.describe()
        assert (stats.pending, stats.retrying, stats.troubled_queues) == (4, 0, 1)
        again = await lease(frontier)
        assert now() - START == 60.0
        assert (again.url.url, again.number) == (first.url.url, first.number)
        assert (again.url.attempt, again.error_streak) == (1, 1)
    await agree(crawl)


@in_virtual_time
async def test_what_stays_and_its_attempts_are_found_after_a_restart(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(pages(1, 3))
        for _ in range(3):
            await frontier.retry(await lease(frontier), after_s=None, cooldown_s=60.0, reason="connect")
        stats = frontier.describe()
        assert (stats.next_wake_key, stats.next_wake_streak, stats.next_wake_trouble) == ("test,h0", 3, "connect")
    await agree(crawl)
    async with crawl.opened() as frontier:
        assert frontier.describe().troubled_queues == 1
        assert await none_for(frontier, 59.0)
        out = await lease(frontier)
        assert (out.url.url, out.url.attempt, out.error_streak) == ("http://h0.test/p0", 3, 3)
        await frontier.done(out, cooldown_s=0.0, outcome=DONE)
        stats = frontier.describe()
        assert (stats.troubled_queues, stats.next_wake_trouble) == (0, None)
        assert len(await drain(frontier)) == 2
    await agree(crawl)


@in_virtual_time
async def test_a_url_that_stays_costs_its_queue_what_a_failure_costs(crawl: Crawl) -> None:
    crawl.settings = QueueSettings(budgets=Budgets(total=5, error_penalty=2))
    async with crawl.opened() as frontier:
        await frontier.add(pages(1, 3))
        for _ in range(2):
            await frontier.retry(await lease(frontier), after_s=None, cooldown_s=1.0)
        assert frontier.describe().retired == 3
    await agree(crawl)


@in_virtual_time
async def test_a_url_that_was_admitted_anew_meanwhile_does_not_stay(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(pages(1, 2))
        out = await lease(frontier)
        assert await frontier.add([out.url], force=True) == 1
        await frontier.retry(out, after_s=None, cooldown_s=1.0)
        assert await drain(frontier) == ["http://h0.test/p1", "http://h0.test/p0"]
    await agree(crawl)


@in_virtual_time
async def test_leases_of_a_host_that_is_given_up_say_so_until_it_is_time_for_another_try(crawl: Crawl) -> None:
    given_up = Outcome(state=UrlState.FAILED, reason="dns", server_ok=False, dead_for_s=100.0)
    unasked = Outcome(state=UrlState.FAILED, reason="dns", asked=False)
    async with crawl.opened() as frontier:
        await frontier.add(pages(1, 3))
        out = await lease(frontier)
        assert out.dead is None
        await frontier.done(out, cooldown_s=0.0, outcome=given_up)
        out = await lease(frontier)
        assert (out.dead, out.error_streak) == ("dns", 1)
        await frontier.done(out, cooldown_s=0.0, outcome=unasked)
    await agree(crawl)
    async with crawl.opened() as frontier:
        out = await lease(frontier)
        assert (out.dead, out.error_streak, now() - START) == ("dns", 1, 0.0)
        await frontier.done(out, cooldown_s=0.0, outcome=unasked)
    async with crawl.opened() as frontier:
        await frontier.add([page("h0", "late")])
        out = await lease(frontier)
        assert out.dead == "dns"
        frontier.release(out, cooldown_s=100.0)
        out = await lease(frontier)
        assert (out.dead, out.error_streak) == (None, 1)
    await agree(crawl)


@in_virtual_time
async def test_answers_and_failures_without_one_begin_a_new_streak_after_each_other(crawl: Crawl) -> None:
    torn = Outcome(state=UrlState.DONE, status=200, server_ok=False, answered=True)
    async with crawl.opened() as frontier:
        await frontier.add(pages(1, 5))
        await frontier.retry(await lease(frontier), after_s=1e6, cooldown_s=1.0, reason="disconnected", answered=True)
        await frontier.done(await lease(frontier), cooldown_s=1.0, outcome=torn)
    await agree(crawl)
    async with crawl.opened() as frontier:
        out = await lease(frontier)
        assert (out.error_streak, out.answered) == (2, True)
        await frontier.retry(out, after_s=1e6, cooldown_s=1.0, reason="disconnected")
        out = await lease(frontier)
        assert (out.error_streak, out.answered) == (1, False)
    await agree(crawl)


@in_virtual_time
async def test_how_hard_a_server_was_asked_is_kept_and_told_with_each_lease(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(pages(1, 4))
        await frontier.retry(await lease(frontier), after_s=1000.0, cooldown_s=1.0, reason="http-429", pressure=3)
    async with crawl.opened() as frontier:
        out = await lease(frontier)
        assert out.pressure == 3
        await frontier.done(out, cooldown_s=1.0, outcome=Outcome(state=UrlState.DONE, status=200, pressure=2))
        out = await lease(frontier)
        assert (out.pressure, out.error_streak) == (2, 0)
    await agree(crawl)
