"""Everything that stands in a LevelDB store, for those who read all of it: checks, repair, export.

What can't be decoded is told, and left where it is.
"""

from collections.abc import Iterator

from frontier.leveldb import encoding
from frontier.leveldb.database import Database
from frontier.leveldb.encoding import DecodeError
from frontier.leveldb.journal import decode_journal
from frontier.leveldb.keys import (
    U64,
    U64_PAIR,
    ledger_key,
    order_in,
    place_key,
    standing_of,
    text,
    untext,
)
from frontier.queues.lifecycle import Standing
from frontier.store import Damaged, JournalEntry, Postponed, Waiting
from frontier.values import LedgerEntry


class FullScan:
    """The records of a store's database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all_waiting(self) -> Iterator[Waiting | Damaged]:
        for key, value in self._database.items(b"P", b"Q"):
            try:
                yield encoding.decode_waiting(value, queue_key=untext(key[1:-9]), order=order_in(key))
            except DecodeError as error:
                yield Damaged(key, str(error))

    def all_postponed(self) -> Iterator[Postponed | Damaged]:
        for key, value in self._database.items(b"R", b"S"):
            try:
                yield encoding.decode_postponed(value, due_ms=U64_PAIR.unpack(key[1:])[0])
            except DecodeError as error:
                yield Damaged(key, str(error))

    def all_entries(self, after: str = "") -> Iterator[tuple[LedgerEntry, encoding.Place | None] | Damaged]:
        """In the order of canonical URLs, from the first behind `after`."""
        start = ledger_key(after) + b"\0" if after else b"L"
        for key, value in self._database.items(start, b"M"):
            try:
                yield encoding.decode_entry(value, canonical=untext(key[1:]))
            except DecodeError as error:
                yield Damaged(key, str(error))

    def all_standing(self) -> Iterator[tuple[Standing, str]]:
        for start, stop in ((b"I", b"J"), (b"W", b"X")):
            for key, value in self._database.items(start, stop):
                yield standing_of(key), untext(value)

    def journal_numbers(self) -> Iterator[tuple[int, JournalEntry] | Damaged]:
        for key, value in self._database.items(b"J", b"K"):
            try:
                yield U64.unpack(key[1:])[0], decode_journal(value)
            except DecodeError as error:
                yield Damaged(key, str(error))

    def set_aside(self) -> Iterator[bytes]:
        """The keys of the records that could not be decoded."""
        for key in self._database.keys(b"X", b"Y"):
            yield key[1:]

    def notes(self, prefix: str, /) -> Iterator[tuple[str, bytes]]:
        """Those whose keys begin so, with their keys."""
        start = b"N" + text(prefix)
        for key, value in self._database.items(start, start + b"\xff"):
            yield untext(key[1:]), value

    def entry(self, canonical: str, /) -> tuple[LedgerEntry, encoding.Place | None] | None:
        """What the ledger itself has of a URL; None if it has nothing that can be decoded."""
        value = self._database.get(ledger_key(canonical))
        try:
            return None if value is None else encoding.decode_entry(value, canonical=canonical)
        except DecodeError:
            return None

    def place(self, canonical: str, /) -> encoding.Place | None:
        """Where the ledger says that the URL stands. Raises `DecodeError`."""
        value = self._database.get(ledger_key(canonical))
        return None if value is None else encoding.decode_entry(value, canonical=canonical)[1]

    def has(self, place: encoding.Place, /) -> bool:
        """Whether there is a record at that place, or was one that is now set aside."""
        key = place_key(place)
        return self._database.get(key) is not None or self._database.get(b"X" + key) is not None

    def waiting_at(self, place: encoding.Place, /) -> Waiting | None:
        """The URL that stands there; None if none does, or if it can't be decoded."""
        return waiting_in(self._database.get(place_key(place)), place)

    def record_at(self, place: encoding.Place, /) -> Waiting | Postponed | None:
        """The record of the URL that stands there; None if none does, or if it can't be decoded."""
        return _record_in(self._database.get(place_key(place)), place)

    def get(self, key: bytes, /) -> bytes | None:
        """What stands under a key, as it is stored."""
        return self._database.get(key)


def place_in(value: bytes | None, canonical: str) -> encoding.Place | None:
    """Where the ledger entry of a URL says that it stands; None if it is settled, or can't be decoded."""
    try:
        return None if value is None else encoding.decode_entry(value, canonical=canonical)[1]
    except DecodeError:
        return None


def waiting_in(value: bytes | None, place: encoding.Place) -> Waiting | None:
    """The URL of a record that stands at a place; None if it can't be decoded."""
    found = _record_in(value, place)
    return found.waiting if isinstance(found, Postponed) else found


def _record_in(value: bytes | None, place: encoding.Place) -> Waiting | Postponed | None:
    if value is None:
        return None
    try:
        if place.due_ms is None:
            return encoding.decode_waiting(value, queue_key=place.queue_key, order=place.order)
        return encoding.decode_postponed(value, due_ms=place.due_ms)
    except DecodeError:
        return None
