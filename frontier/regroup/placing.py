"""Decides to which target each record belongs."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NoReturn

import msgspec

from frontier.leveldb.format import encoding
from frontier.leveldb.format.encoding import DecodeError
from frontier.leveldb.format.keys import (
    GROUPS_SPACE,
    INACTIVE_SPACE,
    LEDGER_SPACE,
    NOTES_SPACE,
    PENDING_SPACE,
    POSTPONED_SPACE,
    QUARANTINE_SPACE,
    QUEUES_SPACE,
    SECONDS,
    SPILLED_SPACE,
    U64_PAIR,
    links_key,
    location_key,
    position_key,
    queue_key,
    revisit_key,
    text,
    untext,
)
from frontier.leveldb.format.queue_records import decode_queue, encode_queue
from frontier.link_table.table import url_digest
from frontier.queues.queue import QueueRecord
from frontier.records import Counters
from frontier.regroup.filling import Placed
from frontier.regroup.sources import Found, Sources
from frontier.regrouping import Regrouping
from frontier.transitions.accounting import count_queue, count_state
from frontier.values import REPAIR_ADVICE, StoreFailed, UrlState

Place = Callable[[bytes, Found], Iterator[Placed]]


class Placing:
    """Places the records of the sources. `has` says whether any target has a key."""

    def __init__(self, sources: Sources, job: Regrouping, *, has: Callable[[bytes], bool]) -> None:
        self._sources = sources
        self._routing = job.routing
        self._lineages = [0 if each.part is None else each.part.lineage for each in job.sources]
        self._has = has
        self.steps: Mapping[bytes, Place] = {
            LEDGER_SPACE: self.entry,
            PENDING_SPACE: self.pending_url,
            POSTPONED_SPACE: self.postponed_url,
            INACTIVE_SPACE: self.waiting_queue,
            SPILLED_SPACE: self.waiting_queue,
            QUEUES_SPACE: self.other_queue,
            GROUPS_SPACE: self.group,
            NOTES_SPACE: self.note,
            QUARANTINE_SPACE: self.quarantined,
        }
        """By space, in the order in which they are copied."""

    def entry(self, key: bytes, found: Found) -> Iterator[Placed]:
        """A URL of the ledger, with its links and its next visit."""
        source, value = self._only(key, found)
        canonical = untext(key[1:])
        try:
            entry, location = encoding.decode_entry(value, canonical=canonical)
        except DecodeError as error:
            self._fail(key, str(error))
        if location is None and entry.settled_in is None:
            value = encoding.encode_entry(msgspec.structs.replace(entry, settled_in=self._lineages[source]))
        records = [(key, value)]
        if self._sources.has_links[source]:
            records += self._copied(source, links_key(url_digest(canonical)))
        if entry.due_ms is not None:
            records.append((revisit_key(entry.due_ms, canonical), b""))
        quarantined: list[tuple[bytes, bytes]] = []
        if location is None:
            target = self._routing.owner_of_settled(canonical)
        else:
            target = self._routing.owner(location.queue_key)
            if location.due_ms is not None and self._sources.has_quarantined[source]:
                # The key of a postponed URL does not say which queue it belongs to.
                quarantined = self._copied(source, QUARANTINE_SPACE + location_key(location))
        yield Placed(target, records + quarantined, partial(_count_entry, entry.state, len(quarantined)))

    def pending_url(self, key: bytes, found: Found) -> Iterator[Placed]:
        _, value = self._only(key, found)
        yield Placed(self._routing.owner(untext(key[1:-9])), [(key, value)])

    def postponed_url(self, key: bytes, found: Found) -> Iterator[Placed]:
        _, value = self._only(key, found)
        try:
            postponed = encoding.decode_postponed(value, due_ms=U64_PAIR.unpack(key[1:])[0])
        except DecodeError as error:
            self._fail(key, str(error))
        yield Placed(self._routing.owner(postponed.pending.url.queue_key), [(key, value)], _count_retrying)

    def waiting_queue(self, key: bytes, found: Found) -> Iterator[Placed]:
        """A position, with the record of its queue."""
        for _, name in found:
            record = self._queue(untext(name))
            if record.position is None:
                self._fail(key, f"its queue {record.key} does not know this position")
            yield Placed(self._routing.owner(record.key), (), partial(self._enter, record))

    def _enter(self, record: QueueRecord, counters: Counters) -> list[tuple[bytes, bytes]]:
        """The records of a queue with its position: the same if nothing else can be there, otherwise the next one."""
        position = record.position
        assert position is not None
        if not self._sources.is_single:
            position = msgspec.structs.replace(position, turn=counters.next_turn)
            counters.next_turn += 1
            record = msgspec.structs.replace(record, position=position)
        count_queue(counters, record)
        return [(queue_key(record.key), encode_queue(record)), (position_key(position), text(record.key))]

    def other_queue(self, key: bytes, _: Found) -> Iterator[Placed]:
        """The record of a queue without a position: it is empty or retired."""
        record = self._queue(untext(key[1:]))
        if record.position is None:
            stored = [(key, encode_queue(record))]
            yield Placed(self._routing.owner(record.key), stored, partial(count_queue, record=record))

    def _queue(self, name: str) -> QueueRecord:
        """One record for what the sources know of a queue. At most one of them has URLs of it."""
        key = queue_key(name)
        records = []
        for source in range(len(self._sources)):
            value = self._sources.get(source, key)
            try:
                records += [] if value is None else [decode_queue(value, key=name)]
            except DecodeError as error:
                self._fail(key, str(error))
        if not records or sum(record.size > 0 for record in records) > 1:
            self._fail(key, "expected one part of the crawl that has its URLs, and a record of it there")
        return msgspec.structs.replace(
            max(records, key=lambda record: (record.size, record.wake_at)),
            wake_at=max(record.wake_at for record in records),
            pace_s=max(record.pace_s for record in records),
        )

    def group(self, key: bytes, found: Found) -> Iterator[Placed]:
        """The rest of a group. Each part that may ask one of its servers gets it."""
        value = max((value for _, value in found if len(value) == SECONDS.size), default=None, key=SECONDS.unpack)
        if value is not None:
            for target in self._routing.owners_of_group(untext(key[1:])):
                yield Placed(target, [(key, value)])

    def note(self, key: bytes, found: Found) -> Iterator[Placed]:
        targets, value = self._routing.note(untext(key[1:]), dict(found))
        for target in targets:
            yield Placed(target, [(key, value)])

    def quarantined(self, key: bytes, found: Found) -> Iterator[Placed]:
        """A record that could not be decoded. It goes where it would belong, as far as its old key tells."""
        old = key[1:]
        if old[:1] == POSTPONED_SPACE and self._has(key):
            return  # it was copied with its URL
        target = 0
        if old[:1] == PENDING_SPACE:
            target = self._routing.owner(untext(old[1:-9]))
        elif old[:1] == QUEUES_SPACE:
            target = self._routing.owner(untext(old[1:]))
        elif old[:1] == LEDGER_SPACE:
            target = self._routing.owner_of_settled(untext(old[1:]))
        yield Placed(target, [(key, found[0][1])], _count_quarantined)

    def _copied(self, source: int, key: bytes) -> list[tuple[bytes, bytes]]:
        value = self._sources.get(source, key)
        return [] if value is None else [(key, value)]

    def _only(self, key: bytes, found: Found) -> tuple[int, bytes]:
        if len(found) > 1:
            self._fail(key, f"parts {' and '.join(str(number) for number, _ in found)} both have it")
        return found[0]

    def _fail(self, key: bytes, why: str) -> NoReturn:
        raise StoreFailed(f"the frontier is damaged: {key!r}: {why}; {REPAIR_ADVICE}")


def _count_entry(state: UrlState, quarantined: int, counters: Counters) -> None:
    counters.admitted += 1
    counters.quarantined += quarantined
    count_state(counters, state)


def _count_quarantined(counters: Counters) -> None:
    counters.quarantined += 1


def _count_retrying(counters: Counters) -> None:
    counters.retrying += 1
