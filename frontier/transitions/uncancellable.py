"""Runs changes that must not be left half done."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TypeVar

from frontier.queues.lifecycle import IllegalTransition
from frontier.values import StoreFull
from visited import CannotForget

_Result = TypeVar("_Result")


class FailOnError:
    """A context for changes. An error in it ends the crawl, so that nothing builds on a change that is half done.

    Errors that are raised before anything has changed do not end the crawl: `CannotForget`, `StoreFull` and
    `IllegalTransition`.
    """

    def __init__(self, fail: Callable[[BaseException], None]) -> None:
        self._fail = fail

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.handle(error)

    def handle(self, error: BaseException) -> None:
        if not isinstance(error, CannotForget | StoreFull | IllegalTransition):
            self._fail(error)


async def run_uncancellable(step: Coroutine[object, object, _Result], *, on_cancel: Callable[[], None]) -> _Result:
    """Run a step to its end, even if the caller is cancelled. A cancellation calls `on_cancel` at once, and is raised
    when the step has ended."""
    loop = asyncio.get_running_loop()
    # `asyncio.shield` would do the same for twice the cost, and every page of links would pay it.
    ended = loop.create_future()
    task = loop.create_task(step)
    task.add_done_callback(partial(_set_ended, ended))
    try:
        await ended
    except asyncio.CancelledError:
        on_cancel()
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        raise
    return task.result()


async def run_in_turn(
    lock: asyncio.Lock, step: Coroutine[object, object, _Result], *, on_cancel: Callable[[], None]
) -> _Result:
    """Do as `run_uncancellable` while holding a lock. A caller that is cancelled before its turn has changed nothing:
    the step never begins, and `on_cancel` is not called."""
    await _acquire(lock, step)
    try:
        return await run_uncancellable(step, on_cancel=on_cancel)
    finally:
        lock.release()


async def run_prompt_in_turn(
    lock: asyncio.Lock, step: Coroutine[object, object, _Result], *, on_cancel: Callable[[], None]
) -> _Result:
    """Run a step that hardly ever waits, in the caller's task and while holding a lock. If the caller is cancelled
    while the step waits, the step is left half done, and `on_cancel` is called. No task is made for it, which saves a
    page of links as much as the visited set takes to answer."""
    await _acquire(lock, step)
    try:
        return await step
    except asyncio.CancelledError:
        on_cancel()
        raise
    finally:
        lock.release()


async def _acquire(lock: asyncio.Lock, step: Coroutine[object, object, object]) -> None:
    try:
        await lock.acquire()
    except BaseException:
        step.close()
        raise


def _set_ended(ended: asyncio.Future[None], task: asyncio.Task[object]) -> None:
    if not task.cancelled():
        task.exception()  # marks it as retrieved: a cancelled caller does not retrieve it, and asyncio would warn
    if not ended.done():
        ended.set_result(None)
