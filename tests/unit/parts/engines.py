"""A crawl in parts whose parts are engines: the web of `tests.unit.crawling`, stores in memory, and virtual time."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec

from crawler.components import Components, PipelineOptions
from crawler.discover.discovery import ScopedDiscovery
from crawler.discover.scope import Scope
from crawler.engine import Ending, Engine
from crawler.page import Fetched, Request
from crawler.parts.exchange.carrier import Carrier
from crawler.parts.line.services import SupervisorServices
from crawler.parts.ownership import Ownership
from crawler.parts.sharing.page_allowance import LimitedFrontier, PageAllowance
from crawler.parts.sharing.page_bank import PageBank
from crawler.politeness.pace import Pace
from crawler.politeness.response_policy import ResponsePolicy
from crawler.url.urls import UrlReader, site_of
from frontier import Frontier, Part, PartLinks
from frontier.memory.store import MemoryStore
from frontier.queues.settings import QueueSettings
from frontier.shell import QueueFrontier
from tests.exchanges import MemoryExchange
from tests.unit.crawling import NO_LIMITS, QUICK, SEED, Event, Reader, Records, Rules, Site, Web, now
from tests.unit.parts.carrying import AGREEMENT, wait_for_end
from tests.unit.parts.sharing import Wire
from visited.digests.exact import ExactSet

PARTS = 3


class TimedWeb(Web):
    """Notes when each host was asked."""

    def __init__(self, site: Site, events: list[Event]) -> None:
        super().__init__(site, events)
        self.began_at: defaultdict[str, list[float]] = defaultdict(list)

    async def fetch(self, request: Request, /) -> Fetched:
        self.began_at[site_of(request.url)].append(now())
        return await super().fetch(request)


class Life(msgspec.Struct):
    """A part at work."""

    carrier: Carrier
    engine: Engine
    running: asyncio.Task[Ending]
    stack: AsyncExitStack
    """Ends it."""


class RigOfParts:
    """One crawl of a site in parts, and its states: one run may follow another."""

    def __init__(self, site: Site, *, pace: Pace = QUICK, per_host: int = 100, concurrency: int = 4) -> None:
        self.owner = Ownership(PARTS).owner
        self.stores = [
            MemoryStore(part=Part(number=number, parts=PARTS, lineage=number + 1)) for number in range(PARTS)
        ]
        events: list[Event] = []
        self.web = TimedWeb(site, events)
        self.sinks = [Records(events) for _ in range(PARTS)]
        self._reader = Reader(events)
        self._rules = Rules({}, events)
        self._pace = pace
        self._per_host = per_host
        self._concurrency = concurrency
        self._exchanges: dict[int, MemoryExchange] = {}
        self._bank: SupervisorServices | None = None
        self._limit_is_reached = asyncio.Event()

    @property
    def urls(self) -> list[str]:
        """Of the records of all parts."""
        return [record.url for sink in self.sinks for record in sink.records]

    @property
    def pages(self) -> int:
        """Pages that all runs have settled."""
        return sum(store.counters.pages for store in self.stores)

    def crossed(self) -> Iterator[tuple[int, int]]:
        """From which parts to which others links have come."""
        for receiver, store in enumerate(self.stores):
            yield from ((sender, receiver) for sender, _ in store.positions())

    async def run(self, *, limit: int | None = None) -> list[Ending]:
        """One run of all parts, to its end."""
        async with self.begun(limit=limit) as lives:
            return await self.finish(lives)

    @asynccontextmanager
    async def begun(self, *, limit: int | None = None) -> AsyncIterator[dict[int, Life]]:
        """The parts at work; those that are there at the end of the block are ended. Put a part that is begun anew
        there."""
        self._limit_is_reached.clear()
        bank = None if limit is None else PageBank(limit=limit, parts=PARTS, on_reached=self._limit_is_reached.set)
        self._bank = None if bank is None else SupervisorServices([bank])
        lives: dict[int, Life] = {}
        try:
            for number in range(PARTS):
                lives[number] = await self.begin(number)
            yield lives
        finally:
            for life in lives.values():
                await life.stack.aclose()

    async def finish(self, lives: dict[int, Life]) -> list[Ending]:
        """Wait as a supervisor does until the crawl is complete or has as many pages as it may; then stop all parts."""
        ended = asyncio.create_task(wait_for_end(lives))
        reached = asyncio.create_task(self._limit_is_reached.wait())
        async with asyncio.timeout(100_000):
            await asyncio.wait({ended, reached}, return_when=asyncio.FIRST_COMPLETED)
        for task in (ended, reached):
            task.cancel()
        await asyncio.wait({ended, reached})
        ending = Ending.LIMIT if self._limit_is_reached.is_set() else Ending.COMPLETE
        for life in lives.values():
            life.engine.stop(ending)
        return [await life.running for life in lives.values()]

    async def cancel(self, life: Life) -> None:
        """End a part while it works."""
        life.running.cancel()
        await asyncio.wait({life.running})
        await life.stack.aclose()

    async def begin(self, number: int) -> Life:
        """The next life of a part, over the state that the last one left."""
        stack = AsyncExitStack()
        inner = await QueueFrontier.open(
            self.stores[number],
            ExactSet(),
            settings=QueueSettings(per_queue=self._per_host),
            owner=self.owner,
            now=now,
        )
        stack.push_async_callback(inner.aclose)
        links = inner.part_links
        assert links is not None
        discovery = ScopedDiscovery(urls=UrlReader(), scope=Scope(within="any", seeds=[UrlReader().seed(SEED)]))
        await inner.add([url for url in discovery.seeds([SEED]) if links.owns(url.queue_key)])
        exchange = MemoryExchange(number, self._exchanges)
        stack.push_async_callback(exchange.aclose)
        carrier = Carrier(links, exchange, inner.pauses, agreement=AGREEMENT)
        stack.push_async_callback(_end, asyncio.create_task(carrier.run()))
        frontier = self._limited(number, inner, links, stack)
        engine = self._engine(number, frontier, discovery)
        running = asyncio.create_task(engine.run())
        stack.push_async_callback(_end, running)
        return Life(carrier=carrier, engine=engine, running=running, stack=stack)

    def _limited(self, number: int, inner: QueueFrontier, links: PartLinks, stack: AsyncExitStack) -> Frontier:
        if self._bank is None:
            return inner
        allowance = PageAllowance(links.pages, is_idle=lambda: links.is_idle)
        stack.push_async_callback(_end, asyncio.create_task(allowance.run()))
        stack.callback(Wire(number, [allowance], self._bank).close)
        return LimitedFrontier(inner, allowance)

    def _engine(self, number: int, frontier: Frontier, discovery: ScopedDiscovery) -> Engine:
        components = Components(
            frontier=frontier,
            fetcher=self.web,
            extractor=self._reader,
            robots=self._rules,
            discovery=discovery,
            sink=self.sinks[number],
            queue_key=site_of,
            policy_for=lambda _: ResponsePolicy(pace=self._pace, max_attempts=3),
            clock=now,
            monotonic=asyncio.get_running_loop().time,
        )
        return Engine(components, concurrency=self._concurrency, limits=NO_LIMITS, options=PipelineOptions())


async def _end(task: asyncio.Task[Any]) -> None:
    """Cancel it, and tell if it has failed before."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()
