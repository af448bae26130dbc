"""The journal of admissions, and the note of the snapshot up to which it has been dropped."""

from collections.abc import Iterator
from itertools import islice

import msgspec

from frontier.leveldb import encoding
from frontier.leveldb.database import Batch, Database
from frontier.leveldb.encoding import DecodeError
from frontier.leveldb.keys import U64
from frontier.store import Counters, JournalDamaged, JournalDropped, JournalEntry

_encode = msgspec.msgpack.Encoder().encode
decode_journal = encoding.decoder(msgspec.msgpack.Decoder(JournalEntry).decode)


def write_journal(batch: Batch, counters: Counters, entry: JournalEntry) -> None:
    """Write an entry with a batch, and number it."""
    counters.journal_end += 1
    batch.put(b"J" + U64.pack(counters.journal_end), _encode(entry))


class Journal:
    """What happened to the visited set since its last snapshot, as the database has it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        snapshot = database.get(b"Msnapshot")
        self._snapshot_at: int | None = None if snapshot is None else int.from_bytes(snapshot, "big")
        self._trimmed = 0
        """No entry up to this number is left."""

    @property
    def snapshot_at(self) -> int | None:
        return self._snapshot_at

    def entries(self, after: int, upto: int) -> Iterator[JournalEntry]:
        """Entries `after + 1` to `upto`. Raises `JournalDamaged` and `JournalDropped`."""
        expected = after + 1
        for key, value in self._database.items(b"J" + U64.pack(expected), b"K"):
            number = U64.unpack(key[1:])[0]
            if number != expected:
                raise JournalDamaged(f"entry {expected} of the journal in {self._database.directory} is missing")
            try:
                yield decode_journal(value)
            except DecodeError as error:
                raise JournalDamaged(f"entry {number} of the journal in {self._database.directory}: {error}") from error
            expected += 1
        if expected <= upto:
            if expected == 1 and self._snapshot_at is None:
                raise JournalDropped(f"there is no snapshot, and no journal in {self._database.directory}")
            raise JournalDamaged(f"entry {expected} of the journal in {self._database.directory} is missing")

    def saved(self, journal_end: int, /) -> None:
        batch = self._database.batch()
        batch.put(b"Msnapshot", U64.pack(journal_end))
        self._database.write(batch)
        self._snapshot_at = journal_end

    def trim(self, limit: int) -> bool:
        """Drop so many entries up to the snapshot, and tell whether there may be others. The first call after opening
        finds those that a crash left."""
        upto = self._snapshot_at or 0
        keys = list(islice(self._database.keys(b"J" + U64.pack(self._trimmed + 1), b"J" + U64.pack(upto + 1)), limit))
        if not keys:
            return False
        batch = self._database.batch()
        for key in keys:
            batch.delete(key)
        self._database.write(batch)
        self._trimmed = U64.unpack(keys[-1][1:])[0]
        return len(keys) == limit

    def forget(self) -> None:
        batch = self._database.batch()
        for key in self._database.keys(b"J", b"K"):
            batch.delete(key)
        batch.delete(b"Msnapshot")
        self._database.write(batch)
        self._snapshot_at = None
