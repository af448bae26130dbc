"""Admits the links that were on their way between parts, where they belong now.

They are admitted by a frontier, as if they had arrived. So budgets, precedences and counts of links are what they would
be. A link that is admitted twice, because of a crash, only counts twice.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import BinaryIO

from frontier.leveldb.format.keys import OUTBOX_SPACE, end_of, parcel_of
from frontier.leveldb.opening import damage_error
from frontier.leveldb.outbox import read_incarnation, read_positions
from frontier.leveldb.store import LevelDBStore
from frontier.parts.parcels import decode_parcel
from frontier.regroup.sources import Sources
from frontier.regrouping import PartOfState, Regrouping
from frontier.shell import QueueFrontier
from frontier.values import CrawlUrl
from visited import Unsaved, VisitedStats

_ADDED_TOGETHER = 200


class LedgerSet:
    """A `VisitedSet` that asks the ledger of a store, and remembers nothing itself."""

    def __init__(self, store: LevelDBStore) -> None:
        self._store = store
        self.is_filled = False
        """While it is not, it is filled with the URLs of the ledger, which costs it nothing."""

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        if not self.is_filled:
            return [False] * len(urls)
        met: set[str] = set()
        verdicts = []
        for url, is_known in zip(urls, self._store.reads.knows_many(urls), strict=True):
            verdicts.append(not is_known and url not in met)
            met.add(url)
        return verdicts

    async def forget_many(self, urls: Sequence[str], /) -> int:
        return sum(self._store.reads.knows_many(urls))

    def describe(self) -> VisitedStats:
        return VisitedStats(backend="ledger", count=len(self), capacity=None, memory_bytes=0)

    def dump(self, _: BinaryIO, /) -> None:
        raise Unsaved("the ledger is its own copy")

    def load(self, _: BinaryIO, /) -> None:
        raise Unsaved("the ledger is its own copy")

    def __len__(self) -> int:
        return self._store.counters.admitted

    async def aclose(self) -> None:
        """The store is not its own."""


def links_on_their_way(sources: Sources, parts: Sequence[PartOfState]) -> Iterator[CrawlUrl]:
    """The URLs in the outboxes, without those that their receivers have admitted."""
    positions = [read_positions(database) for database in sources]
    for sender, database in enumerate(sources):
        incarnation = read_incarnation(database)
        for key, content in database.items(OUTBOX_SPACE, end_of(OUTBOX_SPACE)):
            receiver, index = parcel_of(key)
            number, base = (0, 0) if incarnation is None else (incarnation.number, incarnation.bases.get(receiver, 0))
            if receiver < len(parts) and index - base <= positions[receiver].get((sender, number), 0):
                continue
            try:
                yield from decode_parcel(content)
            except ValueError as error:
                raise damage_error(database.directory, f"parcel {index} for part {receiver}: {error}") from error


async def admit_links(store: LevelDBStore, urls: Iterable[CrawlUrl], job: Regrouping) -> int:
    """Admit URLs into the store of a target, and close it. Returns how many of them are new."""
    visited = LedgerSet(store)
    frontier = await QueueFrontier.open(
        store, visited, settings=job.settings, owner=None if store.part is None else job.routing.owner
    )
    visited.is_filled = True
    new, left = 0, iter(urls)
    try:
        while batch := list(islice(left, _ADDED_TOGETHER)):
            new += await frontier.add(batch)
    finally:
        await frontier.aclose()
    return new
