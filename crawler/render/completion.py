"""Decides when a page is done."""

import asyncio

from crawler.render.limits import Limits


class Completion:
    """Waits until a page is loaded or, by `Limits.wait`, has loaded nothing more for a while."""

    def __init__(self, limits: Limits) -> None:
        self.over = asyncio.Event()
        """Set when the page is done, or gone."""
        self._limits = limits
        self._wait = limits.wait
        self._is_loaded = False
        self._idle_timer: asyncio.TimerHandle | None = None

    def mark_loaded(self, *, is_busy: bool) -> None:
        """The browser has loaded the page. `is_busy`: some of its requests have no response yet."""
        self._is_loaded = True
        self.update(is_busy=is_busy)

    def restart(self, *, is_busy: bool) -> None:
        """Something was done on the page. It is done again once it has loaded nothing more for a while."""
        self._wait = "idle"
        self.over.clear()
        self.update(is_busy=is_busy)

    def update(self, *, is_busy: bool) -> None:
        """A request began or ended. Restarts the idle time."""
        self.cancel_timer()
        if not self._is_loaded:
            return
        if self._wait == "load":
            self.over.set()
        elif not is_busy:
            self._idle_timer = asyncio.get_running_loop().call_later(self._limits.idle_s, self.over.set)

    def cancel_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
