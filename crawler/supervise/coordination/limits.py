"""Limits of a crawl in parts that are reached, and not met exactly: bytes and seconds. Pages have a service."""

import asyncio

from config import Limits


class CrawlLimits:
    """Tells when a limit of the whole crawl is reached."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._began: float | None = None
        """By the clock of the loop; None before the run has begun."""
        self._have_changed = asyncio.Event()

    def replace(self, limits: Limits) -> None:
        """From now on these limits hold, counted from the beginning of the run."""
        self._limits = limits
        self._have_changed.set()

    def is_reached(self, bytes_received: int) -> bool:
        """Whether what all parts together have received reaches a limit."""
        limit = self._limits.bytes
        return limit is not None and bytes_received >= limit

    def begin(self, elapsed_s: float = 0.0) -> None:
        """The run has lasted for so long, at least."""
        began = asyncio.get_running_loop().time() - elapsed_s
        self._began = began if self._began is None else min(self._began, began)
        self._have_changed.set()

    async def wait_for_seconds(self) -> None:
        """Wait until the run has begun, and has lasted for as long as it may."""
        loop = asyncio.get_running_loop()
        while True:
            self._have_changed.clear()
            seconds = self._limits.seconds
            left_s = None if seconds is None or self._began is None else self._began + seconds - loop.time()
            try:
                async with asyncio.timeout(left_s):
                    await self._have_changed.wait()
            except TimeoutError:
                return
