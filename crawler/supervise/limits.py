"""Limits of a crawl in parts that are reached, and not met exactly: bytes and seconds. Pages have a service."""

import asyncio

import msgspec

from config import Config, Limits
from crawler.status import Status


class CrawlLimits:
    """Tells when a limit of the whole crawl is reached."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def is_reached(self, status: Status) -> bool:
        """By the status of all parts together."""
        limit = self._limits.bytes
        return limit is not None and status.bytes_received >= limit

    async def wait_for_seconds(self) -> None:
        """Wait until the run has lasted for as long as it may."""
        if self._limits.seconds is None:
            await asyncio.get_running_loop().create_future()
        else:
            await asyncio.sleep(self._limits.seconds)


def for_parts(config: Config) -> Config:
    """The configuration for the parts. A part does not stop by what only the whole crawl can count."""
    limits = msgspec.structs.replace(config.limits, bytes=None, seconds=None)
    return msgspec.structs.replace(config, limits=limits)
