"""Addresses and domains that share a pace: no more fetches at once, and none sooner, than they may bear."""

import asyncio
import re
from itertools import pairwise
from pathlib import Path

import pytest

from crawler.testing.frontier.crawls import START, Crawl, next_lease, no_lease_for, now, page, pages, settle, turns
from crawler.testing.frontier.queues.pace import ONE, OTHER, begin_next, limit_groups
from crawler.testing.loops import in_virtual_time
from frontier.queues.grouping import GroupLimit


class GroupTests:
    """`begin_fetch` and `relocate`, with limits for groups."""

    @in_virtual_time
    async def test_an_address_bears_no_more_fetches_at_once_than_it_may_whichever_hosts_it_has(
        self, crawl: Crawl
    ) -> None:
        crawl.settings = limit_groups(ip=GroupLimit(at_once=2))
        async with crawl.opened() as frontier:
            await frontier.add(pages(5, 2))
            leases = [await begin_next(frontier) for _ in range(2)]
            waiting = asyncio.create_task(begin_next(frontier))
            await turns()
            assert not waiting.done()
            stats = frontier.describe()
            assert (stats.held_back_queues, stats.ready_queues, stats.in_process_queues) == (3, 0, 2)
            await settle(frontier, leases[0])
            assert (await waiting).url.queue_key not in {lease.url.queue_key for lease in leases}
        await crawl.check()

    @in_virtual_time
    async def test_an_address_rests_after_each_fetch_and_hosts_elsewhere_do_not(self, crawl: Crawl) -> None:
        crawl.settings = limit_groups(ip=GroupLimit(at_once=1, rest_s=5.0))
        starts: dict[str, list[float]] = {ONE: [], OTHER: []}
        async with crawl.opened() as frontier:
            await frontier.add(pages(4, 3))
            async for lease in frontier:
                address = ONE if lease.url.queue_key in {"test,h0", "test,h1", "test,h2"} else OTHER
                if frontier.begin_fetch(lease, address=address):
                    starts[address].append(now() - START)
                    await settle(frontier, lease, 1.0)
        assert starts == {ONE: [5.0 * turn for turn in range(9)], OTHER: [0.0, 5.0, 10.0]}
        await crawl.check()

    @in_virtual_time
    async def test_hosts_of_a_domain_share_its_pace_wherever_they_lie(self, crawl: Crawl) -> None:
        crawl.settings = limit_groups(domain=GroupLimit(at_once=1, rest_s=2.0))
        async with crawl.opened() as frontier:
            await frontier.add([page(f"{host}{domain}", "x") for domain in "12" for host in "abc"])
            starts: dict[str, list[float]] = {"1": [], "2": []}
            async for lease in frontier:
                starts[lease.url.queue_key[-1]].append(now() - START)
                await settle(frontier, lease)
        assert starts == {"1": [0.0, 2.0, 4.0], "2": [0.0, 2.0, 4.0]}

    @in_virtual_time
    async def test_a_queue_waits_for_its_address_and_its_domain(self, crawl: Crawl) -> None:
        crawl.settings = limit_groups(ip=GroupLimit(at_once=1, rest_s=3.0), domain=GroupLimit(at_once=1, rest_s=7.0))
        async with crawl.opened() as frontier:
            await frontier.add([page("a1"), page("b1"), page("c2"), page("d2")])
            starts = {}
            async for lease in frontier:
                if frontier.begin_fetch(lease, address=ONE):
                    starts[lease.url.queue_key[-2:]] = now() - START
                    await settle(frontier, lease)
        assert starts == {"a1": 0.0, "c2": 3.0, "b1": 7.0, "d2": 10.0}

    @in_virtual_time
    async def test_an_address_that_takes_over_the_rest_of_its_hosts_serves_them_as_one(self, crawl: Crawl) -> None:
        crawl.settings = limit_groups(ip=GroupLimit(at_once=1, shares_cooldown=True))
        async with crawl.opened() as frontier:
            await frontier.add(pages(3, 2))
            starts = []
            async for lease in frontier:
                if frontier.begin_fetch(lease, address=ONE):
                    starts.append(now() - START)
                    await settle(frontier, lease, 4.0)
        assert [after - before for before, after in pairwise(starts)] == [4.0] * 5

    @in_virtual_time
    async def test_no_group_rests_unless_its_server_was_asked(self, crawl: Crawl) -> None:
        crawl.settings = limit_groups(ip=GroupLimit(at_once=1, rest_s=5.0))
        async with crawl.opened() as frontier:
            await frontier.add(pages(3, 1))
            frontier.release(await begin_next(frontier))
            assert now() == START
            lease = await begin_next(frontier)
            assert now() == START
            frontier.release(lease, asked=True)
            await begin_next(frontier)
            assert now() == START + 5

    @in_virtual_time
    async def test_the_address_that_was_asked_rests_and_not_the_one_that_was_expected(self, crawl: Crawl) -> None:
        crawl.settings = limit_groups(ip=GroupLimit(at_once=1, rest_s=5.0))
        async with crawl.opened() as frontier:
            await frontier.add(pages(2, 1))
            moved = await begin_next(frontier)
            waiting = asyncio.create_task(begin_next(frontier))
            await turns()
            assert not waiting.done()
            frontier.relocate(moved, address=OTHER)
            expected = await waiting
            assert now() == START
            await settle(frontier, moved)
            await frontier.add([page("late")])
            await begin_next(frontier, OTHER)
            assert now() == START + 5
            await settle(frontier, expected)
            with pytest.raises(ValueError, match=re.escape(moved.url.url)):
                frontier.relocate(moved, address=ONE)

    @in_virtual_time
    async def test_a_host_is_known_to_lie_where_it_was_asked_after_a_restart(self, crawl: Crawl) -> None:
        crawl.settings = limit_groups(ip=GroupLimit(at_once=1, rest_s=5.0))
        async with crawl.opened() as frontier:
            await frontier.add(pages(1, 2))
            lease = await begin_next(frontier)
            frontier.relocate(lease, address=OTHER)
            await settle(frontier, lease)
        async with crawl.opened() as frontier:
            await next_lease(frontier)
            assert now() == START + 5
        await crawl.check()

    @in_virtual_time
    async def test_the_address_that_was_asked_for_a_prerequisite_rests(self, crawl: Crawl) -> None:
        crawl.settings = limit_groups(ip=GroupLimit(at_once=1, rest_s=5.0))
        async with crawl.opened() as frontier:
            await frontier.add(pages(2, 1))
            lease = await next_lease(frontier)
            assert frontier.begin_fetch(lease, address=ONE, prerequisite="test,elsewhere")
            frontier.relocate(lease, address=OTHER, prerequisite="test,elsewhere")
            frontier.release(lease, asked=True)
            other = await next_lease(frontier)
            assert other.url.queue_key != lease.url.queue_key
            assert frontier.begin_fetch(other, address=ONE)
            assert now() == START
            frontier.relocate(other, address=OTHER)
            await settle(frontier, other)
            await begin_next(frontier, OTHER)
            assert now() == START + 5

    @in_virtual_time
    async def test_a_host_that_moves_is_held_to_the_pace_of_where_it_lies_now(self, crawl: Crawl) -> None:
        crawl.settings = limit_groups(ip=GroupLimit(at_once=1))
        async with crawl.opened() as frontier:
            await frontier.add(pages(2, 2))
            first = await begin_next(frontier)
            second = await begin_next(frontier, OTHER)
            await settle(frontier, second)
            again = await next_lease(frontier)
            assert again.url.queue_key == second.url.queue_key
            assert not frontier.begin_fetch(again, address=ONE)
            with pytest.raises(ValueError, match=re.escape(again.url.url)):
                frontier.begin_fetch(again, address=ONE)
            await settle(frontier, first)
            assert (await begin_next(frontier)).url.queue_key == second.url.queue_key

    @pytest.mark.parametrize("crashed", [False, True])
    @in_virtual_time
    async def test_a_restart_is_no_way_around_the_rest_of_an_address(
        self, crawl: Crawl, tmp_path: Path, crashed: bool
    ) -> None:
        crawl.settings = limit_groups(ip=GroupLimit(at_once=1, rest_s=60.0))
        async with crawl.opened() as frontier:
            await frontier.add(pages(3, 2))
            lease = await begin_next(frontier)
            await asyncio.sleep(10)
            await settle(frontier, lease)
            if crashed:
                crawl = crawl.crashed(tmp_path / "crashed")
        await asyncio.sleep(20)
        async with crawl.opened(rest_after_crash_s=1.0) as frontier:
            await begin_next(frontier)
            # After a crash we cannot know who was being asked, so the address rests from then on.
            assert now() - START == (90.0 if crashed else 70.0)
        await crawl.check()

    @in_virtual_time
    async def test_the_address_of_a_host_is_known_after_a_restart(self, crawl: Crawl) -> None:
        crawl.settings = limit_groups(ip=GroupLimit(at_once=1))
        async with crawl.opened() as frontier:
            await frontier.add(pages(2, 2))
            for _ in range(2):
                await settle(frontier, await begin_next(frontier))
        async with crawl.opened() as frontier:
            await next_lease(frontier)
            assert await no_lease_for(frontier, 100)
            assert frontier.describe().held_back_queues == 1

    @in_virtual_time
    async def test_what_waits_for_an_address_says_so(self, crawl: Crawl) -> None:
        crawl.settings = limit_groups(ip=GroupLimit(at_once=1, rest_s=30.0))
        async with crawl.opened() as frontier:
            await frontier.add(pages(2, 2))
            await settle(frontier, await begin_next(frontier))
            frontier.begin_fetch(await next_lease(frontier), address=ONE)
            stats = frontier.describe()
            assert (stats.next_wake_s, stats.next_wake_key, stats.next_group) == (30.0, None, f"ip {ONE}")

    @in_virtual_time
    async def test_nothing_waits_for_an_address_that_holds_no_host_back(self, crawl: Crawl) -> None:
        crawl.settings = limit_groups(ip=GroupLimit(at_once=1, rest_s=30.0))
        async with crawl.opened() as frontier:
            await frontier.add(pages(1, 1))
            await frontier.retry(await begin_next(frontier), after_s=100, cooldown_s=0)
            stats = frontier.describe()
            assert (stats.held_back_queues, stats.next_wake_s, stats.next_group) == (0, 100, None)
