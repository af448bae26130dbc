"""Decides when a page is done."""

import asyncio
from collections.abc import Callable

from crawler.render.limits import Limits


class Completion:
    """Waits until a page is loaded or, by `Limits.wait`, has loaded nothing more for a while. `is_busy` says whether
    some of its requests have no response yet."""

    def __init__(self, limits: Limits, is_busy: Callable[[], bool]) -> None:
        self.over = asyncio.Event()
        """Set when the page is done, or gone."""
        self._limits = limits
        self._is_busy = is_busy
        self._wait = limits.wait
        self._is_loaded = False
        self._idle_timer: asyncio.TimerHandle | None = None

    def mark_loaded(self) -> None:
        """The browser has loaded the page."""
        self._is_loaded = True
        self.update()

    def restart(self) -> None:
        """Something was done on the page. It is done again once it has loaded nothing more for a while."""
        self._wait = "idle"
        self.over.clear()
        self.update()

    def update(self) -> None:
        """A request began or ended. Restarts the idle time."""
        self.cancel_timer()
        if not self._is_loaded:
            return
        if self._wait == "load":
            self.over.set()
        elif not self._is_busy():
            self._idle_timer = asyncio.get_running_loop().call_later(self._limits.idle_s, self.over.set)

    def cancel_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
