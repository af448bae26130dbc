"""Parts of a crawl in one event loop: frontiers in LevelDB, carriers between them, and a worker in each that crawls."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from crawler.parts.ending import Answer, EndWatch, Step
from crawler.parts.exchange.carrier import Carrier
from crawler.parts.exchange.local import LocalExchange
from crawler.parts.exchange.protocol import Exchange
from crawler.parts.exchange.redis import RedisExchange
from crawler.parts.exchange.wire import LINKS
from crawler.redis.server import Server
from crawler.testing.frontier.crawls import copy_of_one_moment
from crawler.testing.timeouts import MAX_WAIT_S
from frontier import Outcome, PartLinks, UrlState
from frontier import Part as PartOfCrawl
from frontier.leveldb.database import SystemCalls
from frontier.leveldb.store import LevelDBStore
from frontier.shell import QueueFrontier
from frontier.snapshots.saving import Snapshots
from frontier.terms import Terms
from tests.unit.parts.model import World
from tests.unit.parts.stored import page_of
from visited.digests.exact import ExactSet

DONE = Outcome(state=UrlState.DONE, status=200)
AGREEMENT = {"urls.rules": "1"}


class RunningPart:
    """One life of a part."""

    def __init__(self, frontier: QueueFrontier, store: LevelDBStore, carrier: Carrier, world: World) -> None:
        self.frontier = frontier
        self.store = store
        self.carrier = carrier
        self.carrying = asyncio.create_task(carrier.run())
        assert frontier.part_links is not None
        self.links: PartLinks = frontier.part_links
        self._world = world

    async def crawl(self) -> None:
        async for lease in self.frontier:
            page = int(lease.url.url.rpartition("/")[2])
            await self.frontier.add([page_of(link) for link in self._world.links[page]])
            await self.frontier.done(lease, cooldown_s=0.0, outcome=DONE)


class Crawl:
    """The directories of the parts."""

    def __init__(self, directory: Path, world: World) -> None:
        self.world = world
        self.agreement: Mapping[str, str] = AGREEMENT
        self.passing: tuple[str, ...] = ()
        self.owner: Callable[[str], int] = world.ownership.owner
        self.max_waiting = 1000
        self._prefix = str(directory)
        self.redis: str | None = None
        """The URL of the server that carries links, if they are not carried over sockets."""
        self._directories = {number: directory / f"{number}-0" for number in range(world.parts)}
        for each in self._directories.values():
            each.mkdir(parents=True)

    def directory(self, number: int) -> Path:
        return self._directories[number]

    def tag_of(self, number: int) -> str:
        """What decides where the keys of a part are in a cluster."""
        return f"{self._prefix}:{number}"

    async def exchange(self, number: int) -> Exchange:
        if self.redis is not None:
            return await RedisExchange.begin(Server(url=self.redis), number, prefix=self._prefix, wire=LINKS)
        return LocalExchange(self.directory(number), self.directory)

    @asynccontextmanager
    async def running(
        self, number: int, *, calls: SystemCalls | None = None, crawls: bool = True
    ) -> AsyncIterator[RunningPart]:
        """A part at work. It stops as a process does that ends in order."""
        part = PartOfCrawl(number=number, parts=self.world.parts, lineage=number + 1)
        state = self.directory(number) / "state"
        state.mkdir(exist_ok=True)
        store = LevelDBStore(state / "frontier", Terms(identity={"canonicalization": "tests"}, part=part), calls=calls)
        frontier = await QueueFrontier.open(store, ExactSet(), snapshots=Snapshots(state / "visited"), owner=self.owner)
        exchange = await self.exchange(number)
        assert frontier.part_links is not None
        carrier = Carrier(
            frontier.part_links,
            exchange,
            frontier.pauses,
            agreement=self.agreement,
            passing=self.passing,
            sync_s=0.01,
            max_waiting=self.max_waiting,
        )
        running = RunningPart(frontier, store, carrier, self.world)
        carrying = running.carrying
        try:
            if crawls:
                await frontier.add([page_of(seed) for seed in (0, 1) if self.world.owner(seed) == number])
                async with asyncio.TaskGroup() as group:
                    crawling = group.create_task(running.crawl())
                    yield running
                    frontier.stop()
                    await crawling
            else:
                yield running
        finally:
            carrying.cancel()
            await asyncio.wait({carrying})
            await exchange.aclose()
            await frontier.aclose()
        if not carrying.cancelled() and (error := carrying.exception()) is not None:
            raise error

    def kill(self, number: int, life: int) -> None:
        """The next life of a part finds what is on its disk now."""
        before = self._directories[number]
        after = before.with_name(f"{number}-{life}")
        copy_of_one_moment(before / "state", after / "state")
        self._directories[number] = after


class Carried(Protocol):
    """A part at work."""

    @property
    def carrier(self) -> Carrier: ...


async def wait_for_end(parts: Mapping[int, Carried]) -> None:
    """Ask as a supervisor does, until the crawl is complete."""
    watch, step = EndWatch(len(parts)), Step.ASK_LATER
    while step is not Step.END:
        if step is Step.ASK_LATER:
            await asyncio.sleep(0.01)
        for part in parts.values():
            (part.carrier.gate.close if step is Step.CLOSE_GATES else part.carrier.gate.open)()
        wave, step = watch.begin_wave(), Step.WAIT
        for number, part in parts.items():
            report = await part.carrier.report()
            step = watch.take(wave, number, Answer(report=report, gate_is_closed=part.carrier.gate.is_closed))


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(MAX_WAIT_S):
        while not is_so():  # noqa: ASYNC110 - nothing tells a test about it
            await asyncio.sleep(0.005)
