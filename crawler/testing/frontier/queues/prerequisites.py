"""Requests to another host that must come first."""

import asyncio

from crawler.testing.frontier.crawls import START, Crawl, next_lease, no_lease_for, now, page, settle, turns
from crawler.testing.frontier.queues.pace import ONE, OTHER, Start, begin_prerequisite, gaps_s, share_hosts
from crawler.testing.loops import in_virtual_time
from frontier.queues.grouping import GroupLimit


class PrerequisiteTests:
    """They keep the pace of the host that is asked."""

    @in_virtual_time
    async def test_a_prerequisite_waits_for_the_host_that_is_asked_and_makes_it_rest(self, crawl: Crawl) -> None:
        crawl.settings = share_hosts()
        async with crawl.opened() as frontier:
            await frontier.add([page("b", "1"), page("b", "2")])
            busy = await next_lease(frontier)
            await frontier.add([page("a", "1"), page("a", "2")])
            lease = await next_lease(frontier)
            assert not begin_prerequisite(frontier, lease, "b")
            assert await no_lease_for(frontier, 60.0)
            await settle(frontier, busy, 4.0)
            ended_at = now()
            lease = await next_lease(frontier)  # the one that has waited longer goes first
            assert (lease.url.queue_key, now() - ended_at) == ("test,a", 4.0)
            assert begin_prerequisite(frontier, lease, "b")
            assert await no_lease_for(frontier, 60.0)
            asked_at = now()
            frontier.release(lease, group_cooldown_s=7.0, asked=True)
            first, second = await next_lease(frontier), await next_lease(frontier)
            assert (first.url.queue_key, second.url.queue_key, now() - asked_at) == ("test,a", "test,b", 7.0)

    @in_virtual_time
    async def test_a_host_without_a_queue_rests_after_being_a_prerequisite_also_after_a_restart(
        self, crawl: Crawl
    ) -> None:
        crawl.settings = share_hosts()
        async with crawl.opened() as frontier:
            await frontier.add([page("a", "1"), page("a", "2")])
            lease = await next_lease(frontier)
            assert begin_prerequisite(frontier, lease, "b")
            frontier.release(lease, group_cooldown_s=20.0, asked=True)
            await settle(frontier, await next_lease(frontier), 1.0)
        await asyncio.sleep(1)
        async with crawl.opened() as frontier:
            await frontier.add([page("b"), page("c")])
            assert {(await next_lease(frontier)).url.queue_key for _ in range(2)} == {"test,a", "test,c"}
            assert (await next_lease(frontier)).url.queue_key == "test,b"
            assert now() - START == 20.0
        await crawl.check()

    @in_virtual_time
    async def test_a_prerequisite_to_a_host_that_does_not_answer_waits_until_that_is_tried_again(
        self, crawl: Crawl
    ) -> None:
        crawl.settings = share_hosts()
        async with crawl.opened() as frontier:
            await frontier.add([page("b")])
            await frontier.retry(
                await next_lease(frontier), after_s=None, cooldown_s=90.0, group_cooldown_s=1.0, reason="dns"
            )
            await frontier.add([page("a")])
            starts = {}
            async for lease in frontier:
                key = lease.url.queue_key
                if key == "test,b" or "prerequisite" in starts:
                    starts[key] = now() - START
                    await settle(frontier, lease, 1.0)
                elif begin_prerequisite(frontier, lease, "b"):
                    starts["prerequisite"] = now() - START
                    frontier.release(lease, group_cooldown_s=1.0, asked=True)
        assert min(starts["prerequisite"], starts["test,b"]) == 90.0
        assert abs(starts["prerequisite"] - starts["test,b"]) >= 1.0

    @in_virtual_time
    async def test_two_hosts_that_need_each_other_both_get_their_answers(self, crawl: Crawl) -> None:
        crawl.settings = share_hosts()
        async with crawl.opened() as frontier:
            await frontier.add([page("a"), page("b")])
            asked: list[Start] = []
            known: set[str] = set()
            async for lease in frontier:
                key = lease.url.queue_key
                other = "b" if key == "test,a" else "a"
                if key in known:
                    asked.append((key, now() - START))
                    await settle(frontier, lease, 1.0)
                elif begin_prerequisite(frontier, lease, other):
                    asked.append((f"test,{other}", now() - START))
                    known.add(key)
                    await turns()
                    frontier.release(lease, group_cooldown_s=1.0, asked=True)
        for host in ("test,a", "test,b"):
            assert min(gaps_s([start for start in asked if start[0] == host])) >= 1.0
        assert len(asked) == 4

    @in_virtual_time
    async def test_a_prerequisite_keeps_the_pace_of_the_address_that_is_asked(self, crawl: Crawl) -> None:
        crawl.settings = share_hosts(ip=GroupLimit(at_once=1, rest_s=5.0))
        async with crawl.opened() as frontier:
            await frontier.add([page("a", "1"), page("a", "2"), page("c")])
            first, second = await next_lease(frontier), await next_lease(frontier)
            assert frontier.begin_fetch(second, address=OTHER)
            assert not begin_prerequisite(frontier, first, "b", address=OTHER)
            await settle(frontier, second)
            lease = await next_lease(frontier)
            assert now() - START == 5.0
            assert begin_prerequisite(frontier, lease, "b", address=OTHER)
            frontier.release(lease, asked=True)
            # Its own host is elsewhere, and needs no rest for what others were asked.
            lease = await next_lease(frontier)
            assert frontier.begin_fetch(lease, address=ONE)
            assert now() - START == 5.0

    @in_virtual_time
    async def test_a_prerequisite_that_is_not_needed_any_more_delays_nobody(self, crawl: Crawl) -> None:
        crawl.settings = share_hosts()
        async with crawl.opened() as frontier:
            await frontier.add([page("a"), page("b")])
            first, second = await next_lease(frontier), await next_lease(frontier)
            assert not begin_prerequisite(frontier, first, "b")
            await settle(frontier, second, 3.0)
            again = await next_lease(frontier)
            assert frontier.begin_fetch(again, address=None)
            await frontier.add([page("b", "2")])
            assert (await next_lease(frontier)).url.queue_key == "test,b"
