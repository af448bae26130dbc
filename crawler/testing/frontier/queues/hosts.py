"""Queues of one host share its pace, whatever the port."""

from pathlib import Path

import pytest

from crawler.testing.frontier.crawls import START, Crawl, next_lease, no_lease_for, now, pages, settle
from crawler.testing.frontier.queues.pace import fetch_all, gaps_s, ported, share_hosts
from crawler.testing.loops import in_virtual_time


class HostTests:
    """Ports of a host take turns, and rest as one."""

    @in_virtual_time
    @pytest.mark.parametrize("ports", [(80, 8080, 8443), (8080, 8443, 80), (8080, 8443)])
    async def test_the_ports_of_a_host_take_turns_and_rest_as_one(self, crawl: Crawl, ports: tuple[int, ...]) -> None:
        crawl.settings = share_hosts()
        async with crawl.opened() as frontier:
            await frontier.add(ported("a", *ports, each=3))
            starts = await fetch_all(frontier, 2.0)
        assert gaps_s(starts) == [2.0] * (3 * len(ports) - 1)
        assert len({key for key, _ in starts[: len(ports)]}) == len(ports)
        await crawl.check()

    @in_virtual_time
    async def test_other_hosts_are_not_kept_waiting(self, crawl: Crawl) -> None:
        crawl.settings = share_hosts()
        async with crawl.opened() as frontier:
            await frontier.add([*ported("a", 80, 8080), *ported("b", 80), *ported("c", 8080)])
            starts = await fetch_all(frontier, 5.0)
        assert sorted(at_s for _, at_s in starts) == [0.0, 0.0, 0.0, 5.0]

    @in_virtual_time
    async def test_all_ports_together_are_fetched_at_once_as_often_as_one_host_may_be(self, crawl: Crawl) -> None:
        crawl.settings = share_hosts(per_host=2)
        async with crawl.opened() as frontier:
            await frontier.add(ported("a", 80, 8080, 8443, each=2))
            leases = [await next_lease(frontier) for _ in range(2)]
            assert await no_lease_for(frontier, 60.0)
            await settle(frontier, leases[0])
            await next_lease(frontier)
            assert await no_lease_for(frontier, 60.0)

    @in_virtual_time
    @pytest.mark.parametrize("ports", [(80, 8080), (8080, 80)])
    async def test_a_port_that_is_found_while_its_host_is_asked_must_wait(
        self, crawl: Crawl, ports: tuple[int, int]
    ) -> None:
        crawl.settings = share_hosts()
        async with crawl.opened() as frontier:
            await frontier.add(ported("a", ports[0]))
            lease = await next_lease(frontier)
            await frontier.add(ported("a", ports[1]))
            assert await no_lease_for(frontier, 60.0)
            await settle(frontier, lease, 3.0)
            ended_at = now()
            await next_lease(frontier)
            assert now() - ended_at == 3.0

    @in_virtual_time
    @pytest.mark.parametrize("ports", [(80, 8080), (8080, 80), (8443, 8080)])
    async def test_a_port_that_is_found_while_its_host_rests_must_wait_also_after_a_restart(
        self, crawl: Crawl, ports: tuple[int, int]
    ) -> None:
        crawl.settings = share_hosts()
        async with crawl.opened() as frontier:
            await frontier.add(ported("a", ports[0]))
            await settle(frontier, await next_lease(frontier), 9.0)
            await frontier.add(ported("a", ports[1], each=2))
            assert await no_lease_for(frontier, 1.0)
        async with crawl.opened() as frontier:
            await next_lease(frontier)
            assert now() - START == 9.0

    @in_virtual_time
    @pytest.mark.parametrize("ports", [(80, 8080), (8080, 80)])
    async def test_a_port_that_does_not_answer_does_not_stop_the_others(
        self, crawl: Crawl, ports: tuple[int, int]
    ) -> None:
        crawl.settings = share_hosts()
        dead = ported("a", ports[0])[0].queue_key
        for start in range(2):
            async with crawl.opened() as frontier:
                await frontier.add(ported("a", *ports, each=4))
                for _ in range(2):
                    lease = await next_lease(frontier)
                    if lease.url.queue_key == dead:
                        await frontier.retry(
                            lease, after_s=None, cooldown_s=1000.0, group_cooldown_s=1.0, reason="connect"
                        )
                    else:
                        await settle(frontier, lease, 1.0)
            assert now() - START <= 1.0 + 3.0 * start

    @in_virtual_time
    async def test_a_host_in_trouble_is_spared_by_its_other_ports_as_long_as_it_asks_to_be(self, crawl: Crawl) -> None:
        crawl.settings = share_hosts()
        async with crawl.opened() as frontier:
            await frontier.add(ported("a", 80))
            lease = await next_lease(frontier)
            await frontier.retry(lease, after_s=500.0, cooldown_s=1000.0, group_cooldown_s=300.0, reason="http-503")
        async with crawl.opened() as frontier:
            await frontier.add(ported("a", 8080))
            await next_lease(frontier)
            assert now() - START == 300.0

    @in_virtual_time
    async def test_a_url_that_is_tried_again_after_a_good_answer_tells_the_pace(
        self, crawl: Crawl, tmp_path: Path
    ) -> None:
        async with crawl.opened() as frontier:
            await frontier.add(pages(1, 2))
            await settle(frontier, await next_lease(frontier), 1.0)
            await frontier.retry(
                await next_lease(frontier), after_s=None, cooldown_s=10.0, answered=True, server_ok=True
            )
            await next_lease(frontier)  # its server is being asked when the process dies
            crawl = crawl.crashed(tmp_path / "crashed")
        async with crawl.opened(rest_after_crash_s=1.0) as frontier:
            await next_lease(frontier)
            assert now() - START == 11.0 + 10.0
        await crawl.check()

    @in_virtual_time
    async def test_a_crash_is_no_way_around_the_pace_of_a_host(self, crawl: Crawl, tmp_path: Path) -> None:
        crawl.settings = share_hosts()
        async with crawl.opened() as frontier:
            await frontier.add(ported("a", 80, 8080, each=3))
            await settle(frontier, await next_lease(frontier), 10.0)
            await settle(frontier, await next_lease(frontier), 10.0)
            await next_lease(frontier)  # its server is being asked when the process dies
            crawl = crawl.crashed(tmp_path / "crashed")
        async with crawl.opened(rest_after_crash_s=1.0) as frontier:
            starts = await fetch_all(frontier, 10.0)
        assert starts[0][1] == 20.0 + 10.0
        assert gaps_s(starts) == [10.0] * 3
