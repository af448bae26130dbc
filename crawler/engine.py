"""The crawl loop: workers take leases and process their URLs, until nothing is left or a limit is reached."""

import asyncio
from collections.abc import Callable
from enum import StrEnum

import msgspec

from crawler.components import Components, PipelineOptions
from crawler.pipeline import Pipeline
from crawler.politeness.slow_threshold import SlowThreshold
from crawler.slots import Slots


class Ending(StrEnum):
    """Why a run ended."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    """Nothing is left to fetch, but URLs were lost to damage, set aside because they can't be read, or lost on their
    way between the parts of the crawl."""
    LIMIT = "limit"
    SIGNAL = "signal"
    STOPPED = "stopped"
    """By the program that runs it."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """When a run stops although there is more to fetch. None means no limit."""

    pages: int | None = None
    bytes: int | None = None
    seconds: float | None = None


class Engine:
    """Runs a crawl until nothing is left, a limit is reached or it is stopped."""

    def __init__(
        self,
        components: Components,
        *,
        concurrency: int,
        limits: Limits,
        spare: int = 0,
        options: PipelineOptions | None = None,
        on_stop: Callable[[], None] = lambda: None,
    ) -> None:
        """Processes up to `concurrency` URLs at once. Slow servers do not use up these slots: up to `spare` more URLs
        may wait for them. `stop` calls `on_stop`, which must end waits that nothing else would end."""
        self._components = components
        self._workers = concurrency + spare
        self._slow_threshold = SlowThreshold()
        self._pipeline = Pipeline(
            components, options=options or PipelineOptions(), on_response=self._slow_threshold.add_response
        )
        self.counters = self._pipeline.counters
        self._slots = Slots(concurrency, slow_after_s=lambda: self._slow_threshold.limit_s)
        self._limits = limits
        self._on_stop = on_stop
        self._page_permits = None if limits.pages is None else asyncio.Semaphore(limits.pages)
        self._ending = Ending.COMPLETE

    async def run(self) -> Ending:
        """Crawl. Raises what a component raises for a broken environment, such as `OSError` for a full disk."""
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
        stats = self._components.frontier.describe()
        if stats.pending or stats.retrying:
            return self._ending
        return Ending.INCOMPLETE if stats.missing or stats.gaps else Ending.COMPLETE

    def stop(self, ending: Ending = Ending.SIGNAL) -> None:
        """Begin no further URL. The URLs in flight are finished."""
        if self._ending is Ending.COMPLETE:
            self._ending = ending
        self._components.frontier.stop()
        self._on_stop()
        if self._page_permits is not None:
            self._page_permits.release()  # each worker that waits for a permit passes it on and ends

    async def _work(self) -> None:
        leases = aiter(self._components.frontier)
        while True:
            async with self._slots.take() as slot:
                if self._page_permits is not None:
                    await self._page_permits.acquire()
                lease = await anext(leases, None)
                if lease is None:
                    break
                slot.start_timer()
                is_page = await self._pipeline.process(lease)
            if self._page_permits is not None and not is_page:
                self._page_permits.release()
            self._check_limits()
            if not is_page:
                # Thousands of URLs may follow each other for which no server is asked, so that nothing else awaits.
                await asyncio.sleep(0)
        if self._page_permits is not None:
            self._page_permits.release()

    def _check_limits(self) -> None:
        limits = self._limits
        if limits.pages is not None and self.counters.pages >= limits.pages:
            self.stop(Ending.LIMIT)
        if limits.bytes is not None and self.counters.bytes_received >= limits.bytes:
            self.stop(Ending.LIMIT)
