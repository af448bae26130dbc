"""Limits of a crawl in parts that are reached, and not met exactly: bytes and seconds. Pages have a service."""

import asyncio

from config import Limits
from crawler.status import Status


class CrawlLimits:
    """Tells when a limit of the whole crawl is reached."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._have_changed = asyncio.Event()

    def replace(self, limits: Limits) -> None:
        """From now on these limits hold, counted from the beginning of the run."""
        self._limits = limits
        self._have_changed.set()

    def is_reached(self, status: Status) -> bool:
        """Whether the status of all parts together reaches a limit."""
        limit = self._limits.bytes
        return limit is not None and status.bytes_received >= limit

    async def wait_for_seconds(self, elapsed_s: float = 0.0) -> None:
        """The run begins, or has lasted for some time. Wait until it has lasted for as long as it may."""
        loop = asyncio.get_running_loop()
        began = loop.time() - elapsed_s
        while True:
            self._have_changed.clear()
            seconds = self._limits.seconds
            left_s = None if seconds is None else began + seconds - loop.time()
            try:
                async with asyncio.timeout(left_s):
                    await self._have_changed.wait()
            except TimeoutError:
                return
