"""A store as the state of a frontier."""

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

import msgspec

from frontier.descriptions import QueueStatus, told_entry, told_health, told_time
from frontier.descriptor import Parameters
from frontier.parts.protocol import lineage_of
from frontier.protocol.look_ups import Notes
from frontier.queues.queue import QueueRecord
from frontier.records import first_number
from frontier.shell import QueueFrontier
from frontier.snapshots.restoring import restore
from frontier.snapshots.saving import Snapshots
from frontier.store import Store
from frontier.transitions.active.active_queues import ActiveQueues
from frontier.transitions.operating import Operator
from frontier.transitions.stats import describe
from frontier.values import CrawlUrl, Damaged, FrontierStats, KnownUrl
from visited import VisitedSet

_Store = TypeVar("_Store", bound=Store)


class StoreState(Generic[_Store]):
    """A `FrontierState` over any store. It also is a `QueueReads`, a `LedgerReads` and a `ClaimReads`, and, while no
    frontier is open over it, a `Pausing` and a `QueueControl`."""

    def __init__(self, store: _Store, parameters: Parameters) -> None:
        self.store = store
        self.settings = parameters.settings
        self.snapshots: Snapshots | None = None
        """Snapshots of the visited set."""
        if parameters.snapshot_directory is not None:
            self.snapshots = Snapshots(parameters.snapshot_directory, every=parameters.snapshot_every)
        self.notes: Notes = store.notes
        self.knows_many = store.reads.knows_many
        self._clock = parameters.clock
        self._rest_after_crash_s = parameters.rest_after_crash_s
        self._may_have_moved = parameters.before_write is not None
        self.owner = parameters.owner
        self._frontier: QueueFrontier | None = None

    @property
    def identity(self) -> Mapping[str, str]:
        return self.store.identity

    def describe(self) -> FrontierStats:
        if self._frontier is not None:
            return self._frontier.describe()
        queues, next_ms = self._stored_queues(), self.store.reads.next_revisit_ms()
        next_visit_s = None if next_ms is None else max(0.0, next_ms / 1000 - queues.now())
        return msgspec.structs.replace(describe(self.store.counters, queues), next_visit_s=next_visit_s)

    async def restore(self, visited: VisitedSet, /, *, rebuilding: Callable[[int], None] | None = None) -> None:
        await restore(self.store, visited, self.snapshots, rebuilding=rebuilding)

    async def open_frontier(
        self, visited: VisitedSet, /, *, rebuilding: Callable[[int], None] | None = None
    ) -> QueueFrontier:
        if self._may_have_moved:
            self.store.marks.set_in_use(True)
        self._frontier = await QueueFrontier.open(
            self.store,
            visited,
            snapshots=self.snapshots,
            settings=self.settings,
            now=self._clock,
            rest_after_crash_s=self._rest_after_crash_s,
            rebuilding=rebuilding,
            owner=self.owner,
        )
        return self._frontier

    def close(self) -> None:
        self.store.close()

    def _ahead_s(self) -> float:
        """How far the frontier's clock is ahead of the system's."""
        if self._frontier is not None:
            return self._frontier.ahead_s
        return self.store.counters.ahead_of(self._clock())

    def _stored_queues(self) -> ActiveQueues:
        """The queues as a frontier would find them now."""
        return ActiveQueues(self.store, self.settings, clock=self._clock)

    # look-ups

    def queues(self, after: str = "", /) -> Iterator[QueueStatus]:
        ahead_s = self._ahead_s()
        return (_status(record, ahead_s) for record in self.store.reads.queues(after))

    def queue(self, key: str, /) -> QueueStatus | None:
        record = self.store.reads.queue(key)
        return None if record is None else _status(record, self._ahead_s())

    def next_urls(self, key: str, /, *, limit: int) -> list[CrawlUrl]:
        record = self.store.reads.queue(key)
        if record is None:
            return []
        return [each.url for each in self.store.reads.pending_urls(key, after=record.drained_to, limit=limit)]

    @property
    def has_claims(self) -> bool:
        return self.store.claims.is_open

    @property
    def next_number(self) -> int:
        return self.store.counters.next_number

    @property
    def latest_at(self) -> float:
        return max(self.store.counters.clock, self.store.counters.fetched_at)

    @property
    def numbers_given(self) -> int:
        following = self.next_number
        return following - first_number(lineage_of(following))

    def was_forgotten(self, number: int, /) -> bool:
        counters = self.store.counters
        if not counters.generation or counters.lost or counters.quarantined:
            return False
        return counters.has_given(number)

    def known(self, canonical: str, /) -> KnownUrl | None:
        known = self.store.ledger.known(canonical)
        return None if known is None else self._told(known, self._ahead_s())

    def all_known(self, after: str = "", /) -> Iterator[KnownUrl | Damaged]:
        ahead_s = self._ahead_s()
        for known in self.store.ledger.all_known(after):
            yield known if isinstance(known, Damaged) else self._told(known, ahead_s)

    def _told(self, known: KnownUrl, ahead_s: float) -> KnownUrl:
        entry = told_entry(known.entry, links=self.store.reads.link_count(known.entry.canonical), ahead_s=ahead_s)
        due_at = None if known.due_at is None else told_time(known.due_at, ahead_s=ahead_s)
        if entry is known.entry and due_at == known.due_at:
            return known
        return msgspec.structs.replace(known, entry=entry, due_at=due_at)

    # an operator acts

    @property
    def paused(self) -> str | None:
        return self.store.marks.paused

    async def pause(self, reason: str, /) -> None:
        await self._operate(lambda operator: operator.pause(reason))

    async def resume(self) -> None:
        await self._operate(Operator.resume)

    async def retire(self, key: str, /) -> None:
        await self._operate(lambda operator: operator.retire(key))

    async def unretire(self, key: str, /) -> None:
        await self._operate(lambda operator: operator.unretire(key))

    async def set_budget(self, key: str, budget: int | None, /) -> None:
        await self._operate(lambda operator: operator.set_budget(key, budget))

    async def _operate(self, change: Callable[[Operator], None]) -> None:
        if self._frontier is not None:
            raise ValueError("a frontier is open over this state, and knows nothing of changes beside it; ask that")
        change(Operator(self.store, self._stored_queues()))
        await self.store.sync()


def _status(record: QueueRecord, ahead_s: float) -> QueueStatus:
    return QueueStatus(
        key=record.key,
        size=record.size,
        wake_at=told_time(record.wake_at, ahead_s=ahead_s),
        health=told_health(record.health, ahead_s=ahead_s),
        precedence=record.precedence,
        spent=record.spent,
        budget=record.budget,
        retired=record.retired,
        pace_s=record.pace_s,
        address=record.address,
        served=record.position is not None,
    )
