"""Hosts that share a pace: no more of their pages at once, and none sooner, than an address or a domain may bear."""

import asyncio
import random
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import FrameType

import msgspec
import pytest

from frontier import Lease
from frontier.queues.budgets import Budgets
from frontier.queues.grouping import Grouping, GroupLimit
from frontier.queues.lease_end import Ending
from frontier.queues.queue import Queue, QueueRecord
from frontier.queues.schedule import Schedule
from frontier.queues.settings import QueueSettings
from frontier.shell import QueueFrontier
from frontier.transitions.active_queues import ACTIVATED_TOGETHER, SPILL_S
from tests.unit.frontier.crawls import DONE, START, Crawl, check, lease, none_for, now, page, pages, turns
from tests.unit.frontier.virtual_time import in_virtual_time

ONE, OTHER = "192.0.2.1", "192.0.2.2"


def limited(*, ip: GroupLimit | None = None, domain: GroupLimit | None = None) -> QueueSettings:
    """Hosts whose names end with the same digit are of one domain."""
    limits = {kind: limit for kind, limit in (("ip", ip), ("domain", domain)) if limit is not None}
    return QueueSettings(grouping=Grouping(limits=limits, groups_of_key=lambda key: (f"domain {key[-1]}",)))


@pytest.fixture(params=["memory", "leveldb"])
def crawl(request: pytest.FixtureRequest, tmp_path: Path) -> Crawl:
    return Crawl(tmp_path, kind=request.param)


async def begun(frontier: QueueFrontier, address: str = ONE) -> Lease:
    """The next lease that may go on at that address."""
    while True:
        out = await lease(frontier)
        if frontier.begin_fetch(out, address=address):
            return out


async def done(frontier: QueueFrontier, out: Lease, cooldown_s: float = 0.0) -> None:
    await frontier.done(out, cooldown_s=cooldown_s, outcome=DONE)


async def agree(crawl: Crawl) -> None:
    if crawl.kind == "leveldb":
        await check(crawl.directory)


@in_virtual_time
async def test_an_address_bears_no_more_fetches_at_once_than_it_may_whatever_hosts_lie_there(crawl: Crawl) -> None:
    crawl.settings = limited(ip=GroupLimit(at_once=2))
    async with crawl.opened() as frontier:
        await frontier.add(pages(5, 2))
        out = [await begun(frontier) for _ in range(2)]
        waiting = asyncio.create_task(begun(frontier))
        await turns()
        assert not waiting.done()
        stats = frontier.describe()
        assert (stats.held_back_queues, stats.ready_queues, stats.in_process_queues) == (3, 0, 2)
        await done(frontier, out[0])
        assert (await waiting).url.queue_key not in {out[0].url.queue_key, out[1].url.queue_key}
    await agree(crawl)


@in_virtual_time
async def test_an_address_rests_after_each_fetch_and_hosts_elsewhere_do_not(crawl: Crawl) -> None:
    crawl.settings = limited(ip=GroupLimit(at_once=1, rest_s=5.0))
    began: dict[str, list[float]] = {ONE: [], OTHER: []}
    async with crawl.opened() as frontier:
        await frontier.add(pages(4, 3))
        async for out in frontier:
            address = ONE if out.url.queue_key in {"test,h0", "test,h1", "test,h2"} else OTHER
            if frontier.begin_fetch(out, address=address):
                began[address].append(now() - START)
                await done(frontier, out, cooldown_s=1.0)
    assert began == {ONE: [5.0 * turn for turn in range(9)], OTHER: [0.0, 5.0, 10.0]}
    await agree(crawl)


@in_virtual_time
async def test_hosts_of_a_domain_share_its_pace_wherever_they_lie(crawl: Crawl) -> None:
    crawl.settings = limited(domain=GroupLimit(at_once=1, rest_s=2.0))
    async with crawl.opened() as frontier:
        await frontier.add([page(f"{host}{domain}", "x") for domain in "12" for host in "abc"])
        began: dict[str, list[float]] = {"1": [], "2": []}
        async for out in frontier:
            began[out.url.queue_key[-1]].append(now() - START)
            await done(frontier, out)
    assert began == {"1": [0.0, 2.0, 4.0], "2": [0.0, 2.0, 4.0]}


