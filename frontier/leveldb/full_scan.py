"""Reads everything in a LevelDB store, for checks, repair and export.

A record that can't be decoded is reported as `Damaged` and stays where it is.
"""

from collections.abc import Iterator

import msgspec

from frontier.leveldb.database import Database
from frontier.leveldb.format import encoding
from frontier.leveldb.format.encoding import DecodeError
from frontier.leveldb.format.keys import (
    INACTIVE_SPACE,
    JOURNAL_SPACE,
    LEDGER_SPACE,
    PENDING_SPACE,
    POSTPONED_SPACE,
    QUARANTINE_SPACE,
    SPILLED_SPACE,
    U64,
    U64_PAIR,
    end_of,
    ledger_key,
    location_key,
    order_in,
    position_of,
    untext,
)
from frontier.leveldb.journal import decode_journal
from frontier.queues.queue import Position
from frontier.records import JournalEntry, PendingUrl, PostponedUrl
from frontier.values import Damaged, KnownUrl, LedgerEntry


class FullScan:
    """The records of a store's database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def pending_urls(self) -> Iterator[PendingUrl | Damaged]:
        for key, value in self._database.items(PENDING_SPACE, end_of(PENDING_SPACE)):
            try:
                yield encoding.decode_pending(value, queue_key=untext(key[1:-9]), order=order_in(key))
            except DecodeError as error:
                yield Damaged(key, str(error))

    def postponed_urls(self) -> Iterator[PostponedUrl | Damaged]:
        for key, value in self._database.items(POSTPONED_SPACE, end_of(POSTPONED_SPACE)):
            try:
                yield encoding.decode_postponed(value, due_ms=U64_PAIR.unpack(key[1:])[0])
            except DecodeError as error:
                yield Damaged(key, str(error))

    def entries(self, after: str = "") -> Iterator[tuple[LedgerEntry, encoding.Location | None] | Damaged]:
        """The ledger after the URL `after`, in the order of canonical URLs."""
        start = ledger_key(after) + b"\0" if after else LEDGER_SPACE
        for key, value in self._database.items(start, end_of(LEDGER_SPACE)):
            try:
                yield encoding.decode_entry(value, canonical=untext(key[1:]))
            except DecodeError as error:
                yield Damaged(key, str(error))

    def positions(self) -> Iterator[tuple[Position, str]]:
        """The positions of queues, with their keys."""
        for space in (INACTIVE_SPACE, SPILLED_SPACE):
            for key, value in self._database.items(space, end_of(space)):
                yield position_of(key), untext(value)

    def journal(self) -> Iterator[tuple[int, JournalEntry] | Damaged]:
        for key, value in self._database.items(JOURNAL_SPACE, end_of(JOURNAL_SPACE)):
            try:
                yield U64.unpack(key[1:])[0], decode_journal(value)
            except DecodeError as error:
                yield Damaged(key, str(error))

    def quarantined_keys(self) -> Iterator[bytes]:
        """The old keys of the records that could not be decoded."""
        for key in self._database.keys(QUARANTINE_SPACE, end_of(QUARANTINE_SPACE)):
            yield key[1:]

    def known(self, canonical: str, /) -> KnownUrl | None:
        found = self.entry(canonical)
        return None if found is None else self._known(*found)

    def all_known(self, after: str = "", /) -> Iterator[KnownUrl | Damaged]:
        for found in self.entries(after):
            yield found if isinstance(found, Damaged) else self._known(*found)

    def _known(self, entry: LedgerEntry, location: encoding.Location | None) -> KnownUrl:
        if location is None:
            return KnownUrl(entry=entry)
        return known_url(entry, location, self._database.get(location_key(location)))

    def entry(self, canonical: str, /) -> tuple[LedgerEntry, encoding.Location | None] | None:
        """The ledger entry of a URL; None if there is none, or it can't be decoded."""
        value = self._database.get(ledger_key(canonical))
        try:
            return None if value is None else encoding.decode_entry(value, canonical=canonical)
        except DecodeError:
            return None

    def location(self, canonical: str, /) -> encoding.Location | None:
        """The location of a URL according to the ledger. Raises `DecodeError`."""
        value = self._database.get(ledger_key(canonical))
        return None if value is None else encoding.decode_entry(value, canonical=canonical)[1]

    def has(self, location: encoding.Location, /) -> bool:
        """Whether there is a record at this location, or was one that is now quarantined."""
        key = location_key(location)
        return self._database.get(key) is not None or self._database.get(QUARANTINE_SPACE + key) is not None

    def record_at(self, location: encoding.Location, /) -> PendingUrl | PostponedUrl | None:
        """The record at a location; None if there is none, or it can't be decoded."""
        return _decode_record_at(self._database.get(location_key(location)), location)


def known_url(entry: LedgerEntry, location: encoding.Location, value: bytes | None) -> KnownUrl:
    """What is known about a URL that waits, from its ledger entry and the record that is stored at its location."""
    record = _decode_record_at(value, location)
    if record is None:
        return KnownUrl(entry=entry)
    pending, reason, due_at = (
        (record, entry.reason, None)
        if isinstance(record, PendingUrl)
        else (record.pending, record.reason, record.due_ms / 1000)
    )
    url = pending.url
    entry = msgspec.structs.replace(entry, via=url.via, reason=reason, hit_count=url.link_count)
    return KnownUrl(entry=entry, waiting=url, due_at=due_at)


def decode_location(value: bytes | None, canonical: str) -> encoding.Location | None:
    """The location in a stored ledger entry; None if the URL is settled, or the entry can't be decoded."""
    try:
        return None if value is None else encoding.decode_entry(value, canonical=canonical)[1]
    except DecodeError:
        return None


def decode_url_at(value: bytes | None, location: encoding.Location) -> PendingUrl | None:
    """The URL in a record that is stored at a location; None if it can't be decoded."""
    record = _decode_record_at(value, location)
    return record.pending if isinstance(record, PostponedUrl) else record


def _decode_record_at(value: bytes | None, location: encoding.Location) -> PendingUrl | PostponedUrl | None:
    if value is None:
        return None
    try:
        if location.due_ms is None:
            return encoding.decode_pending(value, queue_key=location.queue_key, order=location.order)
        return encoding.decode_postponed(value, due_ms=location.due_ms)
    except DecodeError:
        return None
