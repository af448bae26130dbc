"""Changes that are made whole, or end the crawl."""

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


class Failing:
    """A change that can't be made whole ends the crawl, so that nothing is built upon it."""

    def __init__(self, fail: Callable[[BaseException], None]) -> None:
        self._fail = fail

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.ended_by(error)

    def ended_by(self, error: BaseException) -> None:
        """A change has raised this."""
        if not isinstance(error, CannotForget | StoreFull | IllegalTransition):
            self._fail(error)


async def whole(step: Coroutine[object, object, _Result], *, cancelled: Callable[[], None]) -> _Result:
    """Carry a step to its end. A cancellation is told at once, and passed on when it has ended."""
    loop = asyncio.get_running_loop()
    # `asyncio.shield` does the same for twice the price, which each page of links would pay.
    over = loop.create_future()
    task = loop.create_task(step)
    task.add_done_callback(partial(_tell, over))
    try:
        await over
    except asyncio.CancelledError:
        cancelled()
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        raise
    return task.result()


def _tell(over: asyncio.Future[None], task: asyncio.Task[object]) -> None:
    if not task.cancelled():
        task.exception()  # whoever waited may be cancelled before he is told: it is not to be warned of
    if not over.done():
        over.set_result(None)
