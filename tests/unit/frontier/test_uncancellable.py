import asyncio
import gc
from functools import partial
from typing import Any

import pytest

from crawler.testing.frontier.crawls import page
from frontier.memory.store import MemoryStore
from frontier.shell import QueueFrontier
from frontier.transitions.uncancellable import run_prompt_in_turn, run_uncancellable
from visited.digests.exact import ExactSet
from visited.wrappers.recent import RecentUrls


async def test_a_step_that_has_begun_is_carried_to_its_end() -> None:
    go, told, ended = asyncio.Event(), [], []

    async def step() -> None:
        await go.wait()
        ended.append(True)

    caller = asyncio.create_task(run_uncancellable(step(), on_cancel=lambda: told.append(True)))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.sleep(0)
    assert told
    assert not caller.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert ended


@pytest.mark.parametrize("ticks", range(6))
async def test_a_step_that_fails_as_its_caller_is_cancelled_is_not_warned_of(ticks: int) -> None:
    unheard: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
    go = asyncio.Event()

    async def step() -> None:
        await go.wait()
        raise RuntimeError("torn")

    caller = asyncio.create_task(run_uncancellable(step(), on_cancel=lambda: None))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    go.set()
    for _ in range(ticks):
        await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises((asyncio.CancelledError, RuntimeError)):
        await caller
    del caller
    gc.collect()
    await asyncio.sleep(0)
    assert not unheard


async def test_the_links_of_a_page_are_admitted_without_a_turn_of_the_loop() -> None:
    frontier = await QueueFrontier.open(MemoryStore(), RecentUrls(ExactSet(), size=10))
    with pytest.raises(StopIteration) as end:
        frontier.add([page("a", "1"), page("b", "1"), page("a", "1")]).send(None)
    assert end.value.value == 2
    await frontier.aclose()


async def test_prompt_steps_take_turns_and_one_that_is_cancelled_as_it_waits_is_reported() -> None:
    lock, go = asyncio.Lock(), asyncio.Event()
    told: list[int] = []
    ended: list[int] = []

    async def step(number: int) -> None:
        await go.wait()
        ended.append(number)

    callers = [
        asyncio.create_task(run_prompt_in_turn(lock, step(number), on_cancel=partial(told.append, number)))
        for number in range(4)
    ]
    await asyncio.sleep(0)
    callers[1].cancel()  # has not begun
    callers[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await callers[0]
    go.set()
    await asyncio.gather(*callers[2:])
    assert callers[1].cancelled()
    assert (told, ended) == ([0], [2, 3])
