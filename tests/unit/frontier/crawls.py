"""Crawls for the tests: stores to open and open again, by a clock that is the event loop's."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from frontier import CrawlUrl, Lease, Outcome, UrlState
from frontier.descriptor import Report
from frontier.leveldb.store import LevelDBStore
from frontier.memory import MemoryStore
from frontier.queues.settings import QueueSettings
from frontier.shell import QueueFrontier
from frontier.snapshots import Snapshots
from frontier.store import Store
from frontier.terms import Terms
from frontier.upkeep.fsck import fsck
from frontier.upkeep.visited_check import check_visited
from visited import VisitedSet, VisitedStats
from visited.digests.exact import ExactSet

START = 1_700_000_000.0
"""When the event loop's clock says 0."""
IDENTITY = {"canonicalization": "tests"}
DONE = Outcome(state=UrlState.DONE, status=200)


def now() -> float:
    return START + asyncio.get_running_loop().time()


def page(host: str, path: str = "", *, precedence: int = 128, via: str | None = None) -> CrawlUrl:
    """A URL of a host, which is its queue."""
    url = f"http://{host}.test/{path}"
    return CrawlUrl(url=url, canonical=url, queue_key=f"test,{host}", precedence=precedence, via=via)


def pages(hosts: int, each: int) -> list[CrawlUrl]:
    return [page(f"h{host}", f"p{number}") for number in range(each) for host in range(hosts)]


def leveldb(directory: Path, *, durability: str = "process") -> LevelDBStore:
    directory.mkdir(parents=True, exist_ok=True)
    return LevelDBStore(directory / "frontier", Terms(identity=IDENTITY), durability=durability)


def snapshots(directory: Path, *, every: int = 500_000) -> Snapshots:
    return Snapshots(directory / "visited", every=every)


class Crawl:
    """The state of one crawl, in memory or in a directory, and its frontiers, one after the other."""

    def __init__(self, directory: Path, *, kind: str = "leveldb", durability: str = "process") -> None:
        self.directory = directory
        self.kind = kind
        self._durability = durability
        self._memory = MemoryStore()
        self.visited: VisitedSet = ExactSet()
        self.settings: QueueSettings | None = None
        """Settings of queues other than `per_queue`."""

    def store(self) -> Store:
        return self._memory if self.kind == "memory" else leveldb(self.directory, durability=self._durability)

    async def open(
        self,
        *,
        per_queue: int = 1,
        visited: VisitedSet | None = None,
        every: int = 500_000,
        behind_s: float = 0.0,
        rest_after_crash_s: float = 0.0,
    ) -> QueueFrontier:
        self.visited = ExactSet() if visited is None else visited
        return await QueueFrontier.open(
            self.store(),
            self.visited,
            snapshots=None if self.kind == "memory" else snapshots(self.directory, every=every),
            per_queue=per_queue,
            settings=self.settings,
            now=lambda: now() - behind_s,
            rest_after_crash_s=rest_after_crash_s,
        )

    @asynccontextmanager
    async def opened(
        self,
        *,
        per_queue: int = 1,
        visited: VisitedSet | None = None,
        every: int = 500_000,
        behind_s: float = 0.0,
        rest_after_crash_s: float = 0.0,
    ) -> AsyncIterator[QueueFrontier]:
        frontier = await self.open(
            per_queue=per_queue,
            visited=visited,
            every=every,
            behind_s=behind_s,
            rest_after_crash_s=rest_after_crash_s,
        )
        try:
            yield frontier
        finally:
            await frontier.aclose()

    def crashed(self, directory: Path) -> "Crawl":
        """What would be found if the process died now."""
        while not _copied(self.directory, directory):
            shutil.rmtree(directory, ignore_errors=True)
        crawl = Crawl(directory, durability=self._durability)
        crawl.settings = self.settings
        return crawl

    def fsck(self) -> Report:
        """Checks the closed store."""
        store = leveldb(self.directory)
        try:
            return fsck(store)
        finally:
            store.close()


def _copied(directory: Path, to: Path) -> bool:
    """Whether nothing changed meanwhile, as when LevelDB compacts: a crash is of one moment."""
    before = _files(directory)
    try:
        shutil.copytree(directory, to)
    except shutil.Error:
        return False
    return before == _files(directory)


def _files(directory: Path) -> dict[str, tuple[int, int]]:
    files = {}
    for path in directory.rglob("*"):
        with suppress(FileNotFoundError):
            stat = path.stat()
            files[str(path)] = (stat.st_size, stat.st_mtime_ns)
    return files


async def check(directory: Path, *, rebuilt: bool = False) -> Report:
    """Check a closed store, and that the visited set as restored knows exactly the ledger. It may need to be `rebuilt`
    from it."""
    store = leveldb(directory)
    try:
        report = fsck(store)
        assert report.problems == []
        visited = ExactSet()
        problems = await check_visited(store, visited, snapshots(directory))
        if rebuilt and [problem.kind for problem in problems] == ["snapshot"]:
            return report
        assert problems == []
        assert len(visited) == report.urls
        return report
    finally:
        store.close()


async def lease(frontier: QueueFrontier) -> Lease:
    """The next lease, which must come within a virtual hour."""
    async with asyncio.timeout(3600):
        return await anext(frontier)


async def none_for(frontier: QueueFrontier, seconds: float) -> bool:
    """Whether no lease comes for so long."""
    try:
        async with asyncio.timeout(seconds):
            await anext(frontier)
    except TimeoutError:
        return True
    return False


async def drain(frontier: QueueFrontier) -> list[str]:
    """Fetch all there is, and return the URLs in order."""
    fetched = []
    async for out in frontier:
        fetched.append(out.url.url)
        await frontier.done(out, cooldown_s=0.0, outcome=DONE)
    return fetched


async def turns(count: int = 10) -> None:
    """Let the other tasks go as far as they can."""
    for _ in range(count):
        await asyncio.sleep(0)


def urls(found: Iterable[CrawlUrl]) -> list[str]:
    return [url.url for url in found]


class RemoteSet:
    """A visited set as if on another machine: it takes what it is given at once, and answers when `answer` is set."""

    def __init__(self) -> None:
        self.local = ExactSet()
        self.answer = asyncio.Event()
        self.answer.set()
        self.failure: Exception | None = None

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        verdicts = await self.local.add_many(urls)
        await self.answer.wait()
        if self.failure is not None:
            raise self.failure
        return verdicts

    async def forget_many(self, urls: Sequence[str], /) -> int:
        known = await self.local.forget_many(urls)
        await self.answer.wait()
        if self.failure is not None:
            raise self.failure
        return known

    def describe(self) -> VisitedStats:
        return self.local.describe()

    def dump(self, file: BinaryIO, /) -> None:
        self.local.dump(file)

    def load(self, file: BinaryIO, /) -> None:
        self.local.load(file)

    def __len__(self) -> int:
        return len(self.local)

    async def aclose(self) -> None:
        return
