"""Work in the background of other work."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
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
