"""Permits and slots whose number changes while others wait for one."""

import asyncio

from crawler.slots import Permits, Slot
from tests.loops import on_each_loop


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


async def test_a_slot_stays_with_its_worker_while_its_work_ends_in_time() -> None:
    permits = Permits(1)
    with Slot(permits, slow_after_s=lambda: 600.0) as mine, Slot(permits, slow_after_s=lambda: 600.0) as other:
        await mine.take()
        waiting = asyncio.create_task(other.take())
        for _ in range(3):
            mine.start_timer()
            await settle()
            mine.stop_timer()
            await mine.take()
            assert not waiting.done()
        mine.start_timer()
        mine.__exit__(None, None, None)
        await waiting
        again = asyncio.create_task(mine.take())
        await settle()
        assert not again.done()
        other.__exit__(None, None, None)
        await again


async def test_work_that_takes_too_long_leaves_its_slot_to_another() -> None:
    permits = Permits(1)
    with Slot(permits, slow_after_s=lambda: 0.0) as slow, Slot(permits, slow_after_s=lambda: 0.0) as other:
        await slow.take()
        slow.start_timer()
        await other.take()
        slow.stop_timer()
        again = asyncio.create_task(slow.take())
        await settle()
        assert not again.done()
        other.__exit__(None, None, None)
        await again


async def test_each_work_has_its_own_time() -> None:
    times_s = iter((0.0, 600.0, 0.0))
    permits = Permits(1)
    with (
        Slot(permits, slow_after_s=lambda: next(times_s)) as mine,
        Slot(permits, slow_after_s=lambda: next(times_s)) as other,
    ):
        await mine.take()
        mine.start_timer()
        mine.stop_timer()
        mine.start_timer()  # the timer of the first work ends during the second
        waiting = asyncio.create_task(other.take())
        await asyncio.sleep(0.02)
        assert not waiting.done()
        mine.stop_timer()
        mine.start_timer()  # a shorter time than the second had
        await waiting


@on_each_loop
async def test_work_may_take_no_time_at_all_on_any_event_loop() -> None:
    permits = Permits(1)
    with Slot(permits, slow_after_s=lambda: 0.0) as mine, Slot(permits, slow_after_s=lambda: 0.0) as other:
        await mine.take()
        for _ in range(3):
            mine.start_timer()
        await other.take()


async def test_a_slot_too_many_is_given_back_when_its_work_has_ended() -> None:
    permits = Permits(2)
    with Slot(permits, slow_after_s=lambda: 600.0) as first, Slot(permits, slow_after_s=lambda: 600.0) as second:
        await first.take()
        await second.take()
        assert first.is_held
        permits.set_limit(1)
        assert (first.is_held, permits.are_too_many, permits.take_free()) == (False, True, False)
        again = asyncio.create_task(first.take())
        await settle()
        assert (again.done(), permits.are_too_many) == (False, False)
        await second.take()
        second.__exit__(None, None, None)
        await again
