"""Crawls for the tests: stores to open and open again, by a clock that is the event loop's."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import plyvel

from crawler.testing.frontier.crawls import Opening, copy_of_one_moment, now
from frontier.descriptor import Report
from frontier.leveldb.store import LevelDBStore
from frontier.memory.store import MemoryStore
from frontier.queues.settings import QueueSettings
from frontier.shell import QueueFrontier
from frontier.snapshots.saving import Snapshots
from frontier.store import Store
from frontier.terms import Terms
from frontier.upkeep.fsck import fsck
from frontier.upkeep.visited_check import check_visited
from visited import VisitedSet
from visited.digests.exact import ExactSet

IDENTITY = {"canonicalization": "tests"}


def leveldb(directory: Path, *, durability: str = "process") -> LevelDBStore:
    directory.mkdir(parents=True, exist_ok=True)
    return LevelDBStore(directory / "frontier", Terms(identity=IDENTITY), durability=durability)


def contents(directory: Path) -> dict[bytes, bytes]:
    """All records of a closed store."""
    with plyvel.DB(str(directory / "frontier")) as db:
        return dict(db)


def snapshots(directory: Path, *, every: int = 500_000) -> Snapshots:
    return Snapshots(directory / "visited", every=every)


async def open_over(store: Store, opening: Opening) -> QueueFrontier:
    """A frontier over a store, as the suite wants it opened."""
    return await QueueFrontier.open(
        store,
        opening.visited,
        snapshots=None if isinstance(store, MemoryStore) else snapshots(opening.directory),
        settings=opening.settings,
        now=opening.clock,
        rest_after_crash_s=opening.rest_after_crash_s,
    )


class Crawl:
    """The state of one crawl, in a directory, and its frontiers, one after the other."""

    def __init__(self, directory: Path, *, durability: str = "process") -> None:
        self.directory = directory
        self._durability = durability
        self.visited: VisitedSet = ExactSet()
        self.settings: QueueSettings | None = None
        """Settings of queues other than `per_queue`."""

    def store(self) -> Store:
        return leveldb(self.directory, durability=self._durability)

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
            snapshots=snapshots(self.directory, every=every),
            settings=self.settings or QueueSettings(per_queue=per_queue),
            now=lambda: now() - behind_s,
            rest_after_crash_s=rest_after_crash_s,
        )

    @asynccontextmanager
    async def opened(self, **how: Any) -> AsyncIterator[QueueFrontier]:
        """The same until the end of the block."""
        frontier = await self.open(**how)
        try:
            yield frontier
        finally:
            await frontier.aclose()

    def crashed(self, directory: Path) -> "Crawl":
        """What would be found if the process died now."""
        copy_of_one_moment(self.directory, directory)
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
