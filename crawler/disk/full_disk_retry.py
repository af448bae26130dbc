"""Repeats writes that fail because the disk is full, or because a sink of another package can't write now."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from functools import partial

from crawler.codes.full_disk import DISK_FULL
from crawler.page import Fetched, PageRecord
from crawler.seams import GivenBack, NotTaken, Sink, TakesExchanges

log = logging.getLogger(__name__)

RETRY_INTERVAL_S = 2.0
"""No event announces free space, or a server that answers again, so they must be polled."""


class FullDiskRetry:
    """Repeats writes that fail because the disk is full, until all of them succeed. The crawl is paused meanwhile.

    Calls `pause` with a reason, and later `resume`. After `stop`, such a write fails.
    """

    def __init__(
        self,
        *,
        pause: Callable[[str], None],
        resume: Callable[[], None],
        interval_s: float = RETRY_INTERVAL_S,
        before_write: Callable[[], object] | None = None,
    ) -> None:
        """`before_write` is called right before each try."""
        self._pause = pause
        self._resume = resume
        self._interval_s = interval_s
        self.before_write = before_write
        self._waiting = 0
        self._is_paused = False
        self._refusals: dict[str, str] = {}
        """Why each plug-in that is waited for can't write, as the first of its failures said it."""
        self._next_try: asyncio.Event | None = None
        self._stopped = False

    async def write_again(
        self, write: Callable[[], Awaitable[None]], failure: OSError, *, plugin: str | None = None
    ) -> None:
        """After a `failure`, call `write` until the disk has space for it. When it raises `OSError`, it must leave
        nothing behind. With the name of a `plugin`, other errors are waited for as well."""
        self._waiting += 1
        try:
            while not self._stopped and (plugin is not None or failure.errno in DISK_FULL):
                await self._wait(failure, plugin)
                try:
                    if self.before_write is not None:
                        self.before_write()
                    await write()
                except OSError as error:
                    failure = error
                    continue
                if self._is_paused and self._waiting == 1:
                    log.warning("the output can be written again; the crawl goes on")
                return
            if plugin is None or failure.errno in DISK_FULL or isinstance(failure, NotTaken):
                raise failure
            raise OSError(f"{self._refusal(plugin, failure)}; what was saved is kept") from failure
        finally:
            self._waiting -= 1
            if self._waiting == 0:
                self._refusals.clear()
                if self._is_paused:
                    self._is_paused = False
                    self._resume()

    def stop(self) -> None:
        """End all waits: each write is tried once more, and then fails."""
        self._stopped = True
        self._try_again()

    def _refusal(self, plugin: str, error: OSError) -> str:
        return self._refusals.setdefault(plugin, f"{plugin} can't write: {str(error) or type(error).__name__}")

    async def _wait(self, error: OSError, plugin: str | None) -> None:
        refusal = None if plugin is None or error.errno in DISK_FULL else self._refusal(plugin, error)
        if not self._is_paused:
            self._is_paused = True
            if refusal is None:
                log.error("%s; the crawl waits for disk space", error)
                self._pause(f"no space for the output: {os.strerror(error.errno or 0)} ({error.filename})")
            else:
                log.error("%s; the crawl waits until it can", refusal)
                self._pause(refusal)
        if self._next_try is None:
            self._next_try = asyncio.Event()
            asyncio.get_running_loop().call_later(self._interval_s, self._try_again)
        await self._next_try.wait()

    def _try_again(self) -> None:
        if self._next_try is not None:
            self._next_try.set()
            self._next_try = None


class _NotNow(OSError, NotTaken):
    """A sink has not taken a page. It is also a `NotTaken`, so that the URL is handed back if nobody waits any more."""


def _not_now(refusal: NotTaken) -> _NotNow:
    return _NotNow(str(refusal) or "it takes no page now")


class FullDiskSink:
    """A sink that waits while the disk is full, or while the wrapped sink takes no page. Wrap each of several sinks on
    its own, so that none writes a page twice because another failed."""

    def __init__(self, sink: Sink, full_disk: FullDiskRetry, *, plugin: str | None = None, waits: bool = True) -> None:
        """`plugin` names a plug-in for messages. If that `waits`, it does so after any `OSError`, since what keeps the
        sink from writing may pass, such as a server that does not answer."""
        self._sink = sink
        self._full_disk = full_disk
        self._before_write = full_disk.before_write
        self._plugin = plugin
        self._waits = waits

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        try:
            if self._before_write is not None:
                self._before_write()
            await self._sink.write(page, record)
        except GivenBack:
            raise
        except NotTaken as refusal:
            await self._wait_for(partial(self._write_again, page, record), _not_now(refusal))
        except OSError as failure:
            await self._wait_for(partial(self._write_again, page, record), failure)

    async def _write_again(self, page: Fetched | None, record: PageRecord) -> None:
        try:
            await self._sink.write(page, record)
        except GivenBack:
            raise
        except NotTaken as refusal:
            raise _not_now(refusal) from refusal

    async def _wait_for(self, write: Callable[[], Awaitable[None]], failure: OSError) -> None:
        waits = self._waits or isinstance(failure, NotTaken)
        await self._full_disk.write_again(write, failure, plugin=self._plugin if waits else None)

    @property
    def takes_exchanges(self) -> bool:
        return isinstance(self._sink, TakesExchanges)

    async def write_exchange(self, fetched: Fetched, purpose: str, /) -> None:
        sink = self._sink
        if isinstance(sink, TakesExchanges):
            try:
                if self._before_write is not None:
                    self._before_write()
                await sink.write_exchange(fetched, purpose)
            except OSError as failure:
                await self._wait_for(lambda: sink.write_exchange(fetched, purpose), failure)

    async def aclose(self) -> None:
        await self._sink.aclose()
