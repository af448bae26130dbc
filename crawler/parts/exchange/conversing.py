"""Listens and sends at the same time."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def converse(listen: Coroutine[Any, Any, None], send: Coroutine[Any, Any, None]) -> None:
    """Listen and send over a connection until one of both ends. Raises what ended it."""
    tasks = asyncio.create_task(listen), asyncio.create_task(send)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
