"""How much is done at once, and how much waits."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Slots:
    """So many may work at once. Whose work takes longer than `patience_s` told when it began only waits, and leaves its
    slot to another."""

    def __init__(self, size: int, *, patience_s: Callable[[], float]) -> None:
        self._free = asyncio.Semaphore(size)
        self._patience_s = patience_s

    def take(self) -> "Slot":
        """To be entered, which waits for a free slot, and left."""
        return Slot(self._free, self._patience_s)


class Slot:
    """The right to work. Left at the end of the block, or by losing patience once `begin` has been called."""

    def __init__(self, free: asyncio.Semaphore, patience_s: Callable[[], float]) -> None:
        self._free = free
        self._patience_s = patience_s
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
        self._leave()

    def begin(self) -> None:
        """Patience runs from now on."""
        self._timer = asyncio.get_running_loop().call_later(self._patience_s(), self._leave)

    def _leave(self) -> None:
        if self._is_held:
            self._is_held = False
            self._free.release()
