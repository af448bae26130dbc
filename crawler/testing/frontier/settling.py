"""How leases come back."""

import math
import re

import pytest

from crawler.testing.frontier.crawls import DONE, START, Crawl, drain, next_lease, now, page, pages, settle
from crawler.testing.loops import in_virtual_time
from frontier import Outcome, UrlState


class SettlingTests:
    """`done`, `retry` and `release`."""

    @in_virtual_time
    async def test_a_lease_is_settled_once(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add(pages(1, 2))
            lease = await next_lease(frontier)
            await settle(frontier, lease)
            before, name = frontier.describe(), re.escape(lease.url.url)
            with pytest.raises(ValueError, match=name):
                await settle(frontier, lease)
            with pytest.raises(ValueError, match=name):
                await frontier.retry(lease, after_s=0, cooldown_s=0)
            with pytest.raises(ValueError, match=name):
                frontier.release(lease)
            assert frontier.describe() == before

    @in_virtual_time
    async def test_a_lease_that_was_handed_back_cannot_settle_the_one_that_another_worker_holds(
        self, crawl: Crawl
    ) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([page("a")])
            mine = await next_lease(frontier)
            frontier.release(mine)
            theirs = await next_lease(frontier)
            assert theirs.number == mine.number
            with pytest.raises(ValueError, match=re.escape(mine.url.url)):
                await settle(frontier, mine)
            await settle(frontier, theirs)

    @in_virtual_time
    async def test_nonsense_is_refused_and_changes_nothing(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add(pages(1, 2))
            lease = await next_lease(frontier)
            before = frontier.describe()
            for wrong in (-1.0, math.nan, math.inf, 1e12):
                with pytest.raises(ValueError, match="cooldown_s"):
                    await frontier.done(lease, cooldown_s=wrong, outcome=DONE)
                with pytest.raises(ValueError, match="after_s"):
                    await frontier.retry(lease, after_s=wrong, cooldown_s=0)
                with pytest.raises(ValueError, match="cooldown_s"):
                    frontier.release(lease, cooldown_s=wrong)
            with pytest.raises(ValueError, match="pending"):
                await frontier.done(lease, cooldown_s=0, outcome=Outcome(state=UrlState.PENDING))
            assert frontier.describe() == before
            await settle(frontier, lease)

    @in_virtual_time
    async def test_a_retry_stands_behind_those_that_wait_and_counts_its_attempts(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add(pages(1, 3))
            first = await next_lease(frontier)
            await frontier.retry(first, after_s=1, cooldown_s=2)
            stats = frontier.describe()
            assert (stats.pending, stats.retrying, stats.in_process) == (2, 1, 0)
            second = await next_lease(frontier)
            assert now() == START + 2
            assert (second.url.url, second.error_streak) == ("http://h0.test/p1", 1)
            await settle(frontier, second)
            third = await next_lease(frontier)
            assert (third.url.url, third.error_streak) == ("http://h0.test/p2", 0)
            await settle(frontier, third)
            again = await next_lease(frontier)
            assert (again.url.url, again.url.attempt, again.number) == ("http://h0.test/p0", 1, first.number)
            await frontier.retry(again, after_s=1, cooldown_s=0)
            last = await next_lease(frontier)
            assert (last.url.attempt, last.error_streak) == (2, 1)
            await settle(frontier, last)
            assert frontier.describe().retrying == 0

    @in_virtual_time
    async def test_server_failures_in_a_row_are_counted_by_queue(self, crawl: Crawl) -> None:
        failed = Outcome(state=UrlState.FAILED, reason="timeout", server_ok=False)
        async with crawl.opened() as frontier:
            await frontier.add(pages(1, 4))
            streaks = []
            for outcome in (failed, failed, DONE, failed):
                lease = await next_lease(frontier)
                streaks.append(lease.error_streak)
                await frontier.done(lease, cooldown_s=0, outcome=outcome)
            assert streaks == [0, 1, 2, 0]
            stats = frontier.describe()
            assert (stats.failed, stats.done) == (3, 1)

    @pytest.mark.parametrize("per_queue", [1, 3])
    @in_virtual_time
    async def test_a_released_url_is_first_in_its_queue_again(self, crawl: Crawl, per_queue: int) -> None:
        async with crawl.opened(per_queue=per_queue) as frontier:
            await frontier.add(pages(1, 6))
            leases = [await next_lease(frontier) for _ in range(per_queue)]
            for lease in reversed(leases):
                frontier.release(lease, cooldown_s=5)
            again = [await next_lease(frontier) for _ in range(per_queue)]
            assert now() == START + 5
            assert [lease.number for lease in again] == [lease.number for lease in leases]
            for lease in again:
                await settle(frontier, lease)
            assert await drain(frontier) == [f"http://h0.test/p{number}" for number in range(per_queue, 6)]
