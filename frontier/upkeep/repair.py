"""Mends what `fsck` finds, as far as what is left tells how.

The ledger and the pending URLs are believed; sizes, lines and counters are derived from them anew. A URL whose pending
record is damaged or lost is put back into its queue by what the ledger has of it: its canonical URL, and its place.
What can't be decoded is set aside. If the journal has a gap, the visited set is left to be rebuilt from the ledger.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Literal, Protocol

import msgspec

from frontier.leveldb.encoding import (
    Place,
    encode_entry,
    encode_place,
    encode_postponed,
    encode_waiting,
)
from frontier.leveldb.full_scan import FullScan, place_in, waiting_in
from frontier.leveldb.keys import (
    ledger_key,
    pending_key,
    place_key,
    postponed_key,
    queue_key,
    standing_key,
    text,
)
from frontier.leveldb.queue_records import encode_queue
from frontier.queues.lifecycle import QueueState, Standing
from frontier.store import COUNTS, ORDINAL_BITS, Counters, Damaged, Postponed, QueueRecord, Waiting, precedence_of
from frontier.transitions.accounting import count
from frontier.values import CrawlUrl, LedgerEntry, UrlState

AT_ONCE = 1000
_ORDINAL = (1 << ORDINAL_BITS) - 1


class Repairable(Protocol):
    """What a store offers to be mended."""

    counters: Counters

    @property
    def contents(self) -> FullScan: ...

    def queues(self) -> Iterator[QueueRecord]: ...

    @property
    def snapshot_at(self) -> int | None: ...

    def forget_snapshot(self) -> None:
        """Drop the journal, and the note of a snapshot."""
        ...

    def missing_batches(self) -> int: ...

    def forget_batches(self) -> None: ...

    def write_raw(self, puts: dict[bytes, bytes], deletes: set[bytes], counters: Counters, /) -> None: ...


Salvaged = Literal["log", "tables", "nothing"]


class Mended(msgspec.Struct, kw_only=True):
    """What was done. Counts of records."""

    salvaged: Salvaged | None = None
    """LevelDB itself was brought back, without what is damaged of its log, or from its tables, or it is begun anew."""

    set_aside: int = 0
    put_back: int = 0
    """URLs that the ledger had waiting, and that stood nowhere."""
    entries: int = 0
    """Ledger entries written anew from what waits."""
    queues: int = 0
    lines: int = 0
    """Places of queues that were removed or given anew."""
    duplicates: int = 0
    """Further places of URLs that waited in more than one."""
    counters: int = 0
    missing_batches: int = 0
    lost: int = 0
    """URLs that had been admitted, and of which nothing is left."""
    visited_is_rebuilt: bool = False


class _Writer:
    """Writes in batches."""

    def __init__(self, store: Repairable) -> None:
        self._store = store
        self._puts: dict[bytes, bytes] = {}
        self._deletes: set[bytes] = set()

    def get(self, key: bytes) -> bytes | None:
        """What stands under a key once all is written."""
        if key in self._puts:
            return self._puts[key]
        return None if key in self._deletes else self._store.contents.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        self._puts[key] = value
        self._ended()

    def delete(self, key: bytes) -> None:
        self._deletes.add(key)
        self._ended()

    def set_aside(self, damaged: Damaged) -> None:
        self._puts[b"X" + damaged.key] = self._store.contents.get(damaged.key) or b""
        self._deletes.add(damaged.key)
        self._ended()

    def flush(self, counters: Counters | None = None) -> None:
        self._store.write_raw(self._puts, self._deletes, counters or self._store.counters)
        self._puts, self._deletes = {}, set()

    def _ended(self) -> None:
        if len(self._puts) + len(self._deletes) >= AT_ONCE:
            self.flush()


def repair(store: Repairable, *, salvaged: Salvaged | None = None) -> Mended:
    """Mend a store that nobody else writes to. Reads all of it; memory grows with the queues, not with the URLs."""
    mended, writer = Mended(salvaged=salvaged), _Writer(store)
    counters = Counters(
        quarantined=store.counters.quarantined,
        journal_end=store.counters.journal_end,
        clock=store.counters.clock,
        lost=store.counters.lost,
    )
    _mend_entries(store, writer, mended, counters)
    writer.flush()
    waiting = _mend_waiting(store, writer, mended, counters)
    writer.flush()
    _mend_queues(store, writer, mended, counters, waiting)
    mended.lost = _lost(store.counters, counters)
    mended.missing_batches = store.missing_batches()
    has_gap = _journal_has_a_gap(store, counters)
    if has_gap or mended.lost or mended.missing_batches or salvaged:
        # The visited set may know URLs that the ledger has lost, and would not let them in again.
        mended.visited_is_rebuilt = True
        store.forget_snapshot()
    counters.quarantined = max(
        store.counters.quarantined + mended.set_aside, sum(1 for _ in store.contents.set_aside())
    )
    mended.counters = sum(
        before != after
        for before, after in zip(
            *(tuple(getattr(each, name) for name in COUNTS) for each in (store.counters, counters)), strict=True
        )
    )
    for name in ("next_number", "next_ordinal", "next_turn"):
        setattr(counters, name, max(getattr(counters, name), getattr(store.counters, name)))
    counters.lost += mended.lost
    counters.batches = store.counters.batches
    writer.flush(counters)
    if mended.missing_batches:
        store.forget_batches()
    return mended


def _lost(before: Counters, found: Counters) -> int:
    """How many URLs nothing is left of. Where the counters were damaged too, no more are lost than numbers have been
    given that no URL has: URLs that were forgotten or fetched once more have left such numbers behind as well."""
    are_newest = before.next_number >= found.next_number
    return max(0, (before.admitted if are_newest else found.next_number - 1) - found.admitted)


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


class _Queues:
    """What waits in the queues, by their keys."""

    def __init__(self) -> None:
        self.sizes: Counter[str] = Counter()
        self.first: dict[str, int] = {}
        """The lowest order of any of its URLs."""

    def hold(self, waiting: Waiting) -> None:
        key = waiting.url.queue_key
        self.sizes[key] += 1
        self.first[key] = min(waiting.order, self.first.get(key, waiting.order))


def _mend_waiting(store: Repairable, writer: _Writer, mended: Mended, counters: Counters) -> _Queues:
    queues = _Queues()
    for waiting in store.contents.all_waiting():
        if isinstance(waiting, Damaged):
            mended.set_aside += 1
            writer.set_aside(waiting)
        elif _mend_place(writer, mended, counters, waiting, None):
            queues.hold(waiting)
    for postponed in store.contents.all_postponed():
        if isinstance(postponed, Damaged):
            mended.set_aside += 1
            writer.set_aside(postponed)
        else:
            counters.retrying += _mend_place(writer, mended, counters, postponed.waiting, postponed.due_ms)
    return queues


def _mend_place(writer: _Writer, mended: Mended, counters: Counters, waiting: Waiting, due_ms: int | None) -> bool:
    """Whether the URL stays where it was found: not if it also waits where the ledger has it."""
    url = waiting.url
    counters.next_number = max(counters.next_number, waiting.number + 1)
    counters.next_ordinal = max(counters.next_ordinal, (waiting.order & _ORDINAL) + 1)
    here = Place(waiting.number, url.queue_key, waiting.order, due_ms)
    key = ledger_key(url.canonical)
    place = place_in(writer.get(key), url.canonical)
    if place == here:
        return True
    if place is not None and place_key(place) != place_key(here):
        other = waiting_in(writer.get(place_key(place)), place)
        if other is not None and other.url.canonical == url.canonical:
            mended.duplicates += 1
            writer.delete(place_key(here))
            return False
    mended.entries += 1
    writer.put(key, encode_place(waiting, due_ms=due_ms))
    return True


def _mend_queues(store: Repairable, writer: _Writer, mended: Mended, counters: Counters, waiting: _Queues) -> None:
    sizes = waiting.sizes
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
        right = msgspec.structs.replace(
            record,
            size=sizes[key],
            stands=place,
            head=min(record.head, waiting.first.get(key, record.head + 1) - 1),
            precedence=record.precedence if place is None or place.state is QueueState.SNOOZED else place.at,
        )
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
