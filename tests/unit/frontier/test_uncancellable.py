import asyncio
import errno
import gc
import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from crawler.testing.frontier.crawls import entry_of, page
from crawler.testing.loops import in_virtual_time
from frontier import StoreFailed, StoreFull
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


class Asked(ExactSet):
    """Counts how often it was asked."""

    asked = 0

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        self.asked += 1
        return await super().add_many(urls)


async def test_links_that_were_met_just_now_are_counted_and_not_asked_about() -> None:
    visited, url = Asked(), page("a", "1")
    frontier = await QueueFrontier.open(MemoryStore(), RecentUrls(visited, size=100))
    assert [await frontier.add([url, page("b")]) for _ in range(3)] == [2, 0, 0]
    assert visited.asked == 1
    entry = await entry_of(frontier, url.canonical)
    assert entry.hit_count == 3
    assert visited.describe().count == 2
    await frontier.aclose()
    with pytest.raises(StoreFailed, match="closed"):
        await frontier.add([url])


class FullOnce(MemoryStore):
    """Has no space for the first URLs."""

    was_full = False

    def admit(self, *args: Any, **others: Any) -> None:
        if not self.was_full:
            self.was_full = True
            raise StoreFull(os.strerror(errno.ENOSPC))
        super().admit(*args, **others)


class SlowDisk(MemoryStore):
    """Takes its time to make changes safe."""

    needs_sync = True

    def __init__(self) -> None:
        super().__init__()
        self.is_safe = asyncio.Event()

    async def sync(self) -> None:
        await self.is_safe.wait()


@in_virtual_time
async def test_links_that_another_page_has_just_admitted_are_known_only_once_they_are_safe() -> None:
    store = SlowDisk()
    frontier = await QueueFrontier.open(store, RecentUrls(ExactSet(), size=100))
    adding = [asyncio.create_task(frontier.add([page("a")])) for _ in range(2)]
    await asyncio.wait(adding, timeout=1.0)
    assert not any(each.done() for each in adding)
    store.is_safe.set()
    assert [await each for each in adding] == [1, 0]
    await frontier.aclose()


@in_virtual_time
async def test_links_that_another_page_has_not_admitted_yet_are_waited_for() -> None:
    frontier = await QueueFrontier.open(FullOnce(), RecentUrls(ExactSet(), size=100))
    first = asyncio.create_task(frontier.add([page("a")]))
    await asyncio.sleep(0)
    assert await frontier.add([page("a")]) == 0
    assert await frontier.status_of(page("a").canonical) is not None
    assert await first == 1
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
