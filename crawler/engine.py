"""The crawl loop: workers pull leases and take them to their ends, until nothing is left or a limit is reached."""

import asyncio
from collections.abc import Callable
from enum import StrEnum

import msgspec

from crawler.pipeline import (
    NOTHING_MORE,
    Components,
    Pipeline,
    Wanted,
)
from crawler.politeness.slow_threshold import SlowThreshold
from crawler.slots import Slots


class Ending(StrEnum):
    """Why a run ended."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    """Nothing is left to fetch, but URLs were lost to damage, or set aside."""
    LIMIT = "limit"
    SIGNAL = "signal"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """When a run stops although there is more to fetch. None means never."""

    pages: int | None = None
    bytes: int | None = None
    seconds: float | None = None


class Engine:
    """Runs a crawl until nothing is left, a limit is reached or it is stopped."""

    def __init__(
        self,
        parts: Components,
        *,
        concurrency: int,
        limits: Limits,
        spare: int = 0,
        wanted: Wanted = NOTHING_MORE,
        stopping: Callable[[], None] = lambda: None,
    ) -> None:
        """As many URLs as `concurrency` are worked on at once, and up to `spare` more whose servers keep them waiting
        for longer than is usual: so slow and dead hosts take no turns from others. `stopping` is called by `stop`, for
        parts that wait for what may not come."""
        self._parts = parts
        self._workers = concurrency + spare
        self._patience = SlowThreshold()
        self._passage = Pipeline(parts, wanted=wanted, answered=self._patience.answered)
        self.tally = self._passage.tally
        self._slots = Slots(concurrency, patience_s=lambda: self._patience.limit_s)
        self._limits = limits
        self._stopping = stopping
        self._places = None if limits.pages is None else asyncio.Semaphore(limits.pages)
        self._ending = Ending.COMPLETE

    async def run(self) -> Ending:
        """Crawl. Raises what a part raises for a broken environment, as `OSError` for a full disk."""
        timer = None
        if self._limits.seconds is not None:
            timer = asyncio.get_running_loop().call_later(self._limits.seconds, self.stop, Ending.LIMIT)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._workers):
                    group.create_task(self._work())
        finally:
            if timer is not None:
                timer.cancel()
        stats = self._parts.frontier.describe()
        if stats.pending or stats.retrying:
            return self._ending
        return Ending.INCOMPLETE if stats.missing else Ending.COMPLETE

    def stop(self, ending: Ending = Ending.SIGNAL) -> None:
        """Begin no further URL; what is in flight is finished."""
        if self._ending is Ending.COMPLETE:
            self._ending = ending
        self._parts.frontier.stop()
        self._stopping()
        if self._places is not None:
            self._places.release()  # each worker that waits for a place passes it on and ends

    async def _work(self) -> None:
        leases = aiter(self._parts.frontier)
        while True:
            async with self._slots.take() as slot:
                if self._places is not None:
                    await self._places.acquire()
                lease = await anext(leases, None)
                if lease is None:
                    break
                slot.begin()
                is_page = await self._passage.take(lease)
            if self._places is not None and not is_page:
                self._places.release()
            self._check_limits()
            if not is_page:
                # URLs that nobody is asked for may come in thousands, and nothing else is waited for with them.
                await asyncio.sleep(0)
        if self._places is not None:
            self._places.release()

    def _check_limits(self) -> None:
        limits = self._limits
        if limits.pages is not None and self.tally.pages >= limits.pages:
            self.stop(Ending.LIMIT)
        if limits.bytes is not None and self.tally.bytes_received >= limits.bytes:
            self.stop(Ending.LIMIT)