@in_virtual_time
async def test_a_queue_waits_for_its_address_and_its_domain(crawl: Crawl) -> None:
    crawl.settings = limited(ip=GroupLimit(at_once=1, rest_s=3.0), domain=GroupLimit(at_once=1, rest_s=7.0))
    async with crawl.opened() as frontier:
        await frontier.add([page("a1"), page("b1"), page("c2"), page("d2")])
        began = {}
        async for out in frontier:
            if frontier.begin_fetch(out, address=ONE):
                began[out.url.queue_key[-2:]] = now() - START
                await done(frontier, out)
    assert began == {"a1": 0.0, "c2": 3.0, "b1": 7.0, "d2": 10.0}


@in_virtual_time
async def test_an_address_that_takes_over_the_rest_of_its_hosts_serves_them_as_one(crawl: Crawl) -> None:
    crawl.settings = limited(ip=GroupLimit(at_once=1, shares_cooldown=True))
    async with crawl.opened() as frontier:
        await frontier.add(pages(3, 2))
        began = []
        async for out in frontier:
            if frontier.begin_fetch(out, address=ONE):
                began.append(now() - START)
                await done(frontier, out, cooldown_s=4.0)
    assert [after - before for before, after in pairwise(began)] == [4.0] * 5


@in_virtual_time
async def test_of_what_nobody_was_asked_no_group_rests(crawl: Crawl) -> None:
    crawl.settings = limited(ip=GroupLimit(at_once=1, rest_s=5.0))
    async with crawl.opened() as frontier:
        await frontier.add(pages(3, 1))
        frontier.release(await begun(frontier))
        assert now() == START
        out = await begun(frontier)
        assert now() == START
        frontier.release(out, asked=True)
        await begun(frontier)
        assert now() == START + 5


@in_virtual_time
async def test_the_address_that_was_asked_rests_and_not_the_one_that_was_expected(crawl: Crawl) -> None:
    crawl.settings = limited(ip=GroupLimit(at_once=1, rest_s=5.0))
    async with crawl.opened() as frontier:
        await frontier.add(pages(2, 1))
        moved = await begun(frontier)
        waiting = asyncio.create_task(begun(frontier))
        await turns()
        assert not waiting.done()
        frontier.relocate(moved, address=OTHER)
        expected = await waiting
        assert now() == START
        await done(frontier, moved)
        await frontier.add([page("late")])
        await begun(frontier, OTHER)
        assert now() == START + 5
        await done(frontier, expected)
        with pytest.raises(ValueError, match="is not out"):
            frontier.relocate(moved, address=ONE)


@in_virtual_time
async def test_a_host_is_known_to_lie_where_it_was_asked_after_a_restart(crawl: Crawl) -> None:
    if crawl.kind == "memory":
        pytest.skip("nothing is kept")
    crawl.settings = limited(ip=GroupLimit(at_once=1, rest_s=5.0))
    async with crawl.opened() as frontier:
        await frontier.add(pages(1, 2))
        out = await begun(frontier)
        frontier.relocate(out, address=OTHER)
        await done(frontier, out)
    async with crawl.opened() as frontier:
        await lease(frontier)
        assert now() == START + 5
    await agree(crawl)


@in_virtual_time
async def test_the_address_that_was_asked_for_a_prerequisite_rests(crawl: Crawl) -> None:
    crawl.settings = limited(ip=GroupLimit(at_once=1, rest_s=5.0))
    async with crawl.opened() as frontier:
        await frontier.add(pages(2, 1))
        out = await lease(frontier)
        assert frontier.begin_fetch(out, address=ONE, prerequisite="test,elsewhere")
        frontier.relocate(out, address=OTHER, prerequisite="test,elsewhere")
        frontier.release(out, asked=True)
        other = await lease(frontier)
        assert other.url.queue_key != out.url.queue_key
        assert frontier.begin_fetch(other, address=ONE)
        assert now() == START
        frontier.relocate(other, address=OTHER)
        await done(frontier, other)
        await begun(frontier, OTHER)
        assert now() == START + 5


