"""Which parts are being opened, so that none is while the configuration of all changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Openings:
    """A part is being opened from `begin` to `end`."""

    def __init__(self) -> None:
        self._opening: set[int] = set()
        self._turn = asyncio.Lock()
        self._may_begin = asyncio.Event()
        self._may_begin.set()
        self._have_ended = asyncio.Event()
        self._have_ended.set()

    async def begin(self, part: int) -> None:
        """Wait until the part may be opened."""
        while not self._may_begin.is_set():
            await self._may_begin.wait()
        self._opening.add(part)
        self._have_ended.clear()

    def end(self, part: int) -> None:
        """The part is open, or its process has ended. Ending twice is harmless."""
        self._opening.discard(part)
        if not self._opening:
            self._have_ended.set()

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Wait until no part is being opened. While the context lasts, none is."""
        async with self._turn:
            self._may_begin.clear()
            try:
                await self._have_ended.wait()
                yield
            finally:
                self._may_begin.set()
