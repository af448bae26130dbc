"""How one frontier follows another."""

import pytest

from crawler.testing.frontier.crawls import START, Crawl, next_lease, now, page, pages, settle
from crawler.testing.loops import in_virtual_time
from frontier import Outcome, UrlState


class RestartTests:
    """What the next frontier over the same state knows."""

    @in_virtual_time
    async def test_a_crawl_goes_on_where_it_ended(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([*pages(1, 3), page("b", "1"), page("c", "1"), page("d", "1")])
            first = await next_lease(frontier)  # of h0
            await frontier.done(first, cooldown_s=100, outcome=Outcome(state=UrlState.FAILED, server_ok=False))
            second = await next_lease(frontier)  # of b
            await frontier.retry(second, after_s=200, cooldown_s=300, reason="503")
            third = await next_lease(frontier)  # of c
            frontier.release(third, cooldown_s=50)
            await next_lease(frontier)  # of d, never settled
            before = frontier.describe()
        async with crawl.opened() as frontier:
            after = frontier.describe()
            for name in ("admitted", "pending", "retrying", "done", "failed", "snoozed_queues"):
                assert getattr(after, name) == getattr(before, name)
            assert await frontier.add([*pages(1, 3), page("b", "1")]) == 0
            leases = []
            async for lease in frontier:
                leases.append((now() - START, lease.url.url, lease.number, lease.url.attempt, lease.error_streak))
                await settle(frontier, lease)
            assert leases == [
                (0.0, "http://d.test/1", 6, 0, 0),
                (50.0, "http://c.test/1", 5, 0, 0),
                (100.0, "http://h0.test/p1", 2, 0, 1),
                (100.0, "http://h0.test/p2", 3, 0, 0),
                (300.0, "http://b.test/1", 4, 1, 1),
            ]
            await frontier.add([page("e")])
            assert (await next_lease(frontier)).number == 7

    @in_virtual_time
    async def test_a_queue_that_was_exhausted_still_rests_after_a_restart(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([page("a", "1")])
            await settle(frontier, await next_lease(frontier), 100)
        async with crawl.opened() as frontier:
            await frontier.add([page("a", "2")])
            await next_lease(frontier)
            assert now() == START + 100

    @in_virtual_time
    async def test_a_clock_that_was_set_back_between_runs_makes_nothing_wait_longer_or_shorter(
        self, crawl: Crawl
    ) -> None:
        year_s = 365 * 86400.0
        async with crawl.opened(behind_s=-year_s) as frontier:
            await frontier.add([page("a", "1"), page("a", "2"), page("b")])
            await settle(frontier, await next_lease(frontier), 20)
            await frontier.retry(await next_lease(frontier), after_s=30, cooldown_s=0)
        async with crawl.opened() as frontier:
            assert (await next_lease(frontier)).url == page("a", "2")
            assert now() - START == pytest.approx(20, abs=0.01)
            assert (await next_lease(frontier)).url.url == "http://b.test/"
            assert now() - START == pytest.approx(30, abs=0.01)
            await frontier.add([page("c")])
            entry = await frontier.status_of("http://c.test/")
            assert entry is not None
            assert entry.found_at == int(now())
