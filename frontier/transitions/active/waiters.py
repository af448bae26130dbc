"""The workers that wait for a lease. An event or the next deadline ends their wait."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

MIN_DELAY_S = 0.001
"""Timers may fire this early. Waiting at least this long keeps a wait from spinning."""


class Waiters:
    """Waiting tasks, first come, first woken. A task that is woken looks for a lease, and waits again if there is none.

    `deadline` gives the next time at which something comes due, by the clock `now`, which may differ from the event
    loop's. `wake_due` makes ready what has come due, and returns how many tasks that is for.
    """

    def __init__(
        self, *, now: Callable[[], float], deadline: Callable[[], float | None], wake_due: Callable[[], int]
    ) -> None:
        self._now = now
        self._deadline = deadline
        self._wake_due = wake_due
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    def __len__(self) -> int:
        """The number of waiting tasks."""
        return len(self._waiting)

    async def wait(self) -> None:
        """Wait until woken. If the task is cancelled after it was woken, it wakes the next one."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._set_timer()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                with suppress(ValueError):
                    self._waiting.remove(waiter)
            else:
                self.wake(1)
            raise

    def wake(self, count: int) -> None:
        """Wake up to `count` tasks. The others wait for the next deadline, which may have changed."""
        while count > 0 and self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                count -= 1
        if self._waiting:
            self._set_timer()

    def wake_all(self) -> None:
        self.wake(len(self._waiting))

    def close(self) -> None:
        """Wake all tasks and stop the timer."""
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
            delay_s = max(at - self._now(), MIN_DELAY_S)
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._waiting:
            self.wake(self._wake_due())
