import asyncio
import gc
from typing import Any

import pytest

from frontier.transitions.uncancellable import run_uncancellable


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
