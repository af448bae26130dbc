import asyncio
import gc
from threading import Thread

from crawler.fetch.body_budget import FREE_BYTES, MAX_SLOW_BYTES, TURN_BYTES, TURN_S, BodyBudget, Claim
from crawler.testing.loops import in_virtual_time


class Page:
    """What holds a body; weakly referable."""


def test_the_beginning_of_a_body_is_free() -> None:
    memory = BodyBudget(0)
    assert Claim(memory).grow_to(FREE_BYTES)
    assert memory.used_bytes == 0


async def test_beyond_the_limit_one_body_grows_and_the_others_wait_for_it() -> None:
    memory = BodyBudget(1000)
    first, second, third = Claim(memory), Claim(memory), Claim(memory)
    assert first.grow_to(FREE_BYTES + 2000)
    assert not second.grow_to(FREE_BYTES + 1)
    assert not third.grow_to(FREE_BYTES + 1)
    waiting = [asyncio.ensure_future(each.may_grow()) for each in (second, third)]
    await asyncio.sleep(0)
    assert first.grow_to(FREE_BYTES + 3000)
    page = Page()
    first.release(page)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [task.done() for task in waiting] == [True, False]
    assert memory.used_bytes == 3002
    del page
    gc.collect()
    await asyncio.gather(*waiting)
    assert memory.used_bytes == 2


async def test_a_wait_that_is_cancelled_leaves_the_turn_to_others() -> None:
    memory = BodyBudget(0)
    first, second, third = Claim(memory), Claim(memory), Claim(memory)
    assert first.grow_to(FREE_BYTES + 10)
    assert not second.grow_to(FREE_BYTES + 10)
    assert not third.grow_to(FREE_BYTES + 10)
    waiting = [asyncio.ensure_future(each.may_grow()) for each in (second, third)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.sleep(0)
    second.release(None)
    first.release(None)
    await waiting[1]
    third.release(None)
    assert memory.used_bytes == 0


@in_virtual_time
async def test_a_body_that_comes_slowly_stops_no_other() -> None:
    memory = BodyBudget(0)
    slow, slower, quick, last = (Claim(memory) for _ in range(4))
    for each, may_grow in ((slow, True), (slower, False), (quick, False), (last, False)):
        assert each.grow_to(FREE_BYTES + 10) is may_grow
    waiting = [asyncio.ensure_future(each.may_grow()) for each in (slower, quick, last)]

    async def turn() -> list[bool]:
        await asyncio.sleep(TURN_S * 1.01)
        return [task.done() for task in waiting]

    assert await turn() == [True, False, False]  # beside the slow one
    assert slow.grow_to(FREE_BYTES + 20)
    assert slower.grow_to(FREE_BYTES + 20)
    assert await turn() == [True, True, False]
    assert slow.grow_to(FREE_BYTES + 30)
    assert not slower.grow_to(FREE_BYTES + 30)  # it waits for the other slow one
    waiting[0] = asyncio.ensure_future(slower.may_grow())
    for number in range(1, 5):
        assert quick.grow_to(number * TURN_BYTES + FREE_BYTES + 10)
        assert await turn() == [False, True, False]
    quick.release(None)
    assert await turn() == [False, True, True]
    slow.release(None)
    assert await turn() == [True, True, True]
    assert slower.grow_to(FREE_BYTES + 40)
    for each in (slower, last):
        each.release(None)
    assert memory.used_bytes == 0


@in_virtual_time
async def test_bodies_that_come_slowly_after_much_take_no_more_memory_than_they_may() -> None:
    memory = BodyBudget(0)
    much = MAX_SLOW_BYTES // 2
    bodies = [Claim(memory) for _ in range(10)]

    async def receive(body: Claim) -> None:
        await body.may_grow()
        body.grow_to(FREE_BYTES + much)

    for each in bodies:
        each.grow_to(FREE_BYTES + 10)
    receiving = [asyncio.ensure_future(receive(each)) for each in bodies]
    for released in range(7):
        await asyncio.sleep(20 * TURN_S)
        assert memory.used_bytes == 3 * much + (7 - released) * 10
        bodies[released].release(None)
    await asyncio.gather(*receiving)


@in_virtual_time
async def test_what_slow_bodies_took_within_the_limit_stops_no_other() -> None:
    memory = BodyBudget(2 * MAX_SLOW_BYTES)
    *slow, quick = bodies = [Claim(memory) for _ in range(5)]
    for each in slow:
        assert each.grow_to(FREE_BYTES + MAX_SLOW_BYTES // 2)
    for each in bodies:
        assert each.grow_to(each.size_bytes + FREE_BYTES + 10) is (each is slow[0])
    waiting = [asyncio.ensure_future(each.may_grow()) for each in bodies]
    await waiting[-1]
    assert quick.grow_to(FREE_BYTES + TURN_BYTES)
    for each in bodies:
        each.release(None)
    await asyncio.gather(*waiting)


async def test_memory_that_a_thread_frees_is_given_back_in_the_loop() -> None:
    memory = BodyBudget(0)
    claim = Claim(memory)
    assert claim.grow_to(FREE_BYTES + 10)
    pages = [Page()]
    claim.release(pages[0])
    thread = Thread(target=pages.clear)
    thread.start()
    thread.join()
    assert memory.used_bytes == 10
    await asyncio.sleep(0)
    assert memory.used_bytes == 0
