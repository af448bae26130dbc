"""Looks up the hosts that are soon needed, so that no fetch waits for their names."""

from collections.abc import Callable, Iterable
from time import monotonic
from typing import Final

EVERY_S: Final = 0.25
AT_ONCE: Final = 64
"""Names that are asked about ahead; more must wait until some of these are known."""


class LookAhead:
    """To be called whenever a request is sent. At most every `EVERY_S` it takes `hosts`, the next ones to be asked, and
    calls `look_up` for each. `look_up` returns whether it asks, and `asking` how many names are being asked about.
    """

    def __init__(
        self,
        hosts: Callable[[], Iterable[str]],
        look_up: Callable[[str], bool],
        asking: Callable[[], int],
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._hosts = hosts
        self._look_up = look_up
        self._asking = asking
        self._clock = clock
        self._next_at = float("-inf")

    def __call__(self) -> None:
        now = self._clock()
        if now < self._next_at:
            return
        self._next_at = now + EVERY_S
        left = AT_ONCE - self._asking()
        for host in self._hosts():
            if left <= 0:
                break
            left -= self._look_up(host)
