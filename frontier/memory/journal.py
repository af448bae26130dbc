"""The journal of the reference store."""

from collections.abc import Iterator

from frontier.records import JournalEntry


class MemoryJournal:
    """Always empty: what it would restore ends with the process."""

    snapshot_at: int | None = None

    def entries(self, after: int, /) -> Iterator[JournalEntry]:
        yield from ()

    def note_snapshot(self, journal_end: int, /) -> None:
        raise ValueError("a store in memory has no snapshots")

    def trim(self, limit: int, /) -> bool:
        return False