@in_virtual_time
async def test_a_host_that_moves_is_held_to_the_pace_of_where_it_lies_now(crawl: Crawl) -> None:
    crawl.settings = limited(ip=GroupLimit(at_once=1))
    async with crawl.opened() as frontier:
        await frontier.add(pages(2, 2))
        first = await begun(frontier)
        second = await begun(frontier, OTHER)
        await done(frontier, second)
        again = await lease(frontier)
        assert again.url.queue_key == second.url.queue_key
        assert not frontier.begin_fetch(again, address=ONE)
        with pytest.raises(ValueError, match="is not out"):
            frontier.begin_fetch(again, address=ONE)
        await done(frontier, first)
        assert (await begun(frontier)).url.queue_key == second.url.queue_key


@pytest.mark.parametrize("crashed", [False, True])
@in_virtual_time
async def test_a_restart_is_no_way_around_the_rest_of_an_address(tmp_path: Path, crashed: bool) -> None:
    crawl = Crawl(tmp_path / "first")
    crawl.settings = limited(ip=GroupLimit(at_once=1, rest_s=60.0))
    async with crawl.opened() as frontier:
        await frontier.add(pages(3, 2))
        out = await begun(frontier)
        await asyncio.sleep(10)
        await done(frontier, out)
        if crashed:
            crawl = crawl.crashed(tmp_path / "second")
    await asyncio.sleep(20)
    async with crawl.opened(rest_after_crash_s=1.0) as frontier:
        await begun(frontier)
        # After a crash nobody knows who was being asked, so the address rests from then on.
        assert now() - START == (90.0 if crashed else 70.0)
    await agree(crawl)


@in_virtual_time
async def test_the_address_of_a_host_is_known_after_a_restart(crawl: Crawl) -> None:
    crawl.settings = limited(ip=GroupLimit(at_once=1))
    async with crawl.opened() as frontier:
        await frontier.add(pages(2, 2))
        for _ in range(2):
            await done(frontier, await begun(frontier))
    async with crawl.opened() as frontier:
        await lease(frontier)
        assert await none_for(frontier, 100)
        assert frontier.describe().held_back_queues == 1


@in_virtual_time
async def test_what_waits_for_an_address_says_so(crawl: Crawl) -> None:
    crawl.settings = limited(ip=GroupLimit(at_once=1, rest_s=30.0))
    async with crawl.opened() as frontier:
        await frontier.add(pages(2, 2))
        await done(frontier, await begun(frontier))
        frontier.begin_fetch(await lease(frontier), address=ONE)
        stats = frontier.describe()
        assert (stats.next_wake_s, stats.next_wake_key, stats.next_group) == (30.0, None, f"ip {ONE}")


@in_virtual_time
async def test_of_very_many_hosts_on_one_address_few_are_in_memory_and_no_host_elsewhere_waits_for_them(
    crawl: Crawl,
) -> None:
    rules = limited(ip=GroupLimit(at_once=1, rest_s=1.0))
    crawl.settings = msgspec.structs.replace(rules, min_active=5, ready_in_memory=10)
    began: dict[str, list[float]] = {ONE: [], OTHER: []}
    most = 0
    async with crawl.opened() as frontier:
        await frontier.add(pages(200, 1))
        async for out in frontier:
            address = OTHER if out.url.queue_key in {"test,h190", "test,h191"} else ONE
            if frontier.begin_fetch(out, address=address):
                began[address].append(now() - START)
                await done(frontier, out)
            stats = frontier.describe()
            most = max(most, stats.ready_queues + stats.held_back_queues + stats.snoozed_queues)
        assert frontier.describe().done == 200
    assert began[OTHER] == [0.0, 1.0]
    assert all(after - before >= 1.0 for before, after in pairwise(began[ONE]))
    assert most <= 10 + ACTIVATED_TOGETHER
    await agree(crawl)


