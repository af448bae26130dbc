"""Mends what `fsck` finds, as far as what is left tells how.

The ledger and the pending URLs are believed; sizes, lines and counters are derived from them anew. A URL whose pending
record is damaged or lost is put back into its queue by what the ledger has of it: its canonical URL, and its place.
What can't be decoded is set aside. If the journal has a gap, the visited set is left to be rebuilt from the ledger.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Protocol

import msgspec

from frontier.books import count
from frontier.contents import Contents
from frontier.encoding import (
    DecodeError,
    Place,
    encode_entry,
    encode_place,
    encode_postponed,
    encode_waiting,
)
from frontier.keys import ledger_key, pending_key, postponed_key, queue_key, standing_key, text
from frontier.lifecycle import QueueState, Standing
from frontier.queuerecords import encode_queue
from frontier.store import ORDINAL_BITS, Counters, Damaged, Postponed, QueueRecord, Waiting, precedence_of
from frontier.values import CrawlUrl, LedgerEntry, UrlState

AT_ONCE = 1000
_ORDINAL = (1 << ORDINAL_BITS) - 1


class Repairable(Protocol):
    """What a store offers to be mended."""

    counters: Counters

    @property
    def contents(self) -> Contents: ...

    def queues(self) -> Iterator[QueueRecord]: ...

    @property
    def snapshot_at(self) -> int | None: ...

    def forget_snapshot(self) -> None:
        """Drop the journal, and the note of a snapshot."""
        ...

    def write_raw(self, puts: dict[bytes, bytes], deletes: set[bytes], counters: Counters, /) -> None: ...


class Mended(msgspec.Struct, kw_only=True):
    """What was done. Counts of records."""

    set_aside: int = 0
    put_back: int = 0
    """URLs that the ledger had waiting, and that stood nowhere."""
    entries: int = 0
    """Ledger entries written anew from what waits."""
    queues: int = 0
    lines: int = 0
    """Places of queues that were removed or given anew."""
    counters: int = 0
    visited_is_rebuilt: bool = False


class _Writer:
    """Writes in batches."""

    def __init__(self, store: Repairable) -> None:
        self._store = store
        self._puts: dict[bytes, bytes] = {}
        self._deletes: set[bytes] = set()

    def put(self, key: bytes, value: bytes) -> None:
        self._puts[key] = value
        self._ended()

    def delete(self, key: bytes) -> None:
        self._deletes.add(key)
        self._ended()

    def set_aside(self, damaged: Damaged) -> None:
        self._puts[b"X" + damaged.key] = self._store.contents.raw(damaged.key)
        self._deletes.add(damaged.key)
        self._ended()

    def flush(self, counters: Counters | None = None) -> None:
        self._store.write_raw(self._puts, self._deletes, counters or self._store.counters)
        self._puts, self._deletes = {}, set()

    def _ended(self) -> None:
        if len(self._puts) + len(self._deletes) >= AT_ONCE:
            self.flush()


def repair(store: Repairable) -> Mended:
    """Mend a store that nobody else writes to. Reads all of it; memory grows with the queues, not with the URLs."""
    mended, writer = Mended(), _Writer(store)
    counters = Counters(
        quarantined=store.counters.quarantined, journal_end=store.counters.journal_end, clock=store.counters.clock
    )
    _mend_entries(store, writer, mended, counters)
    writer.flush()
    sizes = _mend_waiting(store, writer, mended, counters)
    writer.flush()
    _mend_queues(store, writer, mended, counters, sizes)
    if _journal_has_a_gap(store, counters):
        mended.visited_is_rebuilt = True
        store.forget_snapshot()
    counters.quarantined = store.counters.quarantined + mended.set_aside
    mended.counters = sum(
        before != after
        for before, after in zip(
            msgspec.structs.astuple(store.counters)[3:-3], msgspec.structs.astuple(counters)[3:-3], strict=True
        )
    )
    for name in ("next_number", "next_ordinal", "next_turn"):
        setattr(counters, name, max(getattr(counters, name), getattr(store.counters, name)))
    writer.flush(counters)
    return mended


def _mend_entries(store: Repairable, writer: _Writer, mended: Mended, counters: Counters) -> None:
    for found in store.contents.all_entries():
        if isinstance(found, Damaged):
            mended.set_aside += 1
            writer.set_aside(found)
            # The key stays: the ledger lists every URL. If it waits, its entry is written anew from there.
            canonical = found.key[1:].decode("utf-8", "surrogatepass")
            entry = LedgerEntry(
                canonical=canonical, state=UrlState.FAILED, number=0, found_at=0, reason="its record was damaged"
            )
            writer.put(found.key, encode_entry(entry))
            continue
        entry, place = found
        counters.next_number = max(counters.next_number, entry.number + 1)
        if place is not None and store.contents.waiting_at(place) is None:
            mended.put_back += 1
            _put_back(writer, entry, place)


def _put_back(writer: _Writer, entry: LedgerEntry, place: Place) -> None:
    url = CrawlUrl(
        url=entry.canonical.partition("#")[0],
        canonical=entry.canonical,
        queue_key=place.queue_key,
        depth=1,
        precedence=precedence_of(place.order),
    )
    waiting = Waiting(url=url, number=entry.number, order=place.order, found_at=int(entry.found_at))
    if place.due_ms is None:
        writer.put(pending_key(place.queue_key, place.order), encode_waiting(waiting))
    else:
        postponed = Postponed(waiting=waiting, due_ms=place.due_ms)
        writer.put(postponed_key(place.due_ms, place.number), encode_postponed(postponed))


def _mend_waiting(store: Repairable, writer: _Writer, mended: Mended, counters: Counters) -> Counter[str]:
    """The number of URLs that wait in each queue."""
    sizes: Counter[str] = Counter()
    for waiting in store.contents.all_waiting():
        if isinstance(waiting, Damaged):
            mended.set_aside += 1
            writer.set_aside(waiting)
        else:
            sizes[waiting.url.queue_key] += 1
            _mend_place(store, writer, mended, counters, waiting, None)
    for postponed in store.contents.all_postponed():
        if isinstance(postponed, Damaged):
            mended.set_aside += 1
            writer.set_aside(postponed)
        else:
            counters.retrying += 1
            _mend_place(store, writer, mended, counters, postponed.waiting, postponed.due_ms)
    return sizes


def _mend_place(
    store: Repairable, writer: _Writer, mended: Mended, counters: Counters, waiting: Waiting, due_ms: int | None
) -> None:
    url = waiting.url
    counters.next_number = max(counters.next_number, waiting.number + 1)
    counters.next_ordinal = max(counters.next_ordinal, (waiting.order & _ORDINAL) + 1)
    try:
        place = store.contents.place(url.canonical)
    except DecodeError:
        place = None
    if place != Place(waiting.number, url.queue_key, waiting.order, due_ms):
        mended.entries += 1
        writer.put(ledger_key(url.canonical), encode_place(waiting, due_ms=due_ms))


def _mend_queues(store: Repairable, writer: _Writer, mended: Mended, counters: Counters, sizes: Counter[str]) -> None:
    for entry in store.contents.all_entries():
        if not isinstance(entry, Damaged):
            counters.admitted += 1
            counters.done += entry[0].state is UrlState.DONE
            counters.failed += entry[0].state is UrlState.FAILED
            counters.excluded += entry[0].state is UrlState.EXCLUDED
    stand: dict[str, Standing] = {}
    for stands, key in store.contents.all_standing():
        counters.next_turn = max(counters.next_turn, stands.turn + 1)
        if key in stand or key not in sizes:
            mended.lines += 1
            writer.delete(standing_key(stands))
        else:
            stand[key] = stands
    records = {record.key: record for record in store.queues() if record.size or record.key in sizes}
    for key in records.keys() | sizes.keys():
        record = records.get(key) or QueueRecord(key=key, size=0, wake_at=0.0)
        retired = record.size > 0 and record.stands is None and key not in stand
        place = stand.get(key)
        if sizes[key] and place is None and not retired:
            mended.lines += 1
            place = Standing(QueueState.INACTIVE, record.precedence, counters.next_turn)
            counters.next_turn += 1
            writer.put(standing_key(place), text(key))
        right = msgspec.structs.replace(record, size=sizes[key], stands=place)
        if right != record or key not in records:
            mended.queues += 1
            writer.put(queue_key(key), encode_queue(right))
        count(counters, right.size, right.health, served=right.stands is not None)


def _journal_has_a_gap(store: Repairable, counters: Counters) -> bool:
    first = expected = (store.snapshot_at or 0) + 1
    has_gap = False
    for found in store.contents.journal_numbers():
        if isinstance(found, Damaged):
            has_gap = True
        elif found[0] >= first:
            # Those before are of a crash between a snapshot and the end of their dropping.
            has_gap = has_gap or found[0] != expected
            expected = found[0] + 1
    # Without snapshot and journal, the visited set is rebuilt anyway.
    is_left = store.snapshot_at is not None or expected > first or has_gap
    has_gap = has_gap or (is_left and expected <= counters.journal_end)
    counters.journal_end = max(counters.journal_end, expected - 1)
    return has_gap
