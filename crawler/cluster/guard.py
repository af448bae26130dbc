"""Ends the process of a part when its lease has ended."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from crawler.cluster.boottime import boottime

LEASE_ENDED: Final = 75
"""The exit code of a process whose lease has ended. What it had in flight is not stored; another process fetches it
again. (EX_TEMPFAIL of sysexits.h: try again.)"""

LOOK_S: Final = 1.0
"""How often an idle process looks whether its lease lasts."""


def _exit() -> None:
    with suppress(OSError):
        os.write(
            2, b"the lease of this part has ended, so its process ends at once; what was in flight is not stored\n"
        )
    os._exit(LEASE_ENDED)


class LeaseGuard:
    """The lease of the part that this process runs.

    Past its end the process ends without any clean-up, because every clean-up stores something.
    """

    def __init__(
        self,
        until: Callable[[], float],
        *,
        clock: Callable[[], float] = boottime,
        end: Callable[[], object] = _exit,
    ) -> None:
        """`until` returns when the lease ends, by `clock`. `end` does not return, except in tests."""
        self._until = until
        self._clock = clock
        self._end = end

    def check(self) -> None:
        """Return if the lease lasts. Call this right before a request is written, and before each write to the frontier
        or a sink.

        A process that is stopped after this check and goes on later still sends that request, or finishes that write.
        It writes into its own directory, which by then is an older copy if the part was opened elsewhere."""
        if self._clock() >= self._until():
            self._end()

    async def watch(self) -> None:
        """End the process in time also if it does nothing. Runs until cancelled."""
        while True:
            self.check()
            # Timers of the loop may stand still while the machine sleeps. So it looks at the clock often.
            await asyncio.sleep(min(max(0.01, self._until() - self._clock()), LOOK_S))
