"""How workers wait for a lease."""

import asyncio

import pytest

from crawler.testing.frontier.crawls import (
    DONE,
    START,
    Crawl,
    drain,
    next_lease,
    no_lease_for,
    now,
    page,
    pages,
    settle,
    turns,
)
from crawler.testing.loops import in_virtual_time
from frontier import StoreFailed


class WaitingTests:
    """Waits that end in time, and iteration that ends."""

    @in_virtual_time
    async def test_a_wait_ends_at_once_when_a_url_is_added(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([page("a")])
            await next_lease(frontier)
            wait = asyncio.ensure_future(anext(frontier))
            await asyncio.sleep(50)
            await frontier.add([page("b")])
            assert (await wait).url == page("b")
            assert now() == START + 50

    @in_virtual_time
    async def test_a_wait_ends_at_once_when_a_queue_gets_free(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add(pages(1, 3))
            first = await next_lease(frontier)
            waits = [asyncio.ensure_future(anext(frontier)) for _ in range(2)]
            await asyncio.sleep(50)
            frontier.release(first)
            second = await waits[0]
            assert second.number == first.number
            await settle(frontier, second)
            assert (await waits[1]).url.url == "http://h0.test/p1"
            assert now() == START + 50

    @in_virtual_time
    async def test_a_wait_ends_when_the_first_of_many_rests_is_over(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add(pages(20, 2))
            for _ in range(20):
                lease = await next_lease(frontier)
                await frontier.done(lease, cooldown_s=30.0 + lease.number, outcome=DONE)
            waits = [asyncio.ensure_future(anext(frontier)) for _ in range(20)]
            for number, wait in enumerate(waits, 1):
                await wait
                assert now() - START == pytest.approx(30 + number, abs=0.01)

    @in_virtual_time
    async def test_a_retry_comes_when_it_is_due_though_the_worker_that_woke_is_busy_with_another_url(
        self, crawl: Crawl
    ) -> None:
        """The first of two that wait takes the queue's next URL. The other one must hear of the retry in time."""
        async with crawl.opened(per_queue=2) as frontier:
            await frontier.add([page("a", "1"), page("a", "2"), page("a", "3")])
            first, _ = await next_lease(frontier), await next_lease(frontier)
            waits = [asyncio.ensure_future(anext(frontier)) for _ in range(2)]
            await turns()
            await frontier.retry(first, after_s=5, cooldown_s=0)
            third = await waits[0]
            assert third.url.url == "http://a.test/3"
            await settle(frontier, third)
            assert (await waits[1]).url.url == "http://a.test/1"
            assert now() - START == pytest.approx(5, abs=0.01)

    @in_virtual_time
    async def test_a_deadline_that_comes_before_the_one_waited_for_ends_the_wait(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add(pages(2, 2))
            first, second = await next_lease(frontier), await next_lease(frontier)
            await settle(frontier, first, 100)
            waits = [asyncio.ensure_future(anext(frontier)) for _ in range(2)]
            await asyncio.sleep(1)
            await settle(frontier, second, 10)
            await waits[0]
            assert now() - START == pytest.approx(11, abs=0.01)
            await waits[1]
            assert now() - START == pytest.approx(100, abs=0.01)

    @in_virtual_time
    async def test_a_queue_that_rests_wakes_its_waiter_though_it_was_filled_meanwhile(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([page("a", "1"), page("b", "1")])
            first = await next_lease(frontier)
            await next_lease(frontier)
            await settle(frontier, first, 20)  # queue a is exhausted, and rests
            waits = [asyncio.ensure_future(anext(frontier)) for _ in range(3)]
            await turns()
            await frontier.add([page("a", "2")])
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            assert now() == START + 20
            assert [wait.result().url.url for wait in waits if wait.done()] == ["http://a.test/2"]
            frontier.stop()
            await asyncio.gather(*waits, return_exceptions=True)

    @pytest.mark.parametrize("cancelled_after", range(6))
    @in_virtual_time
    async def test_a_cancelled_wait_takes_no_lease_and_loses_no_wake_up(
        self, crawl: Crawl, cancelled_after: int
    ) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([page("a")])
            await next_lease(frontier)
            one = asyncio.ensure_future(anext(frontier))
            await turns()
            other = asyncio.ensure_future(anext(frontier))
            await turns()
            adding = asyncio.ensure_future(frontier.add([page("b")]))
            await turns(cancelled_after)
            one.cancel()
            await asyncio.wait([one, adding])
            if one.cancelled():
                assert (await other).url == page("b")
            else:
                other.cancel()
                assert one.result().url == page("b")
            await asyncio.wait([other])
            assert now() == START
            assert frontier.describe().in_process == 2

    @in_virtual_time
    async def test_waits_that_are_cancelled_again_and_again_take_no_lease(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([page("a")])
            lease = await next_lease(frontier)
            for _ in range(50):
                assert await no_lease_for(frontier, 1)
            await settle(frontier, lease)
            assert [lease async for lease in frontier] == []

    @in_virtual_time
    async def test_iteration_ends_for_all_workers_when_the_last_url_is_settled(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            assert [lease async for lease in frontier] == []
            await frontier.add([page("a")])
            lease = await next_lease(frontier)
            waits = [asyncio.ensure_future(anext(frontier, None)) for _ in range(5)]
            await asyncio.sleep(10)
            assert not any(wait.done() for wait in waits)
            await settle(frontier, lease, 60)
            assert await asyncio.gather(*waits) == [None] * 5
            assert now() == START + 10  # nobody waits for a rest that concerns no URL
            await frontier.add([page("b")])
            assert await drain(frontier) == ["http://b.test/"]

    @in_virtual_time
    async def test_iteration_does_not_end_while_a_retry_is_due_later(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([page("a")])
            await frontier.retry(await next_lease(frontier), after_s=500, cooldown_s=0)
            assert frontier.describe().next_wake_s == 500
            assert await drain(frontier) == ["http://a.test/"]
            assert now() == START + 500

    @in_virtual_time
    async def test_stop_ends_iteration_for_all_and_lets_leases_be_settled(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add(pages(1, 4))
            lease = await next_lease(frontier)
            waits = [asyncio.ensure_future(anext(frontier, None)) for _ in range(3)]
            await turns()
            frontier.stop()
            assert await asyncio.gather(*waits) == [None] * 3
            assert await frontier.add([page("b")]) == 1
            await settle(frontier, lease)
            assert [lease async for lease in frontier] == []
        async with crawl.opened() as frontier:
            assert len(await drain(frontier)) == 4

    @in_virtual_time
    async def test_closing_ends_the_wait_of_all_workers_and_may_be_repeated(self, crawl: Crawl) -> None:
        frontier = await crawl.open()
        await frontier.add(pages(1, 4))
        lease = await next_lease(frontier)
        waits = [asyncio.ensure_future(anext(frontier, None)) for _ in range(3)]
        await turns()
        await frontier.aclose()
        await frontier.aclose()
        assert await asyncio.gather(*waits) == [None] * 3
        with pytest.raises(StoreFailed, match="closed"):
            await frontier.add([page("b")])
        with pytest.raises(StoreFailed, match="closed"):
            await settle(frontier, lease)
