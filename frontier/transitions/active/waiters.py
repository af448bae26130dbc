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
        self.waiting: deque[asyncio.Future[None]] = deque()
        """Those that have not been woken."""
        self._looking = 0
        """Tasks that were woken and have not looked yet."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    async def wait(self) -> None:
        """Wait until woken. If the task is cancelled, its caller must `wake` another one: it may have been woken."""
        waiter = asyncio.get_running_loop().create_future()
        self.waiting.append(waiter)
        self._set_timer()
        try:
            await waiter
        finally:
            if waiter.cancelled():
                with suppress(ValueError):
                    self.waiting.remove(waiter)
            else:
                self._looking -= 1

    def wake(self, count: int) -> None:
        """Let up to `count` tasks look for a lease, those included that were woken and have not looked yet. The others
        wait for the next deadline, which may have changed.

        A task that finds a lease calls this again if there are more, and so does a task that can't look any more. So
        it is enough to wake as many as there are leases: events that follow each other at once would otherwise wake
        many tasks for the same lease.
        """
        self._wake(count - self._looking)

    def _wake(self, count: int) -> None:
        while count > 0 and self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self._looking += 1
                count -= 1
        if self.waiting:
            self._set_timer()

    def wake_all(self) -> None:
        self._wake(len(self.waiting))

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
        if self.waiting:
            self.wake(self._wake_due())
