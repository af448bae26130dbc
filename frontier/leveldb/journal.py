"""The journal of admissions, and the note of the snapshot that replaces its beginning."""

from collections.abc import Callable, Iterator
from itertools import islice

import msgspec

from frontier.leveldb.database import Batch, Database
from frontier.leveldb.format import encoding
from frontier.leveldb.format.encoding import DecodeError
from frontier.leveldb.format.keys import JOURNAL_SPACE, U64, end_of
from frontier.leveldb.marks import MEMORY
from frontier.records import Counters, JournalDamaged, JournalDropped, JournalEntry

_SNAPSHOT = b"Msnapshot"

_encode = msgspec.msgpack.Encoder().encode
decode_journal = encoding.decoder(msgspec.msgpack.Decoder(JournalEntry).decode)


def write_journal(batch: Batch, counters: Counters, entry: JournalEntry) -> None:
    """Number an entry and write it with a batch."""
    counters.journal_end += 1
    batch.put(JOURNAL_SPACE + U64.pack(counters.journal_end), _encode(entry))


class LevelDBJournal:
    """The `Journal` of a database. `end` gives the number of the newest entry."""

    def __init__(self, database: Database, *, end: Callable[[], int]) -> None:
        self._database = database
        self._end = end
        snapshot = database.get(_SNAPSHOT)
        self.snapshot_at: int | None = None if snapshot is None else int.from_bytes(snapshot, "big")
        self._trimmed_to = 0
        """All entries up to this number have been deleted."""

    def entries(self, after: int, /) -> Iterator[JournalEntry]:
        directory, expected = self._database.directory, after + 1
        for key, value in self._database.items(JOURNAL_SPACE + U64.pack(expected), end_of(JOURNAL_SPACE)):
            number = U64.unpack(key[1:])[0]
            if number != expected:
                raise JournalDamaged(f"entry {expected} of the journal in {directory} is missing")
            try:
                yield decode_journal(value)
            except DecodeError as error:
                raise JournalDamaged(f"entry {number} of the journal in {directory}: {error}") from error
            expected += 1
        if expected <= self._end():
            if expected == 1 and self.snapshot_at is None:
                raise JournalDropped(f"there is no snapshot and no journal in {directory}")
            raise JournalDamaged(f"entry {expected} of the journal in {directory} is missing")

    def note_snapshot(self, journal_end: int, /) -> None:
        self._database.write_one(_SNAPSHOT, U64.pack(journal_end))
        self.snapshot_at = journal_end

    def trim(self, limit: int, /) -> bool:
        # The first call after opening also finds entries that a crash left behind.
        first, stop = U64.pack(self._trimmed_to + 1), U64.pack((self.snapshot_at or 0) + 1)
        keys = list(islice(self._database.keys(JOURNAL_SPACE + first, JOURNAL_SPACE + stop), limit))
        if not keys:
            return False
        batch = self._database.batch()
        for key in keys:
            batch.delete(key)
        self._database.write(batch)
        self._trimmed_to = U64.unpack(keys[-1][1:])[0]
        return len(keys) == limit

    def drop(self) -> None:
        """Delete the journal, the note of the snapshot and the name of a server's memory, so that the visited set is
        rebuilt from the ledger."""
        batch = self._database.batch()
        for key in self._database.keys(JOURNAL_SPACE, end_of(JOURNAL_SPACE)):
            batch.delete(key)
        batch.delete(_SNAPSHOT)
        batch.delete(MEMORY)
        self._database.write(batch)
        self.snapshot_at = None
