"""A crawl that does not run, opened from its directory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from pathlib import Path

import msgspec

from config import Loaded
from crawler.control.replies import CrawlStatus, Stopping
from crawler.counters import InFlight
from crawler.course.remaining import NOT_RUNNING, no_estimate, share_done
from crawler.disk.directory import CrawlDirectory
from crawler.disk.syncing import FileSync
from crawler.operate.opening import open_stored
from crawler.operate.settings.changing import StoredSettings
from crawler.parts.ending import Gate
from crawler.wiring.backends import named_frontier
from crawler.wiring.components.discovering import Rules, rules_of
from crawler.wiring.plugins.guarded_frontier import check_frontier
from crawler.wiring.storage import reaching_server, visited_set
from frontier import Frontier, Pausing
from frontier.state import FrontierState
from visited import VisitedSet, VisitedStats


class StoredCrawl:
    """An `OperatedCrawl` that no process runs. This one has its lock."""

    def __init__(
        self, directory: CrawlDirectory, loaded: Loaded, state: FrontierState, stack: AsyncExitStack, *, named: Path
    ) -> None:
        """`stack` closes what is opened later. `named` is the directory as its user names it."""
        self.directory = directory
        self.loaded = loaded
        self.settings = StoredSettings(loaded, directory)
        self.state = state
        self.controls: object = state
        self.in_flight: list[InFlight] = []
        self.gate: Gate | None = None
        self._stack = stack
        self.named = named
        self.files = FileSync(directory)
        self._frontier: Frontier | None = None

    @cached_property
    def rules(self) -> Rules:
        return rules_of(self.loaded)

    async def frontier(self) -> Frontier:
        if self._frontier is None:
            with reaching_server(self.loaded.config):
                opened = await self.state.open_frontier(self._make_visited())
            self._frontier = check_frontier(opened, named_frontier(self.loaded.config))
            self._stack.push_async_callback(self._frontier.aclose)
        return self._frontier

    def _make_visited(self) -> VisitedSet:
        visited = visited_set(self.loaded.config, self.directory, self.state.knows_many)
        self._stack.push_async_callback(visited.aclose)
        return visited

    async def visited_set(self) -> VisitedSet:
        """The visited set as it was when the crawl ended. It is loaded now, which takes as long as a start."""
        visited = self._make_visited()
        with reaching_server(self.loaded.config):
            await self.state.restore(visited)
        return visited

    async def visited(self) -> VisitedStats:
        return (await self.visited_set()).describe()

    async def make_safe(self) -> None:
        await asyncio.to_thread(self.files.sync)

    def status(self) -> CrawlStatus:
        paused = self.state.paused if isinstance(self.state, Pausing) else None
        stats = self.state.describe()
        if self.loaded.config.recrawl.schedule == "off":
            stats = msgspec.structs.replace(stats, next_visit_s=None)
        return CrawlStatus(
            directory=str(self.named),
            running=False,
            pid=None,
            paused=paused,
            frontier=stats,
            run=None,
            share_done=share_done(stats),
            remaining=no_estimate(stats.queued, NOT_RUNNING),
        )

    def stop(self, *, now: bool) -> Stopping:
        return Stopping(was_running=False)


@asynccontextmanager
async def open_stored_crawl(path: Path, *, to_change: bool) -> AsyncIterator[StoredCrawl]:
    """The crawl in a directory, locked in this context. Raises `DirectoryRefused`, and whatever `open_state` raises."""
    with open_stored(path, to_change=to_change) as (directory, loaded, state):
        async with AsyncExitStack() as stack:
            yield StoredCrawl(directory, loaded, state, stack, named=path)
