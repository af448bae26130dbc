"""Those who wait for a turn, and what ends their wait: an event, or the next deadline."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

EARLY_S = 0.001
"""Timers may fire this much early; sleeping at least so long keeps a wait from spinning."""


class Waiters:
    """A line of waiting tasks, first come, first woken. Who is woken looks, and waits again if others were faster.

    `deadline` tells when something comes due next, by `now`, which need not be the event loop's clock; `due` makes
    ready what has come due and returns for how many it is.
    """

    def __init__(
        self, *, now: Callable[[], float], deadline: Callable[[], float | None], due: Callable[[], int]
    ) -> None:
        self._now = now
        self._deadline = deadline
        self._due = due
        self.line: deque[asyncio.Future[None]] = deque()
        """Those who wait."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    async def wait(self) -> None:
        """Until woken. A cancelled wait passes on the wake-up that it may have got."""
        waiter = asyncio.get_running_loop().create_future()
        self.line.append(waiter)
        self._set_timer()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                with suppress(ValueError):
                    self.line.remove(waiter)
            else:
                self.wake(1)
            raise

    def wake(self, waiters: int) -> None:
        """Something has changed: wake so many. The rest waits for the next deadline, which may be another now."""
        while waiters > 0 and self.line:
            waiter = self.line.popleft()
            if not waiter.done():
                waiter.set_result(None)
                waiters -= 1
        if self.line:
            self._set_timer()

    def wake_all(self) -> None:
        self.wake(len(self.line))

    def close(self) -> None:
        """Wake all; no timer is left."""
        self.wake_all()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self) -> None:
        at = self._deadline()
        if self._timer is not None:
            if at == self._timer_at:
                return
            self._timer.cancel()
            self._timer = None
        if at is not None:
            self._timer_at = at
            delay_s = max(at - self._now(), EARLY_S)
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._time_has_come)

    def _time_has_come(self) -> None:
        self._timer = None
        if self.line:
            self.wake(self._due())
