"""Which queues are in memory, and which are spilled to the store: what our frontier promises beyond its protocol."""

import asyncio
import random
from contextlib import suppress
from itertools import pairwise

import msgspec
import pytest

from crawler.testing import FrontierContract
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
)
from crawler.testing.frontier.queues.pace import ONE, OTHER, limit_groups
from crawler.testing.loops import in_virtual_time
from frontier import Frontier, Lease
from frontier.queues.grouping import GroupLimit
from frontier.queues.settings import QueueSettings
from frontier.transitions.active.active_queues import ACTIVATED_TOGETHER, SPILL_S
from frontier.values import Budgets

GIANT_URLS = 5_000_000


class ActiveQueueTests(FrontierContract):
    @in_virtual_time
    async def test_a_giant_makes_room_when_its_session_is_over(self, crawl: Crawl) -> None:
        crawl.settings = QueueSettings(min_active=1, budgets=Budgets(session=3))
        async with crawl.opened() as frontier:
            await frontier.add([page("giant", f"{number}") for number in range(8)])
            await frontier.add(pages(2, 2))
            assert hosts_of(await drain(frontier)) == ["giant"] * 3 + ["h0"] * 2 + ["h1"] * 2 + ["giant"] * 5
        await crawl.check()

    @in_virtual_time
    async def test_spilled_queues_wake_in_time_and_after_a_restart_too(self, crawl: Crawl) -> None:
        crawl.settings = QueueSettings(min_active=2, snoozed_in_memory=3)
        async with crawl.opened() as frontier:
            await frontier.add(pages(10, 3))
            await _rest(frontier, 10)
            stats = frontier.describe()
            assert (stats.snoozed_queues, stats.inactive_queues) == (3, 7)
            for number in range(1, 6):
                lease = await next_lease(frontier)
                assert lease.number == number + 10
                assert now() == pytest.approx(START + 100 + number, abs=0.01)
                await settle(frontier, lease, 1000.0)
        await crawl.check()
        async with crawl.opened() as frontier:
            for number in range(6, 11):
                assert (await next_lease(frontier)).number == number + 10
                assert now() == pytest.approx(START + 100 + number, abs=0.01)
        await crawl.check()

    @in_virtual_time
    async def test_a_great_many_queues_that_all_rest_are_spilled_at_once(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add(pages(300, 2))
            await _rest(frontier, 300)
        crawl.settings = QueueSettings(min_active=0, snoozed_in_memory=5)
        async with crawl.opened() as frontier:
            assert await no_lease_for(frontier, 50)
            assert frontier.describe().snoozed_queues <= 5 + ACTIVATED_TOGETHER
            assert len(await drain(frontier)) == 300
        await crawl.check()

    @in_virtual_time
    async def test_of_very_many_hosts_on_one_address_few_are_in_memory_and_no_host_elsewhere_waits_for_them(
        self, crawl: Crawl
    ) -> None:
        settings = limit_groups(ip=GroupLimit(at_once=1, rest_s=1.0))
        crawl.settings = msgspec.structs.replace(settings, min_active=5, ready_in_memory=10)
        starts: dict[str, list[float]] = {ONE: [], OTHER: []}
        most = 0
        async with crawl.opened() as frontier:
            await frontier.add(pages(200, 1))
            async for lease in frontier:
                address = OTHER if lease.url.queue_key in {"test,h190", "test,h191"} else ONE
                if frontier.begin_fetch(lease, address=address):
                    starts[address].append(now() - START)
                    await settle(frontier, lease)
                stats = frontier.describe()
                most = max(most, stats.ready_queues + stats.held_back_queues + stats.snoozed_queues)
            assert frontier.describe().done == 200
        assert starts[OTHER] == [0.0, 1.0]
        assert all(after - before >= 1.0 for before, after in pairwise(starts[ONE]))
        assert most <= 10 + ACTIVATED_TOGETHER
        await crawl.check()

    @pytest.mark.parametrize("seed", range(6))
    @in_virtual_time
    async def test_whichever_queues_are_spilled_all_is_fetched_at_its_pace(self, crawl: Crawl, seed: int) -> None:
        await RandomCrawl(crawl, seed).run()

    @pytest.mark.long
    @in_virtual_time
    async def test_ten_thousand_small_hosts_are_finished_in_nine_rests_beside_one_of_five_million_urls(
        self, crawl: Crawl
    ) -> None:
        crawl.need_persistence()
        hosts, each = 10_000, 10
        async with crawl.opened() as frontier:
            for start in range(0, GIANT_URLS, 1000):
                await frontier.add([page("giant", f"{number}") for number in range(start, start + 1000)])
            for start in range(0, hosts, 100):
                batch = [page(f"h{host}", f"{n}") for host in range(start, start + 100) for n in range(each)]
                await frontier.add(batch)
            fetched = of_small_hosts = 0
            while of_small_hosts < hosts * each:
                lease = await next_lease(frontier)
                fetched += 1
                of_small_hosts += lease.url.queue_key != "test,giant"
                await settle(frontier, lease, 1.0)
            assert now() - START < each
            assert fetched - of_small_hosts <= each
            assert frontier.describe().pending == GIANT_URLS - (fetched - of_small_hosts)
        await crawl.check()


class RandomCrawl:
    """A crawl of random settings and steps through many frontiers."""

    def __init__(self, crawl: Crawl, seed: int) -> None:
        self.chance = chance = random.Random(seed)
        self.crawl = crawl
        self.rest_s = chance.choice([0.0, 2.0])
        ip = GroupLimit(at_once=chance.randint(1, 2), rest_s=self.rest_s)
        self.crawl.settings = msgspec.structs.replace(
            limit_groups(ip=ip, domain=GroupLimit(at_once=2)),
            per_queue=chance.randint(1, 2),
            min_active=chance.choice([0, 1, 4, 4096]),
            snoozed_in_memory=chance.choice([0, 1, 50_000]),
            ready_in_memory=chance.choice([0, 1, 3]),
            budgets=Budgets(session=chance.choice([1, None])),
        )
        self.waiting = {url.canonical for url in pages(15, 3)}
        self.rests_until: dict[str, float] = {}
        """By address."""
        self.leases: list[tuple[str, Lease]] = []
        """Those that are out, and the address that each may ask."""

    async def run(self) -> None:
        for _ in range(60):
            async with self.crawl.opened() as frontier:
                await frontier.add(pages(15, 3))
                for _ in range(self.chance.choice([3, 30])):
                    lease = await self.begin(frontier)
                    if self.leases and (lease is None or self.chance.random() < 0.7):
                        await self.end(frontier)
            self.leases.clear()
            await self.crawl.check()
        assert not self.waiting

    async def begin(self, frontier: Frontier) -> Lease | None:
        """The next lease, which may then ask its address; None if all wait for a lease to end."""
        lease = None
        with suppress(TimeoutError):
            async with asyncio.timeout(SPILL_S + 1):
                lease = await anext(frontier, None)
        if lease is not None:
            address = f"192.0.2.{int(lease.url.queue_key.removeprefix('test,h')) % 3}"
            if frontier.begin_fetch(lease, address=address):
                assert now() >= self.rests_until.get(address, 0.0)
                self.leases.append((address, lease))
        return lease

    async def end(self, frontier: Frontier) -> None:
        """Settle a lease, or retry it."""
        chance = self.chance
        address, lease = self.leases.pop(chance.randrange(len(self.leases)))
        if chance.random() < 0.3:
            await frontier.retry(lease, after_s=chance.choice([0.0, 5.0]), cooldown_s=chance.choice([0.0, 3.0]))
        else:
            await settle(frontier, lease, chance.choice([0.0, 3.0]))
            self.waiting.remove(lease.url.canonical)
        self.rests_until[address] = now() + self.rest_s


async def _rest(frontier: Frontier, hosts: int) -> None:
    for _ in range(hosts):
        lease = await next_lease(frontier)
        await settle(frontier, lease, 100.0 + lease.number)
