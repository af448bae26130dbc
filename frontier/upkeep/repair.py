"""Repairs what `fsck` finds, as far as the remaining records allow.

The ledger and the pending URLs are trusted. Sizes, positions and counters are computed from them. If the pending record
of a URL is damaged or lost, the URL returns to its queue, with what the ledger knows: canonical URL and location.
Records that can't be decoded are quarantined. If the journal has a gap, the visited set is rebuilt from the ledger.
"""

import msgspec

from frontier.leveldb.format.encoding import (
    Location,
    encode_entry,
    encode_location,
    encode_pending,
    encode_postponed,
)
from frontier.leveldb.format.keys import (
    TRIMMED_SPACE,
    ledger_key,
    location_key,
    parcel_key,
    pending_key,
    position_key,
    postponed_key,
    queue_key,
    receiver_of,
    text,
    untext,
)
from frontier.leveldb.format.queue_records import encode_queue
from frontier.leveldb.full_scan import decode_location, decode_url_at
from frontier.leveldb.outbox import encode_trimmed
from frontier.leveldb.reads import DAMAGED
from frontier.leveldb.store import LevelDBStore
from frontier.parts.parcels import EMPTY_PARCEL, decode_parcel
from frontier.parts.protocol import lineage_of
from frontier.queues.lifecycle import QueueState
from frontier.queues.queue import Position, QueueRecord
from frontier.records import (
    COUNTS,
    ORDINAL_MASK,
    Counters,
    PendingUrl,
    PostponedUrl,
    Trimmed,
    first_number,
    precedence_of,
)
from frontier.transitions.accounting import count_queue, count_state
from frontier.upkeep.fsck import QueuedUrls
from frontier.upkeep.repair_batch import RepairBatch, Repaired, Salvaged
from frontier.values import CrawlUrl, Damaged, LedgerEntry, UrlState


def repair(store: LevelDBStore, *, salvaged: Salvaged | None = None) -> Repaired:
    """Repair a store that nobody else writes to. Reads all of it; memory grows with the queues, not with the URLs."""
    batch = RepairBatch(store, Repaired(salvaged=salvaged))
    _repair_entries(store, batch)
    batch.flush()
    queues = _repair_locations(store, batch)
    batch.flush()
    _count_entries(store, batch.counters)
    _repair_queues(store, batch, _repair_positions(store, batch, queues), queues)
    _repair_outbox(store, batch)
    _repair_journal(store, batch)
    _repair_counters(store, batch)
    if batch.repaired.missing_batches:
        store.writer.restart_numbers()
    store.marks.set_revisits_planned(False)  # the next run plans them anew
    return batch.repaired


def _repair_entries(store: LevelDBStore, batch: RepairBatch) -> None:
    """Replace damaged ledger entries, and put URLs back that wait nowhere."""
    for found in store.full_scan.entries():
        if isinstance(found, Damaged):
            batch.quarantine(found)
            # The key stays, because the ledger lists every URL. If the URL waits, its entry is written again later.
            canonical = untext(found.key[1:])
            entry = LedgerEntry(canonical=canonical, state=UrlState.FAILED, number=0, found_at=0, reason=DAMAGED)
            batch.put(found.key, encode_entry(entry))
            continue
        entry, location = found
        batch.counters.note_number(entry.number)
        if location is not None and store.full_scan.record_at(location) is None:
            _put_back(batch, entry, location)


def _put_back(batch: RepairBatch, entry: LedgerEntry, location: Location) -> None:
    batch.repaired.put_back += 1
    url = CrawlUrl(
        url=entry.canonical.partition("#")[0],
        canonical=entry.canonical,
        queue_key=location.queue_key,
        depth=1,
        precedence=precedence_of(location.order),
    )
    pending = PendingUrl(url=url, number=entry.number, order=location.order, found_at=int(entry.found_at))
    if location.due_ms is None:
        batch.put(pending_key(location.queue_key, location.order), encode_pending(pending))
    else:
        postponed = PostponedUrl(pending=pending, due_ms=location.due_ms)
        batch.put(postponed_key(location.due_ms, location.number), encode_postponed(postponed))


