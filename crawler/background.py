"""Work in the background of other work."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager


@asynccontextmanager
async def in_background(*work: Coroutine[None, None, None]) -> AsyncIterator[list[asyncio.Task[None]]]:
    """Do this work while the context lasts. Leaving it cancels what has not ended, and waits for that. What has ended
    some of it is not raised."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def until_one_ends(*work: Coroutine[None, None, None]) -> None:
    """Do this work until some of it ends. Raises what ended it."""
    async with in_background(*work) as tasks:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error


class Repeating:
    """Calls `job`, and again after as many seconds as it returns, or once `wake` is called."""

    def __init__(self, job: Callable[[], Awaitable[float]]) -> None:
        self._job = job
        self._woken = asyncio.Event()
        self.is_ending = False

    def wake(self) -> None:
        self._woken.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """It does so while this context lasts. Leaving it waits for a call that has begun, which may look at
        `is_ending`. An error in the context comes out as it is, not in a group."""
        failed: Exception | None = None
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._run())
            try:
                yield
            except Exception as error:  # noqa: BLE001 - raised below
                failed = error
            finally:
                self.is_ending = True
                self.wake()
        if failed is not None:
            raise failed

    async def _run(self) -> None:
        while not self.is_ending:
            self._woken.clear()
            seconds = await self._job()
            try:
                async with asyncio.timeout(seconds):
                    await self._woken.wait()
            except TimeoutError:
                continue
