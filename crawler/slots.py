"""Limits how many URLs are processed at once, without those that wait for a slow server."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Slots:
    """A limited number of slots. Work that takes longer than `slow_after_s` gives up its slot and goes on without."""

    def __init__(self, size: int, *, slow_after_s: Callable[[], float]) -> None:
        """Calls `slow_after_s` when work starts."""
        self._free = asyncio.Semaphore(size)
        self._slow_after_s = slow_after_s

    def take(self) -> "Slot":
        """A slot as a context: entering it waits until one is free."""
        return Slot(self._free, self._slow_after_s)


class Slot:
    """The right to work. It ends with the block, or some time after `start_timer`."""

    def __init__(self, free: asyncio.Semaphore, slow_after_s: Callable[[], float]) -> None:
        self._free = free
        self._slow_after_s = slow_after_s
        self._timer: asyncio.TimerHandle | None = None
        self._is_held = False

    async def __aenter__(self) -> Self:
        await self._free.acquire()
        self._is_held = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._release()

    def start_timer(self) -> None:
        """From now on the work may take `slow_after_s` before it gives up its slot."""
        self._timer = asyncio.get_running_loop().call_later(self._slow_after_s(), self._release)

    def _release(self) -> None:
        if self._is_held:
            self._is_held = False
            self._free.release()
