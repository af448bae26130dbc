"""Gives leases back when the parts of this machine have ended."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from crawler.redis.client import FAILURES, reason_of

_WAIT_S: Final = 2.0
_WAIT_AGAIN_S: Final = 0.2


class Releasing:
    """Waits while leases are given back. They end by themselves, so that may fail, and must not take long."""

    def __init__(self, tell: Callable[[str], object], *, lease_s: float) -> None:
        """`tell` gets what people should know."""
        self._tell = tell
        self._lease_s = lease_s
        self._is_heard = True
        """Whether Redis has answered so far."""

    async def wait_for(self, release: Awaitable[None]) -> None:
        try:
            async with asyncio.timeout(_WAIT_S if self._is_heard else _WAIT_AGAIN_S):
                await release
        except FAILURES as error:
            if self._is_heard:
                self._is_heard = False
                self._tell(
                    f"Redis can't be told that this machine leaves ({reason_of(error, _WAIT_S)}): others can have its "
                    f"parts when its leases have ended, in up to {self._lease_s:g} s."
                )
