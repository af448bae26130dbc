"""The crawl loop: workers take leases and process their URLs, until nothing is left or a limit is reached."""

import asyncio
from collections.abc import Callable
from enum import StrEnum

import msgspec

from crawler.components import Components, PipelineOptions
from crawler.pipeline import Pipeline
from crawler.politeness.slow_threshold import SlowThreshold
from crawler.slots import Permits, Slot


class Ending(StrEnum):
    """Why a run ended."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    """Nothing is left to fetch, but URLs were lost to damage, set aside because they can't be read, or lost on their
    way between the parts of the crawl."""
    LIMIT = "limit"
    SIGNAL = "signal"
    STOPPED = "stopped"
    """The program that runs the crawl has stopped it."""


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
        self._working = 0
        self._busy = 0
        """The workers that process a URL. The others wait for a slot, a permit or a lease."""
        self._slow_threshold = SlowThreshold()
        self._pipeline = Pipeline(
            components, options=options or PipelineOptions(), on_response=self._slow_threshold.add_response
        )
        self.counters = self._pipeline.counters
        self._slots = Permits(concurrency)
        self._limits = limits
        self._on_stop = on_stop
        self._page_permits = Permits(limits.pages)
        self._ending = Ending.COMPLETE
        self._visiting: asyncio.Task[None] | None = None
        self._group: asyncio.TaskGroup | None = None
        """While it runs."""
        self._started_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def run(self) -> Ending:
        """Crawl. Raises what a component raises for a broken environment, such as `OSError` for a full disk."""
        self._started_at = asyncio.get_running_loop().time()
        self._start_timer()
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                if self._components.visiting is not None:
                    # Before the workers, because they would end when nothing is left.
                    self._visiting = group.create_task(self._components.visiting())
                self._start_worker()
        finally:
            self._group = None
            if self._timer is not None:
                self._timer.cancel()
        stats = self._components.frontier.describe()
        if stats.pending or stats.retrying:
            return self._ending
        return Ending.INCOMPLETE if stats.is_incomplete else Ending.COMPLETE

    def stop(self, ending: Ending = Ending.SIGNAL) -> None:
        """Begin no further URL. The URLs in flight are finished."""
        if self._ending is Ending.COMPLETE:
            self._ending = ending
        self._components.frontier.stop()
        self._on_stop()
        self._page_permits.open()  # each worker that waits for a permit finds that nothing is left, and ends

    # changes while it runs

    def set_limits(self, limits: Limits) -> None:
        """From now on these limits hold, counted from the beginning of the run. A limit that is already reached stops
        the crawl. URLs in flight are finished, so a limit of pages that they exceed is exceeded."""
        self._limits = limits
        self._page_permits.set_limit(limits.pages)
        if self._group is not None:
            self._start_timer()
            self._check_limits()

    def set_concurrency(self, concurrency: int, *, spare: int) -> None:
        """URLs in flight are finished, also if they are now too many."""
        self._workers = concurrency + spare
        self._slots.set_limit(concurrency)
        if self._working:
            self._start_worker()

    def host_rest_s(self, queue_key: str, /) -> float:
        """How long the host of a queue rests for all its queues, for its Crawl-delay or Retry-After."""
        return self._pipeline.requests.host_rest_s(queue_key)

    def rest_alone_s(self, url: str, /) -> float | None:
        """If the host of a URL gets one request at a time now, whatever its queues are allowed, how long it rests at
        least afterwards; else None."""
        return self._pipeline.requests.rest_alone_s(url)

    def set_options(self, options: PipelineOptions) -> None:
        """They hold for URLs that are leased from now on."""
        self._pipeline.set_options(options)

    def _start_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._limits.seconds is not None:
            ends_at = self._started_at + self._limits.seconds
            self._timer = asyncio.get_running_loop().call_at(ends_at, self.stop, Ending.LIMIT)

    # workers

    def _start_worker(self) -> None:
        """Start one more if all are busy and there may be more. Each that gets a lease calls this: most crawls need far
        fewer than they may have."""
        if self._group is not None and self._busy == self._working < self._workers:
            self._working += 1
            self._group.create_task(self._work())

    async def _work(self) -> None:
        try:
            await self._process_leases()
        except asyncio.CancelledError as error:
            this = asyncio.current_task()
            if this is not None and this.cancelling():
                raise
            # A worker that ended so would be missed by nobody, and its lease would never be done.
            raise RuntimeError("a component was cancelled by nobody").with_traceback(error.__traceback__) from None
        finally:
            self._working -= 1
            if not self._working and self._visiting is not None:
                self._visiting.cancel()

    async def _process_leases(self) -> None:
        leases = aiter(self._components.frontier)
        with Slot(self._slots, slow_after_s=lambda: self._slow_threshold.limit_s) as slot:
            while self._working <= self._workers:
                if not slot.is_held:
                    await slot.take()
                if not self._page_permits.take_free():
                    await self._page_permits.take()
                lease = await anext(leases, None)
                if lease is None:
                    self._page_permits.give_back()
                    break
                if self._page_permits.are_too_many or self._slots.are_too_many:
                    # A limit was lowered while this worker waited for the lease.
                    self._components.frontier.release(lease)
                    self._page_permits.give_back()
                    continue
                self._busy += 1
                self._start_worker()
                slot.start_timer()
                is_page = await self._pipeline.process(lease)
                slot.stop_timer()
                self._busy -= 1
                if not is_page:
                    self._page_permits.give_back()
                self._check_limits()
                if not is_page:
                    # Thousands of URLs may follow each other for which no server is asked, so that nothing else awaits.
                    await asyncio.sleep(0)

    def _check_limits(self) -> None:
        limits = self._limits
        if limits.pages is not None and self.counters.pages >= limits.pages:
            self.stop(Ending.LIMIT)
        if limits.bytes is not None and self.counters.bytes_received >= limits.bytes:
            self.stop(Ending.LIMIT)
