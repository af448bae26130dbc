"""Collects the writes of a repair, and what it counts."""

from typing import Literal

import msgspec

from frontier.leveldb.format.keys import QUARANTINE_SPACE
from frontier.leveldb.store import LevelDBStore
from frontier.parts.protocol import lineage_of
from frontier.records import Counters, first_number
from frontier.values import Damaged

WRITTEN_TOGETHER = 1000

Salvaged = Literal["log", "tables", "nothing"]
"""How LevelDB was restored: without the damaged parts of its log, from its tables, or not at all, so that the store
starts empty."""


class Repaired(msgspec.Struct, kw_only=True):
    """What a repair has done. Counts are of records unless said otherwise."""

    salvaged: Salvaged | None = None
    """How LevelDB itself was restored, if it had to be."""
    set_aside: int = 0
    put_back: int = 0
    """URLs that waited according to the ledger, but were in no queue."""
    entries: int = 0
    """Ledger entries written again from what waits."""
    queues: int = 0
    positions: int = 0
    """Positions of queues that were removed or added."""
    duplicates: int = 0
    """Second locations of URLs that waited twice."""
    counters: int = 0
    parcels: int = 0
    """Parcels for other parts of the crawl that were damaged or missing."""
    missing_batches: int = 0
    lost: int = 0
    """Admitted URLs that were destroyed without a trace."""
    visited_is_rebuilt: bool = False


class RepairBatch:
    """Writes in batches. It has the counters of the repaired store, and what the repair has done so far."""

    def __init__(self, store: LevelDBStore, repaired: Repaired) -> None:
        before = store.counters
        self.repaired = repaired
        self.counters = Counters(
            next_number=first_number(lineage_of(before.next_number)),
            quarantined=before.quarantined,
            journal_end=before.journal_end,
            clock=before.clock,
            ahead_s=before.ahead_s,
            lost=before.lost,
            generation=before.generation,
            gaps=before.gaps,
            earlier=before.earlier,
            fetched_at=before.fetched_at,
        )
        self._store = store
        self._puts: dict[bytes, bytes] = {}
        self._deletes: set[bytes] = set()

    def get(self, key: bytes) -> bytes | None:
        """The value of a key, as it will be once all is written."""
        if key in self._puts:
            return self._puts[key]
        return None if key in self._deletes else self._store.database.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        self._puts[key] = value
        self._flush_if_full()

    def delete(self, key: bytes) -> None:
        self._deletes.add(key)
        self._flush_if_full()

    def quarantine(self, damaged: Damaged) -> None:
        """Move a record that can't be decoded to a key of its own."""
        self.repaired.set_aside += 1
        self._puts[QUARANTINE_SPACE + damaged.key] = self._store.database.get(damaged.key) or b""
        self._deletes.add(damaged.key)
        self._flush_if_full()

    def flush(self, counters: Counters | None = None) -> None:
        """Write what was collected; and the counters, if given."""
        self._store.writer.write_records(self._puts, self._deletes, counters or self._store.counters)
        self._puts, self._deletes = {}, set()

    def _flush_if_full(self) -> None:
        if len(self._puts) + len(self._deletes) >= WRITTEN_TOGETHER:
            self.flush()
