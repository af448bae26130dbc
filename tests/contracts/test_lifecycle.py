"""The life of queues as a user meets it: turns, budgets, precedence, and what an operator does."""

from pathlib import Path

import pytest

from frontier import CrawlUrl, Outcome, UrlState
from frontier.queues.budgets import Budgets
from frontier.queues.grouping import Grouping, GroupLimit
from frontier.queues.lifecycle import IllegalTransition
from frontier.queues.settings import QueueSettings
from frontier.shell import QueueFrontier
from tests.unit.frontier.crawls import DONE, START, Crawl, check, drain, lease, none_for, now, page, pages
from tests.unit.frontier.virtual_time import in_virtual_time

GIANT_URLS = 5_000_000


@pytest.fixture(params=["memory", "leveldb"])
def crawl(request: pytest.FixtureRequest, tmp_path: Path) -> Crawl:
    return Crawl(tmp_path, kind=request.param)


async def agree(crawl: Crawl) -> None:
    if crawl.kind == "leveldb":
        await check(crawl.directory)


def hosts(found: list[str]) -> list[str]:
    return [url.split("/")[2].removesuffix(".test") for url in found]


@in_virtual_time
async def test_small_hosts_are_finished_as_soon_as_politeness_allows_beside_a_giant(crawl: Crawl) -> None:
    crawl.settings = QueueSettings(min_active=20, snoozed_in_memory=30, budgets=Budgets(session=50))
    small, each = 200, 10
    async with crawl.opened() as frontier:
        await frontier.add([page("giant", f"{number}") for number in range(5000)])
        await frontier.add(pages(small, each))
        finished_at: dict[str, float] = {}
        left = small * each
        while left:
            out = await lease(frontier)
            await frontier.done(out, cooldown_s=1.0, outcome=DONE)
            if out.url.queue_key != "test,giant":
                left -= 1
                finished_at[out.url.queue_key] = now() - START
        # Ten pages of a host take nine rests; nobody waits for the giant, nor for the other small ones.
        assert max(finished_at.values()) < each
        assert frontier.describe().pending >= 5000 - 2 * each
        assert (await lease(frontier)).url.queue_key == "test,giant"
    await agree(crawl)


@pytest.mark.long
@in_virtual_time
async def test_ten_thousand_small_hosts_are_finished_in_nine_rests_beside_one_of_five_million_urls(
    tmp_path: Path,
) -> None:
    crawl, small, each = Crawl(tmp_path), 10_000, 10
    async with crawl.opened() as frontier:
        for start in range(0, GIANT_URLS, 1000):
            await frontier.add([page("giant", f"{number}") for number in range(start, start + 1000)])
        for start in range(0, small, 100):
            await frontier.add([page(f"h{host}", f"{n}") for host in range(start, start + 100) for n in range(each)])
        served = left = 0
        while left < small * each:
            out = await lease(frontier)
            served += 1
            left += out.url.queue_key != "test,giant"
            await frontier.done(out, cooldown_s=1.0, outcome=DONE)
        assert now() - START < each
        assert served - left <= each
        assert frontier.describe().pending == GIANT_URLS - (served - left)
    await agree(crawl)


@in_virtual_time
async def test_a_giant_makes_room_when_its_session_is_over(crawl: Crawl) -> None:
    crawl.settings = QueueSettings(min_active=1, budgets=Budgets(session=3))
    async with crawl.opened() as frontier:
        await frontier.add([page("giant", f"{number}") for number in range(8)])
        await frontier.add(pages(2, 2))
        assert hosts(await drain(frontier)) == [
            *["giant"] * 3,
            *["h0"] * 2,
            *["h1"] * 2,
            *["giant"] * 5,
        ]
    await agree(crawl)


@in_virtual_time
async def test_few_hosts_take_turns_whatever_their_sessions(crawl: Crawl) -> None:
    crawl.settings = QueueSettings(budgets=Budgets(session=1))
    async with crawl.opened() as frontier:
        await frontier.add(pages(3, 3))
        assert hosts(await drain(frontier)) == ["h0", "h1", "h2"] * 3


