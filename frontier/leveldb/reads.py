"""What is asked of a LevelDB store while it is used.

A record that can't be decoded is set aside, under a key of its own: it is counted, logged and kept, and never a reason
to stop.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from copy import copy

import msgspec

from frontier.leveldb import encoding
from frontier.leveldb.database import Batch, Database
from frontier.leveldb.encoding import DecodeError
from frontier.leveldb.keys import (
    SECONDS,
    U64,
    U64_PAIR,
    group_key,
    hits_key,
    ledger_key,
    order_in,
    pending_space,
    place_key,
    queue_key,
    standing_key,
    standing_of,
    text,
    untext,
)
from frontier.leveldb.queue_records import decode_queue, encode_queue
from frontier.queues.lifecycle import (
    INACTIVE,
    SNOOZED,
    QueueState,
    Standing,
)
from frontier.store import Counters, Postponed, QueueRecord, Waiting
from frontier.values import LedgerEntry, UrlState

log = logging.getLogger(__name__)

DAMAGED = "its record in the ledger was damaged"


class Reads:
    """Reads a store's records. `commit` writes a batch together with changed counters."""

    def __init__(
        self, database: Database, *, counters: Callable[[], Counters], commit: Callable[[Batch, Counters], None]
    ) -> None:
        self._database = database
        self._counters = counters
        self._commit = commit

    def waiting(self, key: str, /, *, after: int, limit: int) -> list[Waiting]:
        start, stop = _behind(key, after)
        found: list[Waiting] = []
        while True:
            missing = limit - len(found)
            items = self._database.first(start, stop, missing)
            for stored_key, value in items:
                try:
                    found.append(_waiting(key, stored_key, value))
                except DecodeError as error:
                    self._set_aside(stored_key, value, error, copy(self._counters()))
            if len(items) < missing or len(found) == limit:
                return found
            start = items[-1][0] + b"\0"

    def waiting_of_each(self, places: Sequence[tuple[str, int]], /, *, limit: int) -> list[list[Waiting]]:
        ranges = [_behind(key, after) for key, after in places]
        found = []
        for (key, after), items in zip(places, self._database.first_of_each(ranges, limit), strict=True):
            try:
                found.append([_waiting(key, stored_key, value) for stored_key, value in items])
            except DecodeError:
                found.append(self.waiting(key, after=after, limit=limit))  # sets it aside
        return found

    def due(self, now_ms: int, /, *, limit: int) -> list[Postponed]:
        found: list[Postponed] = []
        for stored_key, value in self._database.items(b"R", b"R" + U64.pack(now_ms + 1)):
            due_ms, _ = U64_PAIR.unpack(stored_key[1:])
            try:
                found.append(encoding.decode_postponed(value, due_ms=due_ms))
            except DecodeError as error:
                counters = copy(self._counters())
                counters.retrying -= 1
                self._set_aside(stored_key, value, error, counters)
            if len(found) == limit:
                break
        return found

    def next_due_ms(self) -> int | None:
        key = next(self._database.keys(b"R", b"S"), None)
        return None if key is None else U64_PAIR.unpack(key[1:])[0]

    def entry(self, canonical: str, /) -> LedgerEntry | None:
        key = ledger_key(canonical)
        value = self._database.get(key)
        if value is None:
            return None
        try:
            entry, place = encoding.decode_entry(value, canonical=canonical)
        except DecodeError as error:
            return self._replace_entry(canonical, value, error)
        return entry if place is None else self._with_details(entry, place)

    def _with_details(self, entry: LedgerEntry, place: encoding.Place) -> LedgerEntry:
        value = self._database.get(place_key(place))
        if value is None:
            return entry
        try:
            if place.due_ms is None:
                waiting = encoding.decode_waiting(value, queue_key=place.queue_key, order=place.order)
                return msgspec.structs.replace(entry, via=waiting.url.via, hit_count=waiting.url.hits)
            postponed = encoding.decode_postponed(value, due_ms=place.due_ms)
            url = postponed.waiting.url
            return msgspec.structs.replace(entry, via=url.via, reason=postponed.reason, hit_count=url.hits)
        except DecodeError:
            return entry  # it is set aside when its turn comes

    def _replace_entry(self, canonical: str, value: bytes, error: Exception) -> LedgerEntry:
        """The key stays: the ledger lists every URL, so that the visited set can be rebuilt from it."""
        entry = LedgerEntry(canonical=canonical, state=UrlState.FAILED, number=0, found_at=0, reason=DAMAGED)
        counters = copy(self._counters())
        counters.failed += 1
        self._set_aside(ledger_key(canonical), value, error, counters, instead=encoding.encode_entry(entry))
        return entry

    def hits(self, canonicals: Sequence[str], /) -> list[int]:
        keys = [hits_key(canonical) for canonical in canonicals]
        values = self._database.get_many(keys)
        return [0 if value is None else self._decode_hits(key, value) for key, value in zip(keys, values, strict=True)]

    def _decode_hits(self, key: bytes, value: bytes) -> int:
        try:
            return encoding.decode_hits(value)
        except DecodeError as error:
            self._set_aside(key, value, error, copy(self._counters()))
            return 0

    def knows_many(self, canonicals: Sequence[str], /) -> list[bool]:
        return self._database.has_many(map(ledger_key, canonicals))

    def queue(self, key: str, /) -> QueueRecord | None:
        stored_key = queue_key(key)
        value = self._database.get(stored_key)
        return None if value is None else self._decode_queue(stored_key, value)

    def queues(self) -> Iterator[QueueRecord]:
        for key, value in self._database.items(b"Q", b"R"):
            yield self._decode_queue(key, value)

    def _decode_queue(self, key: bytes, value: bytes) -> QueueRecord:
        try:
            return decode_queue(value, key=untext(key[1:]))
        except DecodeError as error:
            prefix = b"P" + key[1:]
            size = sum(1 for _ in self._database.keys(prefix + b"\0", prefix + b"\1"))
            stands = self._stands(untext(key[1:])) if size else None
            record = QueueRecord(
                key=untext(key[1:]),
                size=size,
                wake_at=0.0,
                stands=stands,
                precedence=128 if stands is None or stands.state is SNOOZED else stands.at,
                retired=bool(size) and stands is None,
            )
            self._set_aside(key, value, error, copy(self._counters()), instead=encode_queue(record))
            return record

    def rested_until(self, group: str) -> float:
        value = self._database.get(group_key(group))
        return 0.0 if value is None or len(value) != SECONDS.size else float(SECONDS.unpack(value)[0])

    def standing(self, state: QueueState, /, *, after: Standing, limit: int) -> list[tuple[Standing, str]]:
        start = standing_key(msgspec.structs.replace(after, turn=after.turn + 1))
        items = self._database.first(start, b"J" if state is INACTIVE else b"X", limit)
        return [(standing_of(key), untext(value)) for key, value in items]

    def _stands(self, key: str) -> Standing | None:
        """Where the queue stands, found by looking at all: what its record has told is lost."""
        for start, stop in ((b"I", b"J"), (b"W", b"X")):
            for stored_key, value in self._database.items(start, stop):
                if untext(value) == key:
                    return standing_of(stored_key)
        return None

    def set_aside_note(self, key: str, error: Exception) -> None:
        stored_key = b"N" + text(key)
        value = self._database.get(stored_key)
        if value is not None:
            self._set_aside(stored_key, value, error, copy(self._counters()))

    def _set_aside(
        self, key: bytes, value: bytes, error: Exception, counters: Counters, *, instead: bytes | None = None
    ) -> None:
        log.error("a record of %s can't be decoded and is set aside: key %r: %s", self._database.directory, key, error)
        counters.quarantined += 1
        batch = self._database.batch()
        if instead is None:
            batch.delete(key)
        else:
            batch.put(key, instead)
        batch.put(b"X" + key, value)
        self._commit(batch, counters)


def _behind(key: str, after: int) -> tuple[bytes, bytes]:
    """The range of keys of a queue's pending URLs above an order."""
    space = pending_space(key)
    return space + U64.pack(after + 1), space[:-1] + b"\1"


def _waiting(key: str, stored_key: bytes, value: bytes) -> Waiting:
    return encoding.decode_waiting(value, queue_key=key, order=order_in(stored_key))
