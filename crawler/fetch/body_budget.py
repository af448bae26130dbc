"""How much memory bodies may take, all together.

A body is limited, but dozens of them come at once, and each stays until its page is read and written. Up to a limit
everyone takes what comes; beyond it only one body at a time grows, and the others wait: their servers are not read
from, and TCP slows them down. That one may go over the limit, so that there is always one that comes to its end.
"""

import asyncio
import weakref
from collections import deque
from typing import Final

FREE_BYTES: Final = 64 * 1024
"""The beginning of each body is not counted: most have no more, and they should cost no bookkeeping."""


class BodyBudget:
    """What is left of `limit_bytes` for bodies."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._favourite: Claim | None = None
        self._waiting: deque[asyncio.Future[None]] = deque()
        self.used_bytes = 0
        self.unpacking = asyncio.Lock()
        """Held to undo the coding of a large body, which may take as much again twice."""

    def suffices_for(self, claim: "Claim") -> bool:
        if self.used_bytes <= self._limit_bytes:
            return True
        if self._favourite is None:
            self._favourite = claim
        return self._favourite is claim

    async def freed(self) -> None:
        """Wait until some may have become free."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future

    def use(self, size_bytes: int) -> None:
        self.used_bytes += size_bytes

    def give_back(self, size_bytes: int) -> None:
        self.used_bytes -= size_bytes
        self._wake()

    def forget(self, claim: "Claim") -> None:
        if self._favourite is claim:
            self._favourite = None
            self._wake()

    def _wake(self) -> None:
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)


class Claim:
    """The memory of one body, as long as it is fetched."""

    def __init__(self, memory: BodyBudget) -> None:
        self._memory = memory
        self._size_bytes = 0

    def grow_to(self, size_bytes: int) -> bool:
        """Count the body with so many bytes; whether it may grow further."""
        counted = max(0, size_bytes - FREE_BYTES)
        if counted <= self._size_bytes:
            return True
        self._memory.use(counted - self._size_bytes)
        self._size_bytes = counted
        return self._memory.suffices_for(self)

    async def may_grow(self) -> None:
        """Wait until the body may grow further."""
        while not self._memory.suffices_for(self):
            await self._memory.freed()

    def release(self, holder: object | None) -> None:
        """End the fetch; the memory is in use until `holder` is gone."""
        if self._size_bytes:
            if holder is None:
                self._memory.give_back(self._size_bytes)
            else:
                weakref.finalize(holder, self._memory.give_back, self._size_bytes).atexit = False
            self._size_bytes = 0
        self._memory.forget(self)
