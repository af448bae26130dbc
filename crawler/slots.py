"""Limits how many URLs are processed at once, without those that wait for a slow server, and keeps them in step."""

import asyncio
from collections import deque
from collections.abc import Callable, Generator
from math import inf
from types import TracebackType, coroutine
from typing import Self


class Permits:
    """At most `limit` permits are out; None means any number. Those who wait get them in their order. The limit may
    change while some are out, and others wait."""

    def __init__(self, limit: int | None) -> None:
        self._limit = inf if limit is None else limit
        self._out = 0
        self._is_open = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def are_too_many(self) -> bool:
        """Whether more are out than the limit, because it was lowered."""
        return self._out > self._limit

    def take_free(self) -> bool:
        """Take a permit if one is free; returns whether it is."""
        if self._out >= self._limit:
            return False
        self._out += 1
        return True

    async def take(self) -> None:
        """Take a permit; wait until one is free."""
        while not self.take_free():
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._wake()  # this one was woken, and does not take the permit
                raise

    def give_back(self) -> None:
        self._out -= 1
        self._wake()

    def set_limit(self, limit: int | None) -> None:
        """Permits that are out stay out, also if they are now too many."""
        if not self._is_open:
            self._limit = inf if limit is None else limit
        self._wake_all()

    def open(self) -> None:
        """Everybody may have one from now on: a crawl that stops lets its workers find that out."""
        self._is_open, self._limit = True, inf
        self._wake_all()

    def _wake(self) -> None:
        while self._waiting and self._out < self._limit:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _wake_all(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)


class Slot:
    """A worker's permit to work, as a context: from `take` until the end of the block, or until work takes longer than
    `slow_after_s`. Slow work gives the permit back and goes on without.

    Work that ends in time leaves the permit to what the worker does next. If it were given back in between, it would
    wake another worker for each page, which would find it taken again.
    """

    def __init__(self, permits: Permits, *, slow_after_s: Callable[[], float]) -> None:
        """Calls `slow_after_s` when work starts. To be made inside the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._permits = permits
        self._slow_after_s = slow_after_s
        self._timer: asyncio.Handle | None = None
        """Stays set from work to work: to set and cancel one for each takes four times as long, 2.2 µs."""
        self._timer_at = 0.0
        """When it goes off. Not asked of the timer, because that of uvloop for no time at all does not know."""
        self._slow_at: float | None = None
        """When the work gives the permit back, by the clock of the event loop; None without work."""
        self._is_held = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_timer()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._release()

    @property
    def is_held(self) -> bool:
        """Whether it holds a permit, and no more are out than the limit."""
        return self._is_held and not self._permits.are_too_many

    async def take(self) -> None:
        """Hold a permit. Waits for one unless it `is_held`."""
        if self._is_held and self._permits.are_too_many:
            self._release()
        if not self._is_held:
            await self._permits.take()
            self._is_held = True

    def start_timer(self) -> None:
        """From now on the work may take `slow_after_s` before it gives the permit back."""
        self._slow_at = slow_at = self._loop.time() + self._slow_after_s()
        if self._timer is not None:
            if self._timer_at <= slow_at:
                return
            self._timer.cancel()
        self._set_timer(slow_at)

    def stop_timer(self) -> None:
        """The work has ended."""
        self._slow_at = None

    def _on_timer(self) -> None:
        """The work for which the timer was set may have ended, and other work begun."""
        self._timer = None
        if self._slow_at is None:
            return
        if self._loop.time() < self._slow_at:
            self._set_timer(self._slow_at)
        else:
            self._release()

    def _set_timer(self, at: float) -> None:
        self._timer = self._loop.call_at(at, self._on_timer)
        self._timer_at = at

    def _release(self) -> None:
        if self._is_held:
            self._is_held = False
            self._permits.give_back()


@coroutine
def keep_in_step() -> Generator[None, None, None]:
    """Let the other pages in flight end the step that this one has ended, before it begins the next.

    The caches of a processor do not hold all that a page runs through, but they hold one step. If many pages take it
    one after another, each of them costs an eighth less processor time, and the event loop turns more often.
    """
    yield  # to the event loop; `asyncio.sleep(0)` takes two more calls
