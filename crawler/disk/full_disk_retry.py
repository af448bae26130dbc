"""Writes that wait for room on the disk, where they would fail for want of it."""

import asyncio
import errno
import logging
import os
from collections.abc import Awaitable, Callable

from crawler.page import Fetched, PageRecord
from crawler.protocols import Sink

log = logging.getLogger(__name__)

TRY_EVERY_S = 2.0
"""Nothing tells when there is room again."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class FullDiskRetry:
    """Has writes that found no room made again now and then, until all of them succeed; meanwhile the crawl is held.

    Calls `hold` with a reason and `let_go`. After `stop`, a write that finds no room fails.
    """

    def __init__(
        self, *, hold: Callable[[str], None], let_go: Callable[[], None], every_s: float = TRY_EVERY_S
    ) -> None:
        self._hold = hold
        self._let_go = let_go
        self._every_s = every_s
        self._waiting = 0
        self._holds = False
        self._next_try: asyncio.Event | None = None
        self._stopped = False

    async def made(self, write: Callable[[], Awaitable[None]]) -> None:
        """Write, as soon as there is room. `write` must leave nothing behind when it raises `OSError`."""
        self._waiting += 1
        try:
            while True:
                try:
                    await write()
                    if self._holds and self._waiting == 1:
                        log.warning("there is room for the output again; the crawl goes on")
                    return
                except OSError as error:
                    if error.errno not in NO_ROOM or self._stopped:
                        raise
                    await self._another_try(error)
        finally:
            self._waiting -= 1
            if self._holds and self._waiting == 0:
                self._holds = False
                self._let_go()

    def stop(self) -> None:
        """Nobody waits any longer."""
        self._stopped = True
        self._try_again()

    async def _another_try(self, error: OSError) -> None:
        if not self._holds:
            self._holds = True
            log.error("%s; the crawl waits for room", error)
            self._hold(f"no room for the output: {os.strerror(error.errno or 0)} ({error.filename})")
        if self._next_try is None:
            self._next_try = asyncio.Event()
            asyncio.get_running_loop().call_later(self._every_s, self._try_again)
        await self._next_try.wait()

    def _try_again(self) -> None:
        if self._next_try is not None:
            self._next_try.set()
            self._next_try = None


class WaitingSink:
    """A sink that waits for room. Lay it around each sink of several: what one has written, it need not write again."""

    def __init__(self, sink: Sink, full_disk: FullDiskRetry) -> None:
        self._sink = sink
        self._full_disk = full_disk

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        await self._full_disk.made(lambda: self._sink.write(page, record))

    async def aclose(self) -> None:
        await self._sink.aclose()
