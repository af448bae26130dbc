"""Brings a store under other rules: each URL gets the canonical form and the queue that they give it.

It is done in place, some URLs at a time. Each batch is one whole, and leaves a store of which every part agrees; but a
mark says that the forms of both rules stand in it, and it is refused by all but this until the last has been renamed.
A rebuild that was broken off begins at the first URL again: those that have their new names keep them.

URLs that become the same are merged, and the one that has got further stays: fetched before given up before tried
before waiting, and of two that were fetched, the later. The visited set has to be filled from the ledger afterwards.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Protocol

import msgspec

from frontier.leveldb.encoding import (
    Place,
    encode_entry,
    encode_hits,
    encode_place,
    encode_postponed,
    encode_waiting,
)
from frontier.leveldb.full_scan import FullScan
from frontier.leveldb.keys import (
    hits_key,
    ledger_key,
    pending_key,
    postponed_key,
)
from frontier.queues.lifecycle import Queue
from frontier.queues.rules import Rules
from frontier.store import Counters, Damaged, Postponed, QueueRecord, Waiting
from frontier.transitions.accounting import filling, queue_of
from frontier.values import CrawlUrl, LedgerEntry, UrlState

AT_ONCE = 1000
"""Renamed in one batch, and read between two looks at what else there is to do."""


class Naming(Protocol):
    """The rules that the store is brought under. Names given once more stay what they are."""

    def settled(self, canonical: str, /) -> str:
        """The canonical form of a URL of which no more is known than the one that it had."""
        ...

    def waiting(self, url: CrawlUrl, /) -> CrawlUrl:
        """The URL with its canonical form and its queue key."""
        ...


class Rebuildable(Protocol):
    """What a store offers to be rebuilt."""

    counters: Counters

    @property
    def contents(self) -> FullScan: ...

    def queue(self, key: str, /) -> QueueRecord | None: ...

    def hits(self, canonical: str, /) -> int: ...

    def begin_rebuild(self) -> None:
        """Mark the store, and drop the snapshot and the journal of the visited set."""
        ...

    def end_rebuild(self) -> None:
        """The store is of the identity that it was opened with."""
        ...

    def write_raw(
        self,
        puts: Mapping[bytes, bytes],
        deletes: set[bytes],
        counters: Counters,
        /,
        *,
        queues: Sequence[QueueRecord] = (),
    ) -> None: ...


class Rebuilt(msgspec.Struct, kw_only=True):
    """What was done. Counts of URLs."""

    urls: int = 0
    renamed: int = 0
    """Of these, given another canonical form or queue."""
    merged: int = 0
    """Of these, known already under the new form."""


async def rebuild(
    store: Rebuildable, naming: Naming, *, rules: Rules, progress: Callable[[int], None] | None = None
) -> Rebuilt:
    """Rename all of a store that nobody else writes to. `progress` is called with the number of URLs so far.

    Raises `StoreFailed`, and may be cancelled: either leaves it to be rebuilt again.
    """
    store.begin_rebuild()
    rebuilt, renaming = Rebuilt(), _Renaming(store, rules)
    for found in store.contents.all_entries():
        rebuilt.urls += 1
        if not isinstance(found, Damaged):
            renaming.look_at(found[0], found[1], naming)
        if rebuilt.urls % AT_ONCE == 0:
            renaming.flush()
            if progress is not None:
                progress(rebuilt.urls)
            await asyncio.sleep(0)
    renaming.flush()
    store.end_rebuild()
    rebuilt.renamed, rebuilt.merged = renaming.renamed, renaming.merged
    return rebuilt


class _Known(msgspec.Struct, frozen=True):
    """What the store has of one URL."""

    entry: LedgerEntry
    place: Place | None
    record: Waiting | Postponed | None
    """None if the URL is settled, or its record is lost."""

    @property
    def waiting(self) -> Waiting | None:
        return self.record.waiting if isinstance(self.record, Postponed) else self.record

    @property
    def hits(self) -> int:
        """Links to it that its own record tells."""
        return self.entry.hit_count if self.waiting is None else self.waiting.url.hits

    @property
    def progress(self) -> tuple[int, float, int]:
        """How far it has got; the more, the further."""
        if self.place is not None:
            return (self.record is not None) + isinstance(self.record, Postponed), 0.0, -self.entry.number
        return 4 if self.entry.state is UrlState.DONE else 3, self.entry.fetched_at or 0.0, -self.entry.number


class _Renaming:
    """Collects a batch of renamed URLs, and writes it."""

    def __init__(self, store: Rebuildable, rules: Rules) -> None:
        self.renamed = 0
        self.merged = 0
        self._store = store
        self._rules = rules
        self._begin()

    def _begin(self) -> None:
        self._counters = copy(self._store.counters)
        self._puts: dict[bytes, bytes] = {}
        self._deletes: set[bytes] = set()
        self._touched: set[str] = set()
        """Canonical forms of which the batch decides."""
        self._come: list[Waiting] = []
        self._lost: Counter[str] = Counter()
        """How many URLs leave which queue."""
        self._heirs: dict[str, set[str]] = {}
        """From which queues those come that come into a queue."""

    def flush(self) -> None:
        """Write the batch."""
        if not self._touched:
            return
        keys = {*self._lost, *(waiting.url.queue_key for waiting in self._come)}
        records = {key: self._store.queue(key) for key in keys}
        queues = {key: Queue(key) if record is None else queue_of(record) for key, record in records.items()}
        for key, sources in self._heirs.items():
            for source in sources:
                _inherit(queues[key], queues[source])
        _, changed = filling(self._come, queues, self._counters, self._rules, lost=self._lost)
        self._store.write_raw(self._puts, self._deletes - self._puts.keys(), self._counters, queues=changed)
        self._begin()

    def look_at(self, entry: LedgerEntry, place: Place | None, naming: Naming) -> None:
        """Rename the URL if its name or its queue is another by the new rules."""
        known = self._known(entry, place)
        canonical = self._name(known, naming)
        if canonical is None:
            return
        if canonical in self._touched or entry.canonical in self._touched:
            self.flush()
        # As it is now: what was read may have been merged with another since.
        now = self._store.contents.entry(entry.canonical)
        if now is None:
            return
        known = self._known(*now)
        canonical = self._name(known, naming)
        if canonical is None:
            return
        self.renamed += 1
        self._touched |= {canonical, entry.canonical}
        hits = self._store.hits(entry.canonical)
        other = None if canonical == entry.canonical else self._store.contents.entry(canonical)
        if other is not None:
            self.merged += 1
            rival = self._known(*other)
            loser = rival if rival.progress < known.progress else known
            hits += self._store.hits(canonical) + loser.hits
            self._remove(loser)
            self._keep_hits(entry.canonical, canonical, hits)
            if loser is known:
                self._deletes.add(ledger_key(entry.canonical))
                return
        else:
            self._keep_hits(entry.canonical, canonical, hits)
        self._move(known, canonical, naming)

    def _keep_hits(self, old: str, new: str, hits: int) -> None:
        if hits:
            self._deletes.add(hits_key(old))
            self._puts[hits_key(new)] = encode_hits(hits)

    def _name(self, known: _Known, naming: Naming) -> str | None:
        """The new canonical form; None if nothing changes."""
        old = known.entry.canonical
        if known.place is None:
            new = naming.settled(old)
            return None if new == old else new
        if known.waiting is None:
            return None  # set aside, with its name
        url = naming.waiting(known.waiting.url)
        return None if (url.canonical, url.queue_key) == (old, known.place.queue_key) else url.canonical

    def _known(self, entry: LedgerEntry, place: Place | None) -> _Known:
        return _Known(entry, place, None if place is None else self._store.contents.record_at(place))

    def _remove(self, known: _Known) -> None:
        """It is merged into another: its ledger entry is left to whoever stays."""
        counters, state = self._counters, known.entry.state
        counters.admitted -= 1
        counters.done -= state is UrlState.DONE
        counters.failed -= state is UrlState.FAILED
        counters.excluded -= state is UrlState.EXCLUDED
        if isinstance(known.record, Postponed):
            counters.retrying -= 1
            self._deletes.add(postponed_key(known.record.due_ms, known.record.waiting.number))
        elif known.record is not None:
            self._leave(known.record)

    def _leave(self, waiting: Waiting) -> None:
        self._deletes.add(pending_key(waiting.url.queue_key, waiting.order))
        self._lost[waiting.url.queue_key] += 1

    def _move(self, known: _Known, canonical: str, naming: Naming) -> None:
        self._deletes.add(ledger_key(known.entry.canonical))
        old = known.waiting
        if old is None:
            entry = msgspec.structs.replace(known.entry, canonical=canonical)
            self._puts[ledger_key(canonical)] = encode_entry(entry)
            return
        waiting = msgspec.structs.replace(old, url=naming.waiting(old.url))
        if isinstance(known.record, Postponed):
            postponed = msgspec.structs.replace(known.record, waiting=waiting)
            self._puts[ledger_key(canonical)] = encode_place(waiting, due_ms=postponed.due_ms)
            self._puts[postponed_key(postponed.due_ms, waiting.number)] = encode_postponed(postponed)
            return
        self._puts[ledger_key(canonical)] = encode_place(waiting)
        self._leave(old)
        self._puts[pending_key(waiting.url.queue_key, waiting.order)] = encode_waiting(waiting)
        self._come.append(waiting)
        self._heirs.setdefault(waiting.url.queue_key, set()).add(old.url.queue_key)


def _inherit(queue: Queue, source: Queue) -> None:
    """Its URLs are of the same servers: what they are to be spared, they are spared in the other queue too."""
    queue.wake_at = max(queue.wake_at, source.wake_at)
    queue.pace_s = max(queue.pace_s, source.pace_s)
    if queue.size == 0:
        # With one that has URLs, its own health has been counted; and the next answer tells.
        queue.health = max(queue.health, source.health, key=lambda health: health.error_streak)
