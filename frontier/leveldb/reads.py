"""Reads what a running crawl asks of a LevelDB store. Records that can't be decoded are quarantined."""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from itertools import islice

import msgspec

from frontier.leveldb.database import Database
from frontier.leveldb.format import encoding
from frontier.leveldb.format.encoding import DecodeError
from frontier.leveldb.format.keys import (
    INACTIVE_SPACE,
    LEDGER_SPACE,
    LINKS_SPACE,
    POSTPONED_SPACE,
    QUEUES_SPACE,
    SECONDS,
    SPILLED_SPACE,
    U64,
    U64_PAIR,
    VISITS_SPACE,
    end_of,
    group_key,
    ledger_key,
    links_key,
    location_key,
    order_in,
    pending_key,
    pending_space,
    position_key,
    position_of,
    queue_key,
    revisit_of,
    untext,
)
from frontier.leveldb.format.queue_records import decode_queue, encode_queue
from frontier.leveldb.full_scan import FullScan, known_url
from frontier.leveldb.writer import Writer
from frontier.link_table.table import url_digest
from frontier.queues.lifecycle import INACTIVE, SNOOZED
from frontier.queues.queue import Position, QueueRecord
from frontier.records import PendingUrl, PostponedUrl
from frontier.values import LedgerEntry, UrlState

QUEUES_AT_ONCE = 500
DAMAGED = "its record in the ledger was damaged"


class SpaceStart:
    """A place in a space of keys before which there is no key. A look at the first keys begins here, so it never walks
    over deleted ones."""

    def __init__(self, start: bytes) -> None:
        self.start = start

    def note_written(self, key: bytes) -> None:
        self.start = min(self.start, key)

    def note_first(self, key: bytes) -> None:
        """All keys were read from `start`: this is the first one, or the place up to which there is none."""
        self.start = max(self.start, key)


