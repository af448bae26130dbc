"""The reference store: dictionaries. A crawl that is kept in it ends with the process."""

import logging
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import attrgetter

import msgspec

from frontier.queues.lifecycle import QueueState, Standing
from frontier.store import Counters, JournalEntry, Postponed, QueueRecord, Waiting
from frontier.values import LedgerEntry, UrlState

log = logging.getLogger(__name__)

_order = attrgetter("order")
_due = attrgetter("due_ms", "waiting.number")


class MemoryStore:
    """A `Store` in memory."""

    def __init__(self) -> None:
        self.counters = Counters()
        self.in_use = False
        self.crashed_at: float | None = None
        self.held: str | None = None
        self._pending: dict[str, list[Waiting]] = {}
        self._postponed: list[Postponed] = []
        self._ledger: dict[str, LedgerEntry] = {}
        self._hits: Counter[str] = Counter()
        self._queues: dict[str, QueueRecord] = {}
        self._group_rests: dict[str, float] = {}
        self._lines: dict[QueueState, list[tuple[int, int, str]]] = {
            QueueState.INACTIVE: [],
            QueueState.SNOOZED: [],
        }

    def admit(
        self,
        admitted: Sequence[Waiting],
        superseded: Sequence[Waiting],
        queues: Sequence[QueueRecord],
        counters: Counters,
        /,
    ) -> None:
        for waiting in superseded:
            self._remove(waiting)
        for waiting in admitted:
            url = waiting.url
            insort(self._pending.setdefault(url.queue_key, []), waiting, key=_order)
            self._ledger[url.canonical] = LedgerEntry(
                canonical=url.canonical,
                state=UrlState.PENDING,
                number=waiting.number,
                found_at=waiting.found_at,
                via=url.via,
                hit_count=url.hits,
            )
        self._write(queues, counters)

    def settle(self, waiting: Waiting, entry: LedgerEntry, queue: QueueRecord, counters: Counters, /) -> None:
        self._remove(waiting)
        self._ledger[entry.canonical] = entry
        self._write([queue], counters)

    def postpone(self, waiting: Waiting, postponed: Postponed, queue: QueueRecord, counters: Counters, /) -> None:
        self._remove(waiting)
        insort(self._postponed, postponed, key=_due)
        self._note(waiting.url.canonical, postponed.reason)
        self._write([queue], counters)

    def keep(self, waiting: Waiting, queue: QueueRecord, counters: Counters, /) -> None:
        pending = self._pending[waiting.url.queue_key]
        pending[bisect_right(pending, waiting.order, key=_order) - 1] = waiting
        self._write([queue], counters)

    def requeue(self, postponed: Sequence[Postponed], queues: Sequence[QueueRecord], counters: Counters, /) -> None:
        numbers = {item.waiting.number for item in postponed}
        self._postponed = [item for item in self._postponed if item.waiting.number not in numbers]
        for item in postponed:
            insort(self._pending.setdefault(item.waiting.url.queue_key, []), item.waiting, key=_order)
            self._note(item.waiting.url.canonical, None)
        self._write(queues, counters)

    def forget(self, canonicals: Sequence[str], counters: Counters, /) -> None:
        for canonical in canonicals:
            del self._ledger[canonical]
            del self._hits[canonical]
        self._write([], counters)

    def record(self, entries: Sequence[LedgerEntry], counters: Counters, /) -> None:
        for entry in entries:
            self._ledger[entry.canonical] = entry
        self._write([], counters)

    def rest(self, queues: Sequence[QueueRecord], counters: Counters, /) -> None:
        self._write(queues, counters)

    def add_hits(self, hits: Sequence[tuple[str, int]], /) -> None:
        for canonical, more in hits:
            self._hits[canonical] += more

    def waiting(self, key: str, /, *, after: int, limit: int) -> list[Waiting]:
        pending = self._pending.get(key, [])
        start = bisect_right(pending, after, key=_order)
        return pending[start : start + limit]

    def waiting_of_each(self, places: Sequence[tuple[str, int]], /, *, limit: int) -> list[list[Waiting]]:
        return [self.waiting(key, after=after, limit=limit) for key, after in places]

    def due(self, now_ms: int, /, *, limit: int) -> list[Postponed]:
        return [item for item in self._postponed[:limit] if item.due_ms <= now_ms]

    def next_due_ms(self) -> int | None:
        return self._postponed[0].due_ms if self._postponed else None

    def entry(self, canonical: str, /) -> LedgerEntry | None:
        return self._ledger.get(canonical)

    def hits(self, canonical: str, /) -> int:
        return self._hits[canonical]

    def knows_many(self, canonicals: Sequence[str], /) -> list[bool]:
        return [canonical in self._ledger for canonical in canonicals]

    def queue(self, key: str, /) -> QueueRecord | None:
        return self._queues.get(key)

    def queues(self) -> Iterator[QueueRecord]:
        yield from sorted(self._queues.values(), key=attrgetter("key"))

    def rested_until(self, group: str, /) -> float:
        return self._group_rests.get(group, 0.0)

    def standing(self, state: QueueState, /, *, after: Standing, limit: int) -> list[tuple[Standing, str]]:
        line = self._lines[state]
        start = bisect_left(line, (after.at, after.turn + 1, ""))
        return [(Standing(state, at, turn), key) for at, turn, key in line[start : start + limit]]

    def ledger(self) -> Iterator[str]:
        yield from self._ledger

    def journal(self, after: int, /) -> Iterator[JournalEntry]:
        """Nothing: what it would restore ends with the process."""
        yield from ()

    @property
    def snapshot_at(self) -> int | None:
        return None

    def snapshot_saved(self, journal_end: int, /) -> None:
        raise ValueError("a store in memory has no snapshots")

    def trim_journal(self, limit: int, /) -> bool:
        return False

    def set_in_use(self, in_use: bool, /, *, crashed_at: float | None = None) -> None:
        self.in_use = in_use
        self.crashed_at = self.crashed_at if crashed_at is None else crashed_at

    def set_held(self, reason: str | None, /) -> None:
        self.held = reason

    def mend(self) -> None:
        return

    async def synced(self) -> None:
        return

    def close(self) -> None:
        return

    def _remove(self, waiting: Waiting) -> None:
        pending = self._pending[waiting.url.queue_key]
        del pending[bisect_right(pending, waiting.order, key=_order) - 1]
        if not pending:
            del self._pending[waiting.url.queue_key]

    def _note(self, canonical: str, reason: str | None) -> None:
        self._ledger[canonical] = msgspec.structs.replace(self._ledger[canonical], reason=reason)

    def _write(self, queues: Sequence[QueueRecord], counters: Counters) -> None:
        for queue in queues:
            if queue.left is not None:
                line = self._lines[queue.left.state]
                del line[bisect_left(line, (queue.left.at, queue.left.turn, ""))]
            if queue.moved and queue.stands is not None:
                insort(self._lines[queue.stands.state], (queue.stands.at, queue.stands.turn, queue.key))
            self._group_rests.update(queue.group_rests)
            self._queues[queue.key] = msgspec.structs.replace(queue, moved=False, left=None, group_rests=())
        self.counters = counters


class MemoryNotes:
    """`Notes` that end with the process."""

    def __init__(self) -> None:
        self._notes: dict[str, bytes] = {}

    def get(self, key: str, /) -> bytes | None:
        return self._notes.get(key)

    def put(self, key: str, value: bytes, /) -> None:
        self._notes[key] = value

    def set_aside(self, key: str, why: Exception, /) -> None:
        log.error("the note %r can't be read and is set aside: %s", key, why)
        self._notes.pop(key, None)
