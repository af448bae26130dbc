"""Work in steps, between which other tasks run: long work, so that it does not block the event loop, and that of all
pages in flight. `reading.in_turn` runs the former."""

import asyncio
from collections.abc import Generator
from typing import Final, TypeVar

LINKS_AT_ONCE: Final = 200
"""Distinct links that are judged or admitted in one step. That takes about 5 ms, and up to 40 ms if no href is ASCII.
No step should take more than 50 ms."""

_Result = TypeVar("_Result")

Steps = Generator[None, None, _Result]
"""Work that yields between its steps, and returns its result at the end."""


def at_once(steps: Steps[_Result]) -> _Result:
    """Run all steps without a pause."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: _Result = end.value
            return result


async def keep_in_step() -> None:
    """Let the other pages in flight end the step that this one has ended, before it begins the next.

    The caches of a processor do not hold all that a page runs through, but they hold one step. If many pages take it
    one after another, each of them costs an eighth less processor time, and the event loop turns more often.
    """
    await asyncio.sleep(0)
