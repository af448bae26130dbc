"""What running parts share: a limit of pages that is met exactly, and addresses that no two ask at once or too soon.

Parts are killed at random moments, and go on from what is on their disks."""

import asyncio
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Coroutine
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from crawler.parts.reservations import Granted, Register, Release, Reserve, Shared
from crawler.parts.sharing.address_holder import GRANT_S, AddressHolder
from crawler.testing.loops import in_virtual_time, run_in_virtual_time
from frontier import Allowance
from frontier.upkeep.part_checks import check_parts
from tests.unit.parts.sharing import LATENCY_S, Plan, Request, SharedCrawl

MEMORY = "/dev/shm"


def urls(plan: Plan) -> int:
    """The pages that there are."""
    return sum(SharedCrawl.is_page(url.url) for part in range(plan.parts) for url in plan.urls_of(part))


async def crawl_with_kills(seed: int, base: Path) -> None:
    dice = Random(seed)
    plan = Plan(
        hosts=[dice.randrange(1, 25) for _ in range(dice.randrange(1, 10))],
        parts=dice.randint(2, 4),
        limit=dice.randint(1, 100),
    )
    crawl = SharedCrawl(plan, base)
    await crawl.run(dice, kills=dice.randrange(12))
    assert plan.limit is not None
    assert crawl.pages == min(plan.limit, urls(plan))
    await crawl.end()


def storm(crawl: Callable[[int, Path], Coroutine[Any, Any, None]], seeds: range) -> None:
    for seed in seeds:
        with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as base:
            run_in_virtual_time(crawl(seed, Path(base)))


def test_a_limit_is_met_exactly_whichever_parts_die() -> None:
    storm(crawl_with_kills, range(12))


@pytest.mark.long
def test_a_limit_is_met_exactly_in_many_histories() -> None:
    storm(crawl_with_kills, range(1000, 2000))


async def crawl_with_power_failures(seed: int, base: Path) -> None:
    dice = Random(seed)
    hosts, limit = [dice.randrange(5, 25) for _ in range(dice.randrange(3, 10))], dice.randint(1, 25)
    crawl = SharedCrawl(Plan(hosts=hosts, limit=limit), base)
    crawl.may_lose_power = True
    for _ in range(3):
        running = asyncio.create_task(crawl.run())
        await asyncio.wait({running}, timeout=dice.random() * 20)
        if running.done():
            running.result()
        running.cancel()
        await asyncio.wait({running})
        await crawl.lose_power()
        stores = crawl.stores()
        assert list(check_parts(stores)) == []
        for store in stores:
            store.close()
        crawl.begin_run()
    before = [set(numbers) for numbers in crawl.output]
    await crawl.run()
    written = sum(len(set(numbers) - old) for numbers, old in zip(crawl.output, before, strict=True))
    assert written == limit or (written < limit and crawl.is_complete)
    await crawl.end()


def test_a_run_after_a_power_failure_has_exactly_as_many_pages_as_it_may() -> None:
    storm(crawl_with_power_failures, range(8))


@in_virtual_time
async def test_a_limit_of_one_page_is_met_by_many_parts_in_memory() -> None:
    crawl = SharedCrawl(Plan(hosts=[3] * 8, parts=4, limit=1))
    await crawl.run()
    assert crawl.pages == 1
    await crawl.end()


@in_virtual_time
async def test_an_allowance_that_one_part_does_not_need_goes_to_the_others() -> None:
    # Part 0 has 40 URLs, 30 of them pages; the others have one page each.
    crawl = SharedCrawl(Plan(hosts=[40, 2, 2], limit=31))
    await crawl.run()
    assert crawl.pages == 31
    await crawl.end()


@in_virtual_time
async def test_the_next_run_has_the_limit_anew() -> None:
    with tempfile.TemporaryDirectory() as base:
        crawl = SharedCrawl(Plan(hosts=[20, 20, 20], limit=7), Path(base))
        for run in (1, 2, 3):
            await crawl.run()
            await crawl.end()
            assert crawl.pages == 7 * run
            crawl.begin_run()


@in_virtual_time
async def test_a_part_stores_what_it_is_allowed_before_it_uses_it() -> None:
    crawl = SharedCrawl(Plan(hosts=[20, 20, 20], limit=12))
    await crawl.run()
    stored = [life.store.counters for life in crawl.lives.values()]
    assert [each.pages for each in stored] == [each.allowance.allowed for each in stored]
    assert {each.allowance.total for each in stored} == {12}
    assert sum(each.pages for each in stored) == 12
    await crawl.end()


def check_pace(requests: list[Request], rest_s: float) -> int:
    """No address is asked by two at once, or before its rest is over. Returns how often another part came next."""
    by_address = defaultdict(list)
    for request in requests:
        by_address[request.address].append(request)
    crossings = 0
    for of_address in by_address.values():
        of_address.sort(key=lambda each: each.began)
        for before, after in pairwise(of_address):
            assert before.ended is not None
            assert after.began >= before.ended + rest_s - 1e-6, (before, after)
            crossings += before.part != after.part
    return crossings


