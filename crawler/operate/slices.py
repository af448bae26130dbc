"""Reads of many records in slices, so that a running crawl goes on meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from time import perf_counter
from typing import Final, TypeVar

SLICE_S: Final = 0.005
"""How long a slice may hold the event loop."""
_READ_BETWEEN_LOOKS: Final = 16

_Item = TypeVar("_Item")


async def in_slices(items: Iterable[_Item]) -> AsyncIterator[_Item]:
    """The items, with a break for other tasks after each slice."""
    until = perf_counter() + SLICE_S
    for number, item in enumerate(items):
        yield item
        if number % _READ_BETWEEN_LOOKS == 0 and perf_counter() >= until:
            await asyncio.sleep(0)
            until = perf_counter() + SLICE_S
