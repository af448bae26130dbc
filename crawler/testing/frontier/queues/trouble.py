"""Servers in trouble: one URL is tried, the others wait."""

from crawler.testing.frontier.crawls import START, Crawl, drain, next_lease, no_lease_for, now, page, pages, settle
from crawler.testing.loops import in_virtual_time
from frontier import Outcome, UrlState
from frontier.queues.settings import QueueSettings
from frontier.values import Budgets


class TroubleTests:
    """A restart changes nothing about the trouble of a server."""

    @in_virtual_time
    async def test_a_url_that_stays_is_the_next_of_its_queue_when_that_has_rested(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([*pages(1, 3), page("other")])
            first = await next_lease(frontier)
            await frontier.retry(first, after_s=None, cooldown_s=60.0, reason="dns")
            assert (await next_lease(frontier)).url.queue_key == "test,other"
            stats = frontier.describe()
            assert (stats.pending, stats.retrying, stats.troubled_queues) == (4, 0, 1)
            again = await next_lease(frontier)
            assert now() - START == 60.0
            assert (again.url.url, again.number) == (first.url.url, first.number)
            assert (again.url.attempt, again.error_streak) == (1, 1)
        await crawl.check()

    @in_virtual_time
    async def test_a_url_that_stays_keeps_its_attempts_over_a_restart(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add(pages(1, 3))
            for _ in range(3):
                await frontier.retry(await next_lease(frontier), after_s=None, cooldown_s=60.0, reason="connect")
            stats = frontier.describe()
            assert (stats.next_wake_key, stats.next_wake_streak, stats.next_wake_trouble) == ("test,h0", 3, "connect")
        await crawl.check()
        async with crawl.opened() as frontier:
            assert frontier.describe().troubled_queues == 1
            assert await no_lease_for(frontier, 59.0)
            lease = await next_lease(frontier)
            assert (lease.url.url, lease.url.attempt, lease.error_streak) == ("http://h0.test/p0", 3, 3)
            await settle(frontier, lease)
            stats = frontier.describe()
            assert (stats.troubled_queues, stats.next_wake_trouble) == (0, None)
            assert len(await drain(frontier)) == 2
        await crawl.check()

    @in_virtual_time
    async def test_a_url_that_stays_costs_its_queue_what_a_failure_costs(self, crawl: Crawl) -> None:
        crawl.settings = QueueSettings(budgets=Budgets(total=5, error_penalty=2))
        async with crawl.opened() as frontier:
            await frontier.add(pages(1, 3))
            for _ in range(2):
                await frontier.retry(await next_lease(frontier), after_s=None, cooldown_s=1.0)
            assert frontier.describe().retired == 3
        await crawl.check()

    @in_virtual_time
    async def test_a_url_that_was_admitted_anew_meanwhile_does_not_stay(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add(pages(1, 2))
            lease = await next_lease(frontier)
            assert await frontier.add([lease.url], force=True) == 1
            await frontier.retry(lease, after_s=None, cooldown_s=1.0)
            assert await drain(frontier) == ["http://h0.test/p1", "http://h0.test/p0"]
        await crawl.check()

    @in_virtual_time
    async def test_leases_of_a_host_that_is_given_up_say_so_until_it_is_time_for_another_try(
        self, crawl: Crawl
    ) -> None:
        given_up = Outcome(state=UrlState.FAILED, reason="dns", server_ok=False, dead_for_s=100.0)
        unasked = Outcome(state=UrlState.FAILED, reason="dns", asked=False)
        async with crawl.opened() as frontier:
            await frontier.add(pages(1, 3))
            lease = await next_lease(frontier)
            assert lease.dead is None
            await frontier.done(lease, cooldown_s=0.0, outcome=given_up)
            lease = await next_lease(frontier)
            assert (lease.dead, lease.error_streak) == ("dns", 1)
            await frontier.done(lease, cooldown_s=0.0, outcome=unasked)
        await crawl.check()
        async with crawl.opened() as frontier:
            lease = await next_lease(frontier)
            assert (lease.dead, lease.error_streak, now() - START) == ("dns", 1, 0.0)
            await frontier.done(lease, cooldown_s=0.0, outcome=unasked)
        async with crawl.opened() as frontier:
            await frontier.add([page("h0", "late")])
            lease = await next_lease(frontier)
            assert lease.dead == "dns"
            frontier.release(lease, cooldown_s=100.0)
            lease = await next_lease(frontier)
            assert (lease.dead, lease.error_streak) == (None, 1)
        await crawl.check()

    @in_virtual_time
    async def test_answers_and_failures_without_one_begin_a_new_streak_after_each_other(self, crawl: Crawl) -> None:
        torn = Outcome(state=UrlState.DONE, status=200, server_ok=False, answered=True)
        async with crawl.opened() as frontier:
            await frontier.add(pages(1, 5))
            await frontier.retry(
                await next_lease(frontier), after_s=1e6, cooldown_s=1.0, reason="disconnected", answered=True
            )
            await frontier.done(await next_lease(frontier), cooldown_s=1.0, outcome=torn)
        await crawl.check()
        async with crawl.opened() as frontier:
            lease = await next_lease(frontier)
            assert (lease.error_streak, lease.answered) == (2, True)
            await frontier.retry(lease, after_s=1e6, cooldown_s=1.0, reason="disconnected")
            lease = await next_lease(frontier)
            assert (lease.error_streak, lease.answered) == (1, False)
        await crawl.check()

    @in_virtual_time
    async def test_a_url_that_is_tried_again_after_a_good_answer_is_no_failure_of_its_server(
        self, crawl: Crawl
    ) -> None:
        async with crawl.opened() as frontier:
            await frontier.add(pages(1, 2))
            lease = await next_lease(frontier)
            await frontier.retry(
                lease, after_s=None, cooldown_s=1.0, reason="head-refused", answered=True, server_ok=True
            )
            assert frontier.describe().next_wake_trouble is None
            again = await next_lease(frontier)
            assert (again.url.url, again.url.attempt, again.error_streak) == (lease.url.url, 1, 0)
            frontier.release(again)
        await crawl.check()

    @in_virtual_time
    async def test_the_pressure_on_a_server_is_kept_and_comes_with_each_lease(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add(pages(1, 4))
            await frontier.retry(
                await next_lease(frontier), after_s=1000.0, cooldown_s=1.0, reason="http-429", pressure=3
            )
        async with crawl.opened() as frontier:
            lease = await next_lease(frontier)
            assert lease.pressure == 3
            await frontier.done(lease, cooldown_s=1.0, outcome=Outcome(state=UrlState.DONE, status=200, pressure=2))
            lease = await next_lease(frontier)
            assert (lease.pressure, lease.error_streak) == (2, 0)
        await crawl.check()
