"""Lets a running crawl answer on the socket in its directory."""

import asyncio
import os
from collections.abc import Callable
from typing import Final

import msgspec

from config import Loaded
from crawler.control.replies import CrawlStatus, Refusal, Stopping
from crawler.control.requests import AnyRequest
from crawler.control.server import answer_in
from crawler.counters import InFlight
from crawler.course.remaining import share_done
from crawler.disk.directory import CrawlDirectory
from crawler.disk.syncing import FileSync
from crawler.operate.course import CourseKeeper
from crawler.operate.refused import Refused
from crawler.operate.settings.changing import RunningSettings
from crawler.operate.target import syncing
from crawler.parts.ending import Gate
from crawler.wiring.backends import frontier_backend
from crawler.wiring.components.discovering import Rules
from crawler.wiring.crawl import OpenedCrawl
from frontier import Frontier, Pausing
from visited import VisitedStats

_LOAD_ANSWERS_S: Final = 10.0
"""When a crawl loads what answers, if nobody has asked it before. A shorter crawl does without. A longer one must not
wait for a question, because until then another version may have been installed."""


class RunningCrawl:
    """An `OperatedCrawl` that this process runs."""

    def __init__(
        self,
        opened: OpenedCrawl,
        settings: RunningSettings,
        directory: CrawlDirectory,
        course: CourseKeeper,
        *,
        stop: Callable[[bool], object],
        gate: Gate | None = None,
    ) -> None:
        """`stop` ends the run: it lets URLs in flight finish, or, if called with True, drops them. `gate` is that of a
        part."""
        self.gate = gate
        self.directory = directory
        self.settings = settings
        self.state = opened.state
        self.controls: object = opened.frontier
        self._opened = opened
        self._course = course
        self._stop = stop
        self._stopping = False
        self.files = FileSync(directory)
        self._one_at_a_time = asyncio.Lock()

    @property
    def loaded(self) -> Loaded:
        return self._opened.live.loaded

    @property
    def in_flight(self) -> list[InFlight]:
        return list(self._opened.engine.counters.in_flight.values())

    @property
    def rules(self) -> Rules:
        values = self._opened.live.values
        return Rules(values.urls, values.scope, values.discovery)

    async def frontier(self) -> Frontier:
        return self._opened.frontier

    async def visited(self) -> VisitedStats:
        return self._opened.gauge.status().visited

    async def make_safe(self) -> None:
        if not frontier_backend(self.loaded.config).is_persistent:
            raise Refused(
                "this crawl keeps its state in memory alone: frontier.backend names a frontier without a store"
            )
        async with self._one_at_a_time:
            # The frontier first: what it has settled is in the output already, which is then synced too.
            await syncing(self).make_safe()
            await asyncio.to_thread(self.files.sync)

    def status(self) -> CrawlStatus:
        frontier, run = self._opened.frontier, self._opened.gauge.status()
        return CrawlStatus(
            directory=str(self.directory.path),
            running=True,
            pid=os.getpid(),
            paused=frontier.paused if isinstance(frontier, Pausing) else None,
            stopping=self._stopping,
            frontier=run.frontier,
            run=run,
            share_done=share_done(run.frontier),
            remaining=self._course.remaining(run.frontier),
            next_settings=self.settings.next_settings,
        )

    def stop(self, *, now: bool) -> Stopping:
        self._stopping = True
        in_flight = len(self.in_flight)
        self._stop(now)
        return Stopping(was_running=True, in_flight=in_flight)

    async def answer(self, request: AnyRequest) -> msgspec.Struct | Refusal:
        """Carry out a request. It does not hold the event loop for long."""
        from crawler.operate.answers import answer  # noqa: PLC0415 - see `_LOAD_ANSWERS_S`

        return await answer(self, request)


async def answer_operator(crawl: RunningCrawl) -> None:
    """Answer on the socket until cancelled. A crawl whose directory takes no socket goes on without."""
    # Without a socket too: a signal may ask for new settings.
    loading = asyncio.get_running_loop().call_later(_LOAD_ANSWERS_S, _load_answers)
    try:
        await answer_in(crawl.directory.path, crawl.answer)
    except asyncio.CancelledError:
        loading.cancel()
        raise


def _load_answers() -> None:
    import crawler.operate.answers  # noqa: F401, PLC0415 - see `_LOAD_ANSWERS_S`