def _repair_locations(store: LevelDBStore, batch: RepairBatch) -> QueuedUrls:
    """Let the ledger have the location of each URL that waits."""
    queues = QueuedUrls()
    for pending in store.full_scan.pending_urls():
        if isinstance(pending, Damaged):
            batch.quarantine(pending)
        elif _repair_location(batch, pending, None):
            queues.add(pending)
    for postponed in store.full_scan.postponed_urls():
        if isinstance(postponed, Damaged):
            batch.quarantine(postponed)
        else:
            batch.counters.retrying += _repair_location(batch, postponed.pending, postponed.due_ms)
    return queues


def _repair_location(batch: RepairBatch, pending: PendingUrl, due_ms: int | None) -> bool:
    """Returns whether the URL stays here. It does not if it also waits where the ledger has it."""
    url, counters = pending.url, batch.counters
    counters.note_number(pending.number)
    counters.next_ordinal = max(counters.next_ordinal, (pending.order & ORDINAL_MASK) + 1)
    counters.note_fetch(None if url.last_visit is None else url.last_visit.fetched_at)
    here = Location(pending.number, url.queue_key, pending.order, due_ms)
    key = ledger_key(url.canonical)
    location = decode_location(batch.get(key), url.canonical)
    if location == here:
        return True
    if location is not None and location_key(location) != location_key(here):
        other = decode_url_at(batch.get(location_key(location)), location)
        if other is not None and other.url.canonical == url.canonical:
            batch.repaired.duplicates += 1
            batch.delete(location_key(here))
            return False
    batch.repaired.entries += 1
    batch.put(key, encode_location(pending, due_ms=due_ms))
    return True


def _count_entries(store: LevelDBStore, counters: Counters) -> None:
    for found in store.full_scan.entries():
        if not isinstance(found, Damaged):
            counters.admitted += 1
            counters.note_fetch(found[0].fetched_at)
            count_state(counters, found[0].state)


def _repair_positions(store: LevelDBStore, batch: RepairBatch, queues: QueuedUrls) -> dict[str, Position]:
    """Remove positions of queues without URLs, and second positions. Returns the others."""
    positions: dict[str, Position] = {}
    for position, key in store.full_scan.positions():
        batch.counters.next_turn = max(batch.counters.next_turn, position.turn + 1)
        if key in positions or key not in queues.sizes:
            batch.repaired.positions += 1
            batch.delete(position_key(position))
        else:
            positions[key] = position
    return positions


def _repair_queues(store: LevelDBStore, batch: RepairBatch, positions: dict[str, Position], queues: QueuedUrls) -> None:
    records = {record.key: record for record in store.reads.queues() if record.size or record.key in queues.sizes}
    for key in records.keys() | queues.sizes.keys():
        record = records.get(key) or QueueRecord(key=key)
        position = positions.get(key)
        is_retired = record.size > 0 and record.position is None and position is None
        if queues.sizes[key] and position is None and not is_retired:
            batch.repaired.positions += 1
            position = Position(QueueState.INACTIVE, record.precedence, batch.counters.next_turn)
            batch.counters.next_turn += 1
            batch.put(position_key(position), text(key))
        is_inactive = position is not None and position.state is QueueState.INACTIVE
        correct = msgspec.structs.replace(
            record,
            size=queues.sizes[key],
            position=position,
            drained_to=min(record.drained_to, queues.first_orders.get(key, record.drained_to + 1) - 1),
            precedence=position.rank if position is not None and is_inactive else record.precedence,
        )
        if correct != record or key not in records:
            batch.repaired.queues += 1
            batch.put(queue_key(key), encode_queue(correct))
        count_queue(batch.counters, correct)


