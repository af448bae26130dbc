"""Which URL is leased, and when."""

import asyncio
from collections import Counter

import pytest

from crawler.testing.frontier.crawls import (
    START,
    Crawl,
    drain,
    hosts_of,
    next_lease,
    no_lease_for,
    now,
    page,
    pages,
    settle,
    urls_of,
)
from crawler.testing.loops import in_virtual_time
from frontier import Frontier


class LeaseTests:
    """The order of leases, and the rests between them."""

    @pytest.mark.parametrize("per_queue", [1, 3])
    @in_virtual_time
    async def test_a_queue_gives_no_more_leases_than_it_may(self, crawl: Crawl, per_queue: int) -> None:
        async with crawl.opened(per_queue=per_queue) as frontier:
            await frontier.add(pages(1, 9))
            leases = [await next_lease(frontier) for _ in range(per_queue)]
            assert await no_lease_for(frontier, 1000)
            await settle(frontier, leases[0])
            await next_lease(frontier)
            assert await no_lease_for(frontier, 1000)

    @pytest.mark.parametrize("per_queue", [1, 2])
    @in_virtual_time
    async def test_a_queue_rests_after_a_fetch_also_while_other_urls_of_it_are_leased(
        self, crawl: Crawl, per_queue: int
    ) -> None:
        async with crawl.opened(per_queue=per_queue) as frontier:
            await frontier.add(pages(1, 9))
            leases = [await next_lease(frontier) for _ in range(per_queue)]
            for lease in leases:
                await asyncio.sleep(1)
                await settle(frontier, lease, 10)
            ended_at = now()
            await next_lease(frontier)
            assert now() - ended_at == pytest.approx(10, abs=0.01)

    @in_virtual_time
    async def test_a_ready_queue_rests_when_another_lease_of_it_ends_with_a_cooldown(self, crawl: Crawl) -> None:
        async with crawl.opened(per_queue=3) as frontier:
            await frontier.add(pages(1, 9))
            first = await next_lease(frontier)
            assert frontier.describe().ready_queues == 1
            await settle(frontier, first, 10)
            assert frontier.describe().ready_queues == 0
            await next_lease(frontier)
            assert now() == START + 10

    @in_virtual_time
    async def test_a_longer_rest_is_not_shortened_by_a_later_shorter_one(self, crawl: Crawl) -> None:
        async with crawl.opened(per_queue=2) as frontier:
            await frontier.add(pages(1, 4))
            first, second = await next_lease(frontier), await next_lease(frontier)
            await settle(frontier, first, 100)
            await settle(frontier, second, 1)
            await next_lease(frontier)
            assert now() == START + 100

    @in_virtual_time
    async def test_workers_share_the_queues_and_no_host_is_fetched_twice_at_once(self, crawl: Crawl) -> None:
        fetched: Counter[str] = Counter()
        busy: set[str] = set()
        rests_until: dict[str, float] = {}

        async def work(frontier: Frontier) -> None:
            async for lease in frontier:
                key = lease.url.queue_key
                assert key not in busy
                assert now() >= rests_until.get(key, 0.0)
                busy.add(key)
                await asyncio.sleep(0.3 + lease.number % 7 / 10)
                busy.remove(key)
                if lease.url.attempt < lease.number % 3:
                    await frontier.retry(lease, after_s=lease.number % 5, cooldown_s=0.2)
                else:
                    fetched[lease.url.url] += 1
                    await frontier.add([page(key[5:], f"p{number}") for number in range(lease.number % 11)])
                    await settle(frontier, lease, 1.0)
                    rests_until[key] = now() + 1.0

        async with crawl.opened() as frontier:
            await frontier.add(pages(10, 4))
            async with asyncio.TaskGroup() as group:
                for _ in range(6):
                    group.create_task(work(frontier))
            assert set(urls_of(pages(10, 4))) <= fetched.keys()
            assert set(fetched.values()) == {1}
            stats = frontier.describe()
            assert stats.done == stats.admitted == len(fetched)
            assert stats.pending == stats.in_process == stats.retrying == 0
            assert stats.ready_queues == stats.in_process_queues == stats.snoozed_queues == 0

    @in_virtual_time
    async def test_queues_take_turns(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([page("giant", f"{number}") for number in range(50)])
            await frontier.add(pages(3, 2))
            assert set(hosts_of((await drain(frontier))[:8])) == {"giant", "h0", "h1", "h2"}