class LevelDBReads:
    """The `StoreReads` of a database."""

    def __init__(self, database: Database, writer: Writer) -> None:
        self._database = database
        self._writer = writer
        self.has_links = next(database.keys(LINKS_SPACE, end_of(LINKS_SPACE)), None) is not None
        """Whether link counts were ever written."""
        self.postponed, self.visits = SpaceStart(POSTPONED_SPACE), SpaceStart(VISITS_SPACE)

    def pending_urls(self, key: str, /, *, after: int, limit: int) -> list[PendingUrl]:
        start, stop = _range_after(key, after)
        found: list[PendingUrl] = []
        while True:
            missing = limit - len(found)
            items = self._database.first(start, stop, missing)
            for stored_key, value in items:
                try:
                    found.append(_decode_pending(key, stored_key, value))
                except DecodeError as error:
                    self._writer.quarantine(stored_key, value, error)
            if len(items) < missing or len(found) == limit:
                return found
            start = items[-1][0] + b"\0"

    def pending_urls_of_each(self, ranges: Sequence[tuple[str, int]], /, *, limit: int) -> list[list[PendingUrl]]:
        stored_ranges = [_range_after(key, after) for key, after in ranges]
        found = []
        for (key, after), items in zip(ranges, self._database.first_of_each(stored_ranges, limit), strict=True):
            try:
                found.append([_decode_pending(key, stored_key, value) for stored_key, value in items])
            except DecodeError:
                found.append(self.pending_urls(key, after=after, limit=limit))  # quarantines it
        return found

    def pending_at(self, places: Sequence[tuple[str, int]], /) -> list[PendingUrl | None]:
        keys = [pending_key(key, order) for key, order in places]
        values = self._database.get_many(keys)
        found: list[PendingUrl | None] = []
        for (key, order), value in zip(places, values, strict=True):
            try:
                found.append(None if value is None else encoding.decode_pending(value, queue_key=key, order=order))
            except DecodeError:
                found.append(None)  # whoever reads the queue's range quarantines it
        return found

    def due(self, now_ms: int, /, *, limit: int) -> list[PostponedUrl]:
        found: list[PostponedUrl] = []
        stop = POSTPONED_SPACE + U64.pack(now_ms + 1)
        first = stop
        for stored_key, value in self._database.items(self.postponed.start, stop):
            first = min(first, stored_key)
            due_ms, _ = U64_PAIR.unpack(stored_key[1:])
            try:
                found.append(encoding.decode_postponed(value, due_ms=due_ms))
            except DecodeError as error:
                counters = copy(self._writer.counters)
                counters.retrying -= 1
                self._writer.quarantine(stored_key, value, error, counters=counters)
            if len(found) == limit:
                break
        self.postponed.note_first(first)
        return found

    def next_due_ms(self) -> int | None:
        key = self._first_key(self.postponed, end_of(POSTPONED_SPACE))
        return None if key is None else U64_PAIR.unpack(key[1:])[0]

    def revisits_due(self, now_ms: int, /, *, limit: int) -> list[tuple[int, str]]:
        stop = VISITS_SPACE + U64.pack(now_ms + 1)
        return [revisit_of(key) for key, _ in self._database.first(self.visits.start, stop, limit)]

    def next_revisit_ms(self) -> int | None:
        key = self._first_key(self.visits, end_of(VISITS_SPACE))
        return None if key is None else revisit_of(key)[0]

    def _first_key(self, space: SpaceStart, stop: bytes) -> bytes | None:
        """The first key of a space that ends before `stop`."""
        key = next(self._database.keys(space.start, stop), None)
        space.note_first(stop if key is None else key)
        return key

    def entry(self, canonical: str, /) -> LedgerEntry | None:
        value = self._database.get(ledger_key(canonical))
        if value is None:
            return None
        try:
            entry, location = encoding.decode_entry(value, canonical=canonical)
        except DecodeError as error:
            return self._replace_entry(canonical, value, error)
        if location is None:
            return entry
        # A damaged record of a URL that waits is quarantined when it is read as a pending URL.
        return known_url(entry, location, self._database.get(location_key(location))).entry

    def waiting(self, canonicals: Iterable[str], /) -> list[PendingUrl | PostponedUrl]:
        scan = FullScan(self._database)
        found = filter(None, map(scan.entry, canonicals))
        records = (scan.record_at(location) for _, location in found if location is not None)
        return [record for record in records if record is not None]

    def _replace_entry(self, canonical: str, value: bytes, error: Exception) -> LedgerEntry:
        """Quarantine a damaged ledger entry, but keep its key: the visited set is rebuilt from the ledger's keys."""
        entry = LedgerEntry(canonical=canonical, state=UrlState.FAILED, number=0, found_at=0, reason=DAMAGED)
        counters = copy(self._writer.counters)
        counters.failed += 1
        replacement = encoding.encode_entry(entry)
        self._writer.quarantine(ledger_key(canonical), value, error, counters=counters, replacement=replacement)
        return entry

    def link_count(self, canonical: str, /) -> int:
        return self.counts([links_key(url_digest(canonical))])[0] if self.has_links else 0

    def counts(self, keys: Sequence[bytes], /) -> list[int]:
        """The numbers stored under these keys; 0 for those that are missing."""
        values = self._database.get_many(keys)
        return [0 if value is None else self._decode_count(key, value) for key, value in zip(keys, values, strict=True)]

    def _decode_count(self, key: bytes, value: bytes) -> int:
        try:
            return encoding.decode_count(value)
        except DecodeError as error:
            self._writer.quarantine(key, value, error)
            return 0

    def knows_many(self, canonicals: Sequence[str], /) -> list[bool]:
        return [value is not None for value in self._database.get_many(map(ledger_key, canonicals))]

    def queue(self, key: str, /) -> QueueRecord | None:
        stored_key = queue_key(key)
        value = self._database.get(stored_key)
        return None if value is None else self._decode_queue(stored_key, value)

    def queues_of(self, keys: Iterable[str], /) -> dict[str, QueueRecord]:
        asked = list(keys)
        stored_keys = list(map(queue_key, asked))
        values = self._database.get_many(stored_keys)
        return {
            key: self._decode_queue(stored_key, value)
            for key, stored_key, value in zip(asked, stored_keys, values, strict=True)
            if value is not None
        }

    def queues(self, after: str = "", /) -> Iterator[QueueRecord]:
        start = queue_key(after) + b"\0" if after else QUEUES_SPACE
        # In pieces, as callers let others run meanwhile: these may open the database again, or replace a record.
        while piece := [
            (key, self._decode_queue(key, value))
            for key, value in islice(self._database.items(start, end_of(QUEUES_SPACE)), QUEUES_AT_ONCE)
        ]:
            yield from (record for _, record in piece)
            start = piece[-1][0] + b"\0"

    def _decode_queue(self, stored_key: bytes, value: bytes) -> QueueRecord:
        key = untext(stored_key[1:])
        try:
            return decode_queue(value, key=key)
        except DecodeError as error:
            record = self._derive_queue(key)
            self._writer.quarantine(stored_key, value, error, replacement=encode_queue(record))
            return record

    def _derive_queue(self, key: str) -> QueueRecord:
        """What the other records say about a queue whose own record is damaged."""
        space = pending_space(key)
        size = sum(1 for _ in self._database.keys(space, space[:-1] + b"\1"))
        position = None
        if size:  # found by reading all positions
            positions = FullScan(self._database).positions()
            position = next((position for position, name in positions if name == key), None)
        is_inactive = position is not None and position.state is not SNOOZED
        return QueueRecord(
            key=key,
            size=size,
            position=position,
            precedence=position.rank if position is not None and is_inactive else 128,
            retired=bool(size) and position is None,
        )

    def group_wake_at(self, group: str, /) -> float:
        value = self._database.get(group_key(group))
        return 0.0 if value is None or len(value) != SECONDS.size else float(SECONDS.unpack(value)[0])

    def queues_after(self, position: Position, /, *, limit: int) -> list[tuple[Position, str]]:
        start = position_key(msgspec.structs.replace(position, turn=position.turn + 1))
        space = INACTIVE_SPACE if position.state is INACTIVE else SPILLED_SPACE
        items = self._database.first(start, end_of(space), limit)
        return [(position_of(key), untext(value)) for key, value in items]

    def ledger(self) -> Iterator[str]:
        for key in self._database.keys(LEDGER_SPACE, end_of(LEDGER_SPACE)):
            yield untext(key[1:])


def _range_after(key: str, after: int) -> tuple[bytes, bytes]:
    """The keys of a queue's pending URLs above an order."""
    space = pending_space(key)
    return space + U64.pack(after + 1), space[:-1] + b"\1"


def _decode_pending(key: str, stored_key: bytes, value: bytes) -> PendingUrl:
    return encoding.decode_pending(value, queue_key=key, order=order_in(stored_key))