def _repair_outbox(store: LevelDBStore, batch: RepairBatch) -> None:
    """Put an empty parcel in the place of each that is damaged or missing. Their links are lost."""
    _repair_outbox_marks(store, batch)
    expected: dict[int, int] = {}
    for receiver, index, content in store.outbox.all_parcels():
        for missing in range(expected.get(receiver, store.outbox.trimmed(receiver).index + 1), index):
            batch.repaired.parcels += 1
            batch.put(parcel_key(receiver, missing), EMPTY_PARCEL)
        expected[receiver] = index + 1
        try:
            decode_parcel(content)
        except ValueError as error:
            key = parcel_key(receiver, index)
            batch.repaired.parcels += 1
            batch.quarantine(Damaged(key, str(error)))
            batch.put(key, EMPTY_PARCEL)


def _repair_outbox_marks(store: LevelDBStore, batch: RepairBatch) -> None:
    """Let the outbox for a receiver begin with the parcels that are left, if it is not known where it begins. The next
    opening draws a new incarnation."""
    for damaged in store.outbox.damaged():
        batch.quarantine(damaged)
        batch.flush()
        if damaged.key.startswith(TRIMMED_SPACE):
            receiver = receiver_of(damaged.key)
            if (before := store.outbox.begins_before(receiver)) is not None:
                batch.put(damaged.key, encode_trimmed(Trimmed(before)))
    batch.flush()


def _repair_journal(store: LevelDBStore, batch: RepairBatch) -> None:
    """Drop the journal and the snapshot if the visited set can't rely on them."""
    repaired = batch.repaired
    repaired.lost = _count_lost(store.counters, batch.counters)
    repaired.missing_batches = store.writer.missing_batches()
    has_gap = _journal_has_gap(store, batch.counters)
    if has_gap or repaired.lost or repaired.missing_batches or repaired.salvaged:
        # The visited set may know URLs that the ledger has lost, and would not let them in again.
        repaired.visited_is_rebuilt = True
        store.journal.drop()


def _count_lost(before: Counters, found: Counters) -> int:
    """How many URLs were destroyed without a trace. If the counters were damaged too, this is at most the number of
    numbers that no URL has: URLs that were forgotten or fetched again leave such numbers too."""
    are_newest = before.next_number >= found.next_number
    given = found.next_number - first_number(lineage_of(found.next_number))
    return max(0, (before.admitted if are_newest else given) - found.admitted)


def _journal_has_gap(store: LevelDBStore, counters: Counters) -> bool:
    snapshot_at = store.journal.snapshot_at
    first = expected = (snapshot_at or 0) + 1
    has_gap = False
    for found in store.full_scan.journal():
        if isinstance(found, Damaged):
            has_gap = True
        elif found[0] >= first:
            # Earlier entries were left by a crash between a snapshot and their deletion.
            has_gap = has_gap or found[0] != expected
            expected = found[0] + 1
    # Without snapshot and journal, the visited set is rebuilt anyway.
    is_used = snapshot_at is not None or expected > first or has_gap
    has_gap = has_gap or (is_used and expected <= counters.journal_end)
    counters.journal_end = max(counters.journal_end, expected - 1)
    return has_gap


def _repair_counters(store: LevelDBStore, batch: RepairBatch) -> None:
    before, after, repaired = store.counters, batch.counters, batch.repaired
    quarantined = sum(1 for _ in store.full_scan.quarantined_keys())
    after.quarantined = max(before.quarantined + repaired.set_aside, quarantined)
    repaired.counters = sum(getattr(before, name) != getattr(after, name) for name in COUNTS)
    for name in ("next_number", "next_ordinal", "next_turn"):
        setattr(after, name, max(getattr(after, name), getattr(before, name)))
    after.lost += repaired.lost
    if store.part is not None:
        # Parcels that came last may be lost without a trace.
        after.gaps += repaired.parcels + bool(repaired.missing_batches or repaired.salvaged)
    after.batches = before.batches
    batch.flush(after)
