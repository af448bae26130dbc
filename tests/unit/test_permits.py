"""Permits whose number changes while others wait for one."""

import asyncio

from crawler.slots import Permits


async def takers(permits: Permits, count: int) -> list["asyncio.Task[None]"]:
    tasks = [asyncio.create_task(permits.take()) for _ in range(count)]
    await settle()
    return tasks


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def done(tasks: list["asyncio.Task[None]"]) -> list[bool]:
    return [task.done() for task in tasks]


async def test_a_higher_limit_lets_in_those_who_wait_and_a_lower_one_takes_nothing_back() -> None:
    permits = Permits(1)
    tasks = await takers(permits, 4)
    assert done(tasks) == [True, False, False, False]
    permits.set_limit(3)
    await settle()
    assert done(tasks) == [True, True, True, False]
    permits.set_limit(1)
    for _ in range(2):
        permits.give_back()
        await settle()
        assert done(tasks) == [True, True, True, False]
    permits.give_back()
    await settle()
    assert done(tasks) == [True] * 4


async def test_one_who_gives_up_waiting_leaves_the_permit_to_the_next() -> None:
    permits = Permits(1)
    first, second, third = await takers(permits, 3)
    permits.give_back()  # wakes the second, which is cancelled before it runs
    second.cancel()
    await settle()
    assert (first.done(), second.cancelled(), third.done()) == (True, True, True)


async def test_without_a_limit_nobody_waits_and_permits_that_are_out_count_against_a_later_one() -> None:
    permits = Permits(None)
    assert all(done(await takers(permits, 9)))
    permits.set_limit(9)
    [waiting] = await takers(permits, 1)
    assert not waiting.done()
    permits.open()
    await settle()
    assert waiting.done()
