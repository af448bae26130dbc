"""Does something again and again while a crawl runs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager


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
        `is_ending`."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._run())
            try:
                yield
            finally:
                self.is_ending = True
                self.wake()

    async def _run(self) -> None:
        while not self.is_ending:
            self._woken.clear()
            seconds = await self._job()
            try:
                async with asyncio.timeout(seconds):
                    await self._woken.wait()
            except TimeoutError:
                continue