@in_virtual_time
async def test_a_queue_whose_budget_is_spent_is_retired_and_its_urls_are_kept(crawl: Crawl) -> None:
    crawl.settings = QueueSettings(budgets=Budgets(total=3, error_penalty=5))
    async with crawl.opened() as frontier:
        await frontier.add(pages(2, 5))
        failed = Outcome(state=UrlState.FAILED, reason="timeout", server_ok=False)
        await frontier.done(await lease(frontier), cooldown_s=0, outcome=failed)
        assert hosts(await drain(frontier)) == ["h1"] * 3
        stats = frontier.describe()
        assert (stats.pending, stats.retired, stats.retired_queues) == (0, 6, 2)
        assert await frontier.add([page("h1", "more")]) == 1
        assert frontier.describe().retired == 7
        await frontier.set_budget("test,h1", 5)
        assert len(await drain(frontier)) == 2
        assert (frontier.describe().pending, frontier.describe().retired) == (0, 5)
    await agree(crawl)
    crawl.settings = QueueSettings(budgets=Budgets(total=100))
    async with crawl.opened() as frontier:
        # Its own budget holds, whatever that of all is now.
        assert hosts(await drain(frontier)) == ["h0"] * 4
        assert frontier.describe().retired_queues == 1
        await frontier.set_budget("test,h1", None)
        assert hosts(await drain(frontier)) == ["h1"]
        assert frontier.describe().retired_queues == 0
    await agree(crawl)


@in_virtual_time
async def test_a_url_costs_what_it_says(crawl: Crawl) -> None:
    crawl.settings = QueueSettings(budgets=Budgets(total=10))
    async with crawl.opened() as frontier:
        dear = [
            CrawlUrl(url=f"http://a.test/{n}", canonical=f"http://a.test/{n}", queue_key="test,a", cost=4)
            for n in range(5)
        ]
        await frontier.add(dear)
        assert len(await drain(frontier)) == 3


@in_virtual_time
async def test_an_operator_retires_a_queue_and_serves_it_again(crawl: Crawl) -> None:
    async with crawl.opened(per_queue=2) as frontier:
        await frontier.add(pages(2, 4))
        first, second = await lease(frontier), await lease(frontier)
        assert (first.url.queue_key, second.url.queue_key) == ("test,h0", "test,h1")
        await frontier.retire("test,h0")
        with pytest.raises(IllegalTransition, match="is retired by an operator"):
            await frontier.retire("test,h0")
        with pytest.raises(IllegalTransition, match="is not retired by an operator"):
            await frontier.unretire("test,h1")
        await frontier.done(first, cooldown_s=0, outcome=DONE)
        await frontier.done(second, cooldown_s=0, outcome=DONE)
        assert set(hosts(await drain(frontier))) == {"h1"}
        assert frontier.describe().retired == 3
        await frontier.retire("test,unknown")
        assert await frontier.add([page("unknown", "1"), page("h0", "new")]) == 2
    await agree(crawl)
    async with crawl.opened() as frontier:
        assert await drain(frontier) == []
        assert frontier.describe().retired == 5
        await frontier.unretire("test,unknown")
        await frontier.unretire("test,h0")
        assert sorted(set(hosts(await drain(frontier)))) == ["h0", "unknown"]
        assert frontier.describe().retired_queues == 0
    await agree(crawl)