@pytest.mark.parametrize("seed", range(6))
@in_virtual_time
async def test_whoever_is_put_away_all_is_fetched_at_its_pace_and_the_store_agrees(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    crawl = Crawl(tmp_path)
    rest_s = dice.choice([0.0, 2.0])
    crawl.settings = msgspec.structs.replace(
        limited(ip=GroupLimit(at_once=dice.randint(1, 2), rest_s=rest_s), domain=GroupLimit(at_once=2)),
        per_queue=dice.randint(1, 2),
        min_active=dice.choice([0, 1, 4, 4096]),
        snoozed_in_memory=dice.choice([0, 1, 50_000]),
        ready_in_memory=dice.choice([0, 1, 3]),
        budgets=Budgets(session=dice.choice([1, None])),
    )
    left = {url.canonical for url in pages(15, 3)}
    rests_until: dict[str, float] = {}
    out: list[tuple[str, Lease]] = []
    for _ in range(60):
        async with crawl.opened() as frontier:
            await frontier.add(pages(15, 3))
            for _ in range(dice.choice([3, 30])):
                taken = await lease_within(frontier, SPILL_S + 1)
                if taken is not None:
                    address = f"192.0.2.{int(taken.url.queue_key.removeprefix('test,h')) % 3}"
                    if frontier.begin_fetch(taken, address=address):
                        assert now() >= rests_until.get(address, 0.0)
                        out.append((address, taken))
                if out and (taken is None or dice.random() < 0.7):
                    address, ended = out.pop(dice.randrange(len(out)))
                    if dice.random() < 0.3:
                        await frontier.retry(ended, after_s=dice.choice([0.0, 5.0]), cooldown_s=dice.choice([0.0, 3.0]))
                    else:
                        await done(frontier, ended, cooldown_s=dice.choice([0.0, 3.0]))
                        left.remove(ended.url.canonical)
                    rests_until[address] = now() + rest_s
        out.clear()
        await agree(crawl)
    assert not left


async def lease_within(frontier: QueueFrontier, seconds: float) -> Lease | None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            return await anext(frontier, None)
    return None


def test_a_rest_that_ends_before_anyone_was_woken_hides_none_that_began_before() -> None:
    limits = {"domain": GroupLimit(shares_cooldown=True)}
    schedule = Schedule(per_queue=2, grouping=Grouping(limits=limits, groups_of_key=lambda _: ("domain a",)))
    queue = Queue(QueueRecord(key="a", size=2))
    schedule.activate(queue, now=0.0)
    assert schedule.lease() is queue
    assert schedule.lease() is queue
    schedule.settle(queue, schedule.plan_end(queue, Ending(removes_url=False, cooldown_s=1.0), now=0.0))
    schedule.settle(queue, schedule.plan_end(queue, Ending(removes_url=False, cooldown_s=0.0), now=5.0))
    schedule.wake(5.0)
    assert schedule.lease() is queue


def test_a_queue_that_has_become_worse_while_it_waited_for_a_group_goes_behind_better_ones() -> None:
    limits = {"domain": GroupLimit(at_once=1), "ip": GroupLimit()}
    schedule = Schedule(per_queue=2, grouping=Grouping(limits=limits, groups_of_key=lambda _: ("domain a",)))
    worse = Queue(QueueRecord(key="worse", precedence=0, size=3, address=ONE))
    better = Queue(QueueRecord(key="better", precedence=0, size=1))
    schedule.activate(worse, now=0.0)
    assert schedule.lease() is worse
    schedule.activate(better, now=0.0)
    assert schedule.lease() is None
    worse.record = msgspec.structs.replace(worse.record, precedence=1)
    schedule.settle(worse, schedule.plan_end(worse, Ending(removes_url=True, cooldown_s=0.0), now=0.0))
    assert schedule.lease() is better


def calls_of_leases(hosts: int) -> int:
    """Python calls for a hundred leases, of so many hosts on one address and in one of ten domains."""
    limits = {"ip": GroupLimit(at_once=1, rest_s=1.0), "domain": GroupLimit(at_once=1, rest_s=3.0)}
    schedule = Schedule(grouping=Grouping(limits=limits, groups_of_key=lambda key: (f"domain {key[-1]}",)))
    for number in range(hosts):
        queue = Queue(QueueRecord(key=f"{number}", size=100, address=ONE))
        schedule.activate(queue, now=0.0)
    calls = 0

    def count(_frame: FrameType, event: str, _about: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        for second in range(100):
            schedule.wake(float(second))
            taken = schedule.lease()
            assert taken is not None
            assert schedule.lease() is None
            schedule.settle(
                taken, schedule.plan_end(taken, Ending(removes_url=True, cooldown_s=0.0), now=float(second))
            )
    finally:
        sys.setprofile(None)
    return calls


def test_an_address_of_ten_thousand_hosts_costs_no_more_than_one_of_fifty() -> None:
    assert calls_of_leases(10_000) <= 1.2 * calls_of_leases(50)
