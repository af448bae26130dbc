"""Limits the memory of all bodies together.

Each body is limited, but dozens arrive at once, and each stays until its page is read and written. Up to the limit all
bodies grow. Beyond it only one body at a time grows; the others wait: we do not read from their servers, and TCP slows
these down. That one may exceed the limit, so that one body can always complete.

If that one comes slowly while others wait, another may grow too. So beside one slow body there is always one whose
server keeps up, and no slow server stops the crawl. Other slow bodies wait for the first one. Servers that send much
and then little could fill the memory in this way, so slow bodies take only so much beyond the limit.
"""

import asyncio
import weakref
from collections import deque
from contextlib import suppress
from threading import get_ident
from typing import Final

import msgspec

FREE_BYTES: Final = 64 * 1024
"""The beginning of each body is not counted. Most bodies are no larger, and cost no accounting."""
TURN_S: Final = 0.25
TURN_BYTES: Final = 256 * 1024
"""A body that grows less than that in `TURN_S` is slow."""
MAX_SLOW_BYTES: Final = 16_000_000
"""If slow bodies would take more beyond the limit, the next one keeps its turn."""


class BodyBudget:
    """The memory of all bodies, with a limit."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._favourite: Claim | None = None
        """The one body that may grow beyond the limit."""
        self._slow: list[Claim] = []
        """The slow bodies. The first one may grow beside the favourite."""
        self._timer: asyncio.TimerHandle | None = None
        self._before: tuple[Claim | None, int] = None, 0
        """The favourite when the timer was set, and its size."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self.used_bytes = 0
        self.decoding = asyncio.Lock()
        """Held while a large body is decoded, which may take twice its size in addition."""

    def allows(self, claim: "Claim") -> bool:
        """Whether the body may grow. Beyond the limit, the first that asks becomes the favourite."""
        if self.used_bytes <= self._limit_bytes:
            return True
        if claim in self._slow:
            return claim is self._slow[0]
        self._favourite = self._favourite or claim
        return self._favourite is claim

    async def wait_for_release(self) -> None:
        """Wait until a body has released memory, or another one may grow."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._waiting.append(future)
        self._set_timer(loop)
        await future

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        """Set the timer that finds out whether the favourite is slow."""
        if self._timer is None:
            favourite = self._favourite
            self._before = favourite, 0 if favourite is None else favourite.size_bytes
            self._timer = loop.call_later(TURN_S, self._judge, loop)

    def _judge(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        favourite, before = self._favourite, self._before
        if (
            favourite is not None
            and favourite is before[0]
            and favourite.size_bytes < before[1] + TURN_BYTES
            and self._may_wait(favourite)
        ):
            self._slow.append(favourite)
            self._favourite = None
            self._wake()
        if self._waiting:
            self._set_timer(loop)

    def _may_wait(self, favourite: "Claim") -> bool:
        """Whether another one may grow instead, although this one keeps its memory."""
        slow_bytes = sum(each.size_bytes for each in (favourite, *self._slow))
        return not self._slow or min(slow_bytes, self.used_bytes - self._limit_bytes) <= MAX_SLOW_BYTES

    def use(self, size_bytes: int) -> None:
        self.used_bytes += size_bytes

    def give_back(self, size_bytes: int) -> None:
        self.used_bytes -= size_bytes
        self._wake()

    def forget(self, claim: "Claim") -> None:
        if self._favourite is claim:
            self._favourite = None
        elif claim in self._slow:
            self._slow.remove(claim)
        else:
            return
        self._wake()

    def _wake(self) -> None:
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)


class Claim(msgspec.Struct, eq=False):
    """The memory of one body while it is fetched."""

    budget: BodyBudget
    size_bytes: int = 0
    """What counts of it."""

    def grow_to(self, size_bytes: int) -> bool:
        """Count the body with that size; returns whether it may grow further."""
        counted = max(0, size_bytes - FREE_BYTES)
        if counted <= self.size_bytes:
            return True
        self.budget.use(counted - self.size_bytes)
        self.size_bytes = counted
        return self.budget.allows(self)

    async def may_grow(self) -> None:
        """Wait until the body may grow further."""
        while not self.budget.allows(self):
            await self.budget.wait_for_release()

    def release(self, holder: object | None) -> None:
        """End the fetch. The memory counts until `holder` is freed, which may happen in any thread."""
        if self.size_bytes:
            if holder is None:
                self.budget.give_back(self.size_bytes)
            else:
                loop = asyncio.get_running_loop()
                weakref.finalize(holder, _give_back, self.budget, self.size_bytes, loop, get_ident()).atexit = False
            self.size_bytes = 0
        self.budget.forget(self)


def _give_back(budget: BodyBudget, size_bytes: int, loop: asyncio.AbstractEventLoop, thread: int) -> None:
    """Give memory back in the loop, which runs in `thread`: a thread that has read a page may let go of it last."""
    if get_ident() == thread:
        budget.give_back(size_bytes)
        return
    with suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(budget.give_back, size_bytes)
