"""What a user may set about serving queues."""

import pytest

from crawler.testing.frontier.crawls import START, Crawl, drain, hosts_of, next_lease, now, page, pages, settle
from crawler.testing.loops import in_virtual_time
from frontier import CrawlUrl, Outcome, QueueControl, UrlState
from frontier.queues.grouping import Grouping, GroupLimit
from frontier.queues.settings import MIN_ACTIVE, QueueSettings
from frontier.values import Budgets


class SettingTests:
    """Sessions, budgets, precedence."""

    @in_virtual_time
    async def test_small_hosts_are_finished_as_soon_as_politeness_allows_beside_a_giant(self, crawl: Crawl) -> None:
        crawl.settings = QueueSettings(min_active=20, snoozed_in_memory=30, budgets=Budgets(session=50))
        hosts, each = 200, 10
        async with crawl.opened() as frontier:
            await frontier.add([page("giant", f"{number}") for number in range(5000)])
            await frontier.add(pages(hosts, each))
            finished_at: dict[str, float] = {}
            waiting = hosts * each
            while waiting:
                lease = await next_lease(frontier)
                await settle(frontier, lease, 1.0)
                if lease.url.queue_key != "test,giant":
                    waiting -= 1
                    finished_at[lease.url.queue_key] = now() - START
            # Ten pages of a host take nine rests; nobody waits for the giant, nor for the other small ones.
            assert max(finished_at.values()) < each
            assert frontier.describe().pending >= 5000 - 2 * each
            assert (await next_lease(frontier)).url.queue_key == "test,giant"
        await crawl.check()

    @in_virtual_time
    async def test_few_hosts_take_turns_whatever_their_sessions(self, crawl: Crawl) -> None:
        crawl.settings = QueueSettings(budgets=Budgets(session=1))
        async with crawl.opened() as frontier:
            await frontier.add(pages(3, 3))
            assert hosts_of(await drain(frontier)) == ["h0", "h1", "h2"] * 3

    @in_virtual_time
    async def test_a_queue_whose_budget_is_spent_is_retired_and_its_urls_are_kept(self, crawl: Crawl) -> None:
        crawl.settings = QueueSettings(budgets=Budgets(total=3, error_penalty=5))
        async with crawl.opened() as frontier:
            await frontier.add(pages(2, 5))
            failed = Outcome(state=UrlState.FAILED, reason="timeout", server_ok=False)
            await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=failed)
            assert hosts_of(await drain(frontier)) == ["h1"] * 3
            stats = frontier.describe()
            assert (stats.pending, stats.retired, stats.retired_queues) == (0, 6, 2)
            assert await frontier.add([page("h1", "more")]) == 1
            assert frontier.describe().retired == 7
        await crawl.check()
        crawl.settings = QueueSettings(budgets=Budgets(total=100))
        async with crawl.opened() as frontier:
            assert sorted(hosts_of(await drain(frontier))) == ["h0"] * 4 + ["h1"] * 3
            assert frontier.describe().retired_queues == 0
        await crawl.check()

    @in_virtual_time
    async def test_a_queue_s_own_budget_holds_whatever_that_of_all_is(self, crawl: Crawl) -> None:
        crawl.settings = QueueSettings(budgets=Budgets(total=3))
        async with crawl.opened() as frontier:
            if not isinstance(frontier, QueueControl):
                pytest.skip("its queues have no budgets of their own")
            await frontier.add(pages(2, 6))
            assert len(await drain(frontier)) == 6
            await frontier.set_budget("test,h1", 5)
            assert hosts_of(await drain(frontier)) == ["h1"] * 2
            assert (frontier.describe().pending, frontier.describe().retired) == (0, 4)
        await crawl.check()
        crawl.settings = QueueSettings(budgets=Budgets(total=100))
        async with crawl.opened() as frontier:
            assert isinstance(frontier, QueueControl)
            assert hosts_of(await drain(frontier)) == ["h0"] * 3
            assert frontier.describe().retired_queues == 1
            await frontier.set_budget("test,h1", None)
            assert hosts_of(await drain(frontier)) == ["h1"]
            assert frontier.describe().retired_queues == 0
        await crawl.check()

    @in_virtual_time
    async def test_a_url_costs_what_it_says(self, crawl: Crawl) -> None:
        crawl.settings = QueueSettings(budgets=Budgets(total=10))
        async with crawl.opened() as frontier:
            expensive = [
                CrawlUrl(url=f"http://a.test/{n}", canonical=f"http://a.test/{n}", queue_key="test,a", cost=4)
                for n in range(5)
            ]
            await frontier.add(expensive)
            assert len(await drain(frontier)) == 3

    @pytest.mark.parametrize("min_active", [1, MIN_ACTIVE])
    @in_virtual_time
    async def test_queues_of_better_precedence_go_first_and_those_above_the_floor_never(
        self, crawl: Crawl, min_active: int
    ) -> None:
        crawl.settings = QueueSettings(by_best_url=True, precedence_floor=100, min_active=min_active)
        async with crawl.opened() as frontier:
            await frontier.add([page("late", f"{n}", precedence=9) for n in range(2)])
            await frontier.add([page("never", f"{n}", precedence=100) for n in range(2)])
            await frontier.add([page("early", f"{n}", precedence=3) for n in range(2)])
            assert hosts_of(await drain(frontier)) == ["early", "early", "late", "late"]
            assert frontier.describe().pending == 2
            await frontier.add([page("never", "better", precedence=5)])
            assert hosts_of(await drain(frontier)) == ["never"]
            assert frontier.describe().pending == 2
        await crawl.check()

    @in_virtual_time
    async def test_a_queue_goes_back_behind_others_when_its_best_urls_have_been_fetched(self, crawl: Crawl) -> None:
        crawl.settings = QueueSettings(by_best_url=True)
        async with crawl.opened() as frontier:
            await frontier.add([page("a", f"{number}", precedence=number) for number in (1, 3, 5, 9)])
            await frontier.add([page("b", f"{number}", precedence=number) for number in (2, 4, 6)])
            assert hosts_of(await drain(frontier)) == ["a", "b", "a", "b", "a", "b", "a"]
            await frontier.add([page("a", f"{number}", precedence=number) for number in (10, 30)])
            await frontier.add([page("b", "20", precedence=20)])
            lease = await next_lease(frontier)
            await frontier.add([page("b", "25", precedence=25)])
            await settle(frontier, lease)
        await crawl.check()
        async with crawl.opened() as frontier:
            assert hosts_of(await drain(frontier)) == ["b", "b", "a"]
        await crawl.check()

    @in_virtual_time
    @pytest.mark.parametrize("in_groups", [False, True])
    async def test_a_queue_that_waits_for_its_turn_goes_first_when_a_better_url_comes(
        self, crawl: Crawl, in_groups: bool
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
                    lease = await next_lease(frontier)
                    assert hosts_of([lease.url.url]) == [host]
                    await settle(frontier, lease)
            assert sorted(hosts_of(await drain(frontier))) == ["a", "b", "c"]
        await crawl.check()
