"""Reads of many records in slices, so that a running crawl goes on meanwhile."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from time import perf_counter
from typing import Final, Generic, TypeVar

SLICE_S: Final = 0.005
"""How long a slice may hold the event loop."""
_READ_BETWEEN_LOOKS: Final = 16

_Item = TypeVar("_Item")


async def in_slices(items: Iterable[_Item]) -> AsyncGenerator[_Item, None]:
    """The items, with a break for other tasks after each slice."""
    until = perf_counter() + SLICE_S
    for number, item in enumerate(items):
        yield item
        if number % _READ_BETWEEN_LOOKS == 0 and perf_counter() >= until:
            await asyncio.sleep(0)
            until = perf_counter() + SLICE_S


_KEPT_BEYOND: Final = 1000
"""Items in memory beyond those that are wanted, until the first are chosen among them."""


class First(Generic[_Item]):
    """The first items in an order, of any number: memory and time of each step are bounded."""

    def __init__(self, wanted: int, order: Callable[[_Item], tuple[object, ...]]) -> None:
        self._wanted = wanted
        self._order = order
        self._kept: list[_Item] = []
        self.count = 0
        """Items that were added."""

    def add(self, item: _Item) -> None:
        self.count += 1
        self._kept.append(item)
        if len(self._kept) >= self._wanted + _KEPT_BEYOND:
            self._choose()

    def items(self) -> list[_Item]:
        self._choose()
        return self._kept

    def _choose(self) -> None:
        # Sorting what is mostly sorted takes little more than one pass.
        self._kept.sort(key=self._order)
        del self._kept[self._wanted :]
