"""Runs the engine of an open crawl in a task of its own."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from crawler.control.requests import Add
from crawler.engine import Ending
from crawler.library.crawl_log import log_progress
from crawler.library.opening import Run
from crawler.library.result import CrawlResult
from crawler.operate.actions.added import AddedNotes
from crawler.wiring import seeding
from crawler.wiring.crawl import OpenedCrawl
from frontier import CrawlUrl

log = logging.getLogger(__name__)

_OUR_GROUPS: Final = 2
"""The task groups around a worker: that of the engine, and the one here. A group within them is what a component has
raised."""


class EngineTask:
    """The engine of an open crawl. It runs from `start` until nothing is left, a limit is reached or it is stopped."""

    def __init__(self, run: Run, *, on_start: Callable[[], object], on_end: Callable[[], object]) -> None:
        self._run = run
        self._on_start = on_start
        self._on_end = on_end
        self._task: asyncio.Task[Ending] | None = None
        self._failure_is_raised = False
        self.result: CrawlResult | None = None
        """How the last run ended."""

    @property
    def crawl(self) -> OpenedCrawl:
        return self._run.crawl

    @property
    def in_flight(self) -> int:
        return len(self._run.crawl.engine.counters.in_flight)

    @property
    def was_started(self) -> bool:
        return self._task is not None

    def start(self) -> None:
        """Start it if it does not run. After it has completed the crawl, it starts again if URLs were added."""
        if self._task is None or (self._has_completed() and self._run.has_urls):
            self._on_start()
            self._task = asyncio.create_task(self._work())

    async def wait(self) -> None:
        """Start it, and wait for its end. Cancelling this does not stop it."""
        self.start()
        if self._task is not None:
            await asyncio.wait([self._task])
        self.raise_failure()

    async def add(self, urls: Sequence[CrawlUrl], request: Add) -> int:
        """Note the URLs of a request for a rebuild of the frontier, and enqueue them. Returns how many are new. A full
        disk is waited for. Raises `OSError`."""
        run, frontier = self._run, self._run.crawl.frontier
        notes = AddedNotes(run.place, run.crawl.state, run.loaded.config.frontier.durability)

        async def note() -> None:
            await notes.note(frontier, urls, request)

        try:
            await note()
        except OSError as error:
            await run.crawl.full_disk.write_again(note, error)
        return await seeding.enqueue(frontier, urls, force=request.force)

    def stop(self, *, at_once: bool = False) -> None:
        """Begin no further URL; with `at_once`, also drop those in flight."""
        self._run.crawl.engine.stop(Ending.STOPPED)
        if at_once and self._task is not None:
            self._task.cancel("stopped")

    async def finish(self) -> None:
        """Wait until it has stopped. If this is cancelled, it stops at once."""
        is_cancelled = False
        while self._task is not None and not self._task.done():
            try:
                await asyncio.wait([self._task])
            except asyncio.CancelledError:
                is_cancelled = True
                self.stop(at_once=True)
        self.result = self.result or self._run.result(Ending.STOPPED)
        if is_cancelled:
            raise asyncio.CancelledError

    def raise_failure(self) -> None:
        """Raise what has ended the crawl, once, as it was raised: a program can catch it by its type. If several
        workers have failed, it is what the first has raised, because others often follow from it; the log has all."""
        task = self._task
        if task is None or not task.done() or task.cancelled() or self._failure_is_raised:
            return
        error = task.exception()
        for _ in range(_OUR_GROUPS):
            if isinstance(error, BaseExceptionGroup):
                if len(error.exceptions) > 1:
                    log.info("several errors have ended the crawl", exc_info=error)
                error = error.exceptions[0]
        if error is not None:
            self._failure_is_raised = True
            raise error

    async def _work(self) -> Ending:
        ending = Ending.STOPPED
        try:
            async with asyncio.TaskGroup() as group:
                beside = (
                    group.create_task(log_progress(self._run.crawl.gauge.status)),
                    group.create_task(self._run.course.keep()),
                    group.create_task(self._run.answer_operator(stop=lambda now: self.stop(at_once=now))),
                )
                try:
                    ending = await self._run.crawl.engine.run()
                finally:
                    for each in beside:
                        each.cancel()
        finally:
            try:
                self.result = self._run.result(ending)
            finally:
                self._on_end()
        if self.result.had_nothing_left:
            log.warning(
                "the crawl in %s was complete: nothing was left to fetch. `fresh=True` begins it anew",
                self.result.directory,
            )
        return ending

    def _has_completed(self) -> bool:
        """Whether it has ended because nothing was left."""
        task = self._task
        if task is None or not task.done() or task.cancelled() or task.exception() is not None:
            return False
        return task.result() in (Ending.COMPLETE, Ending.INCOMPLETE)