@in_virtual_time
async def test_parts_share_the_pace_of_an_address() -> None:
    plan = Plan(hosts=[6] * 9, addresses=2)
    crawl = SharedCrawl(plan)
    await crawl.run()
    assert crawl.pages == urls(plan)
    assert check_pace(crawl.requests, plan.rest_s) > 0
    await crawl.end()


async def share_addresses_with_kills(seed: int, base: Path) -> None:
    dice = Random(seed)
    plan = Plan(
        hosts=[dice.randrange(1, 6) for _ in range(dice.randrange(3, 9))],
        addresses=dice.randint(1, 3),
        limit=None if dice.random() < 0.5 else dice.randint(5, 30),
    )
    crawl = SharedCrawl(plan, base)
    await crawl.run(dice, kills=dice.randrange(6))
    check_pace(crawl.requests, plan.rest_s)
    assert crawl.pages == min(plan.limit or 1000, urls(plan))
    await crawl.end()


def test_no_address_is_asked_too_soon_whichever_parts_die() -> None:
    storm(share_addresses_with_kills, range(12))


@pytest.mark.long
def test_no_address_is_asked_too_soon_in_many_histories() -> None:
    storm(share_addresses_with_kills, range(1000, 2000))


@in_virtual_time
async def test_an_address_that_a_dead_part_was_asking_rests_and_goes_to_the_others(tmp_path: Path) -> None:
    crawl = SharedCrawl(Plan(hosts=[20, 20], parts=2, addresses=1), tmp_path)
    for number in range(2):
        await crawl.begin(number)
    await asyncio.sleep(15)
    assert {request.part for request in crawl.requests} == {0, 1}
    while not any(request.part == 0 and request.ended is None for request in crawl.requests):  # noqa: ASYNC110 - virtual
        await asyncio.sleep(0.1)
    died = crawl.now()
    await crawl.kill(0)
    await asyncio.sleep(15)
    after = [request.began for request in crawl.requests if request.began >= died]
    assert len(after) > 2
    assert after[0] >= died + crawl.plan.rest_s
    await crawl.end()


@in_virtual_time
async def test_a_new_supervisor_lets_addresses_rest() -> None:
    with tempfile.TemporaryDirectory() as base:
        plan = Plan(hosts=[6] * 6, addresses=1, limit=5)
        crawl = SharedCrawl(plan, Path(base))
        for _ in range(3):
            await crawl.run()
            await crawl.end()
            crawl.begin_run()
        assert crawl.pages == 15
        check_pace(crawl.requests, plan.rest_s)


@in_virtual_time
async def test_a_group_tells_that_it_waits_for_other_parts() -> None:
    crawl = SharedCrawl(Plan(hosts=[6] * 3, addresses=1, request_s=10.0))
    for number in range(3):
        await crawl.begin(number)
    await asyncio.sleep(5.0)
    asking = [request.part for request in crawl.requests]
    assert len(asking) == 1
    for number, life in crawl.lives.items():
        assert life.inner.describe().groups_elsewhere == (number not in asking)
        waits = [each.group_is_elsewhere for each in life.inner.active_queues() if each.group == "ip 192.0.2.0"]
        assert waits == ([] if number in asking else [True])
    await crawl.end()


class OpenGate:
    """A frontier that is told of addresses."""

    def open_group(self, group: str, /) -> None:
        pass

    def now(self) -> float:
        return asyncio.get_running_loop().time()


@in_virtual_time
async def test_a_grant_that_a_part_does_not_use_is_given_back() -> None:
    holder, sent, address = AddressHolder(), list[object](), "ip 192.0.2.1"
    holder.watch(OpenGate())
    holder.connect(sent.append)
    assert not holder.begin(address, now=0.0)
    holder.receive(Shared(address))
    assert not holder.begin(address, now=0.0)
    holder.receive(Granted(address))
    await asyncio.sleep(GRANT_S - 0.1)
    assert sent[1:] == [Register(address), Reserve(address)]
    await asyncio.sleep(0.2)
    assert sent[3:] == [Release(address, 0.0)]
    holder.close()


@in_virtual_time
async def test_a_url_that_waits_for_its_allowance_is_not_fetched_in_a_pause() -> None:
    crawl = SharedCrawl(Plan(hosts=[9, 9], parts=1, limit=5))
    await crawl.begin(0)
    await asyncio.sleep(LATENCY_S / 2)
    life = crawl.lives[0]
    assert life.allowance is not None
    assert life.allowance.waiting
    life.frontier.pauses.pause("for now", by="test")
    await asyncio.sleep(5)
    assert crawl.requests == []
    life.frontier.pauses.resume(by="test")
    await asyncio.sleep(20)
    assert crawl.pages == 5
    await crawl.end()


def test_an_allowance_survives_its_encoding() -> None:
    allowance = Allowance(epoch=3, number=9, allowed=None, total=12)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(allowance), type=Allowance) == allowance