@in_virtual_time
async def test_a_pause_leases_nothing_and_lets_what_is_leased_be_settled(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(pages(2, 2))
        out = await lease(frontier)
        frontier.pauses.pause("the night", by="clock")
        frontier.pauses.pause("no room", by="disk")
        await frontier.done(out, cooldown_s=0, outcome=DONE)
        assert await none_for(frontier, 1000)
        frontier.pauses.resume(by="clock")
        assert frontier.describe().paused == "no room"
        assert await none_for(frontier, 1000)
        frontier.pauses.resume(by="disk")
        assert frontier.describe().paused is None
        assert len(await drain(frontier)) == 3


@in_virtual_time
async def test_what_an_operator_pauses_is_paused_after_a_restart_too_until_it_is_resumed(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(pages(2, 2))
        with pytest.raises(IllegalTransition, match="no operator has paused"):
            await frontier.resume()
        await frontier.pause("the site is moved")
        assert await none_for(frontier, 1000)
    async with crawl.opened() as frontier:
        assert frontier.paused == frontier.describe().paused == "the site is moved"
        assert await none_for(frontier, 1000)
        await frontier.pause("and moved again")
        await frontier.resume()
        assert len(await drain(frontier)) == 4
    async with crawl.opened() as frontier:
        assert frontier.paused is None


@in_virtual_time
async def test_queues_of_better_precedence_go_first_and_those_above_the_floor_never(crawl: Crawl) -> None:
    crawl.settings = QueueSettings(by_best_url=True, precedence_floor=100, min_active=1)
    async with crawl.opened() as frontier:
        await frontier.add([page("late", f"{n}", precedence=9) for n in range(2)])
        await frontier.add([page("never", f"{n}", precedence=100) for n in range(2)])
        await frontier.add([page("early", f"{n}", precedence=3) for n in range(2)])
        assert hosts(await drain(frontier)) == ["early", "early", "late", "late"]
        assert frontier.describe().pending == 2
        await frontier.add([page("never", "better", precedence=5)])
        assert hosts(await drain(frontier)) == ["never"]
        assert frontier.describe().pending == 2
    await agree(crawl)


@in_virtual_time
async def test_a_queue_goes_back_behind_others_when_its_best_urls_have_been_fetched(crawl: Crawl) -> None:
    crawl.settings = QueueSettings(by_best_url=True)
    async with crawl.opened() as frontier:
        await frontier.add([page("a", f"{each}", precedence=each) for each in (1, 3, 5, 9)])
        await frontier.add([page("b", f"{each}", precedence=each) for each in (2, 4, 6)])
        assert hosts(await drain(frontier)) == ["a", "b", "a", "b", "a", "b", "a"]
        await frontier.add([page("a", f"{each}", precedence=each) for each in (10, 30)])
        await frontier.add([page("b", "20", precedence=20)])
        out = await lease(frontier)
        await frontier.add([page("b", "25", precedence=25)])
        await frontier.done(out, cooldown_s=0.0, outcome=DONE)
    await agree(crawl)
    async with crawl.opened() as frontier:
        assert hosts(await drain(frontier)) == ["b", "b", "a"]
    await agree(crawl)


@in_virtual_time
@pytest.mark.parametrize("in_groups", [False, True])
async def test_a_queue_that_waits_for_its_turn_goes_first_when_a_better_url_comes(
    crawl: Crawl, in_groups: bool
) -> None:
    limits = {"domain": GroupLimit(at_once=1)} if in_groups else {}
    crawl.settings = QueueSettings(
        by_best_url=True, grouping=Grouping(limits=limits, groups_of_key=lambda _: ("domain all",))
    )
    async with crawl.opened() as frontier:
        await frontier.add([page(host, "dull", precedence=200) for host in "abc"])
        for round_ in range(3):
            await frontier.add([page("c", f"better-{round_}", precedence=9)])
            await frontier.add([page("b", f"good-{round_}", precedence=10)])
            for host in "cb":
                out = await lease(frontier)
                assert hosts([out.url.url]) == [host]
                await frontier.done(out, cooldown_s=0.0, outcome=DONE)
        assert sorted(hosts(await drain(frontier))) == ["a", "b", "c"]
    await agree(crawl)


async def rest(frontier: QueueFrontier, hosts: int) -> None:
    for _ in range(hosts):
        out = await lease(frontier)
        await frontier.done(out, cooldown_s=100.0 + out.number, outcome=DONE)


@in_virtual_time
async def test_queues_put_away_while_they_rest_wake_in_time_and_after_a_restart_too(crawl: Crawl) -> None:
    crawl.settings = QueueSettings(min_active=2, snoozed_in_memory=3)
    async with crawl.opened() as frontier:
        await frontier.add(pages(10, 3))
        await rest(frontier, 10)
        stats = frontier.describe()
        assert (stats.snoozed_queues, stats.inactive_queues) == (3, 7)
        for number in range(1, 6):
            out = await lease(frontier)
            assert out.number == number + 10
            assert now() == pytest.approx(START + 100 + number, abs=0.01)
            await frontier.done(out, cooldown_s=1000.0, outcome=DONE)
    await agree(crawl)
    async with crawl.opened() as frontier:
        for number in range(6, 11):
            assert (await lease(frontier)).number == number + 10
            assert now() == pytest.approx(START + 100 + number, abs=0.01)
    await agree(crawl)


@in_virtual_time
async def test_a_great_many_queues_that_all_rest_are_put_away_at_once(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(pages(300, 2))
        await rest(frontier, 300)
    crawl.settings = QueueSettings(min_active=0, snoozed_in_memory=5)
    async with crawl.opened() as frontier:
        assert await none_for(frontier, 50)
        assert frontier.describe().snoozed_queues <= 5 + 64
        assert len(await drain(frontier)) == 300
    await agree(crawl)
