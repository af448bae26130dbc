"""The settled URLs of which the output of a crawl tells: of several visits the last one.

Records are read from the end, so a URL that was visited once takes no room. One that was visited again waits in a
temporary file for the visits before, which tell how often it had changed, and what it holds if the server said that it
has not. Visits without a record, of which the archive tells, lie there, too, and the header that records lack, by which
the next visit may ask.
"""

import sqlite3
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

import msgspec

from crawler.disk.directory import CrawlDirectory
from crawler.page.number_set import NumberSet
from crawler.record.changes import GONE, Change, has_copy
from crawler.wiring.recovery.archived import (
    NUMBERS_TOLD,
    ArchivedVisit,
    Progress,
    archived_pages,
    last_modified_of,
    visit_of,
)
from crawler.wiring.recovery.bodies import Bodies
from crawler.wiring.recovery.entries import RecordUrls, entry_of_record
from crawler.wiring.recovery.facts import room
from crawler.wiring.recovery.sources import Sources
from crawler.write.records import newest_records, read_records
from frontier import MAX_HISTORY, LastVisit, LedgerEntry, add_visit

_TABLES = """
    CREATE TABLE waiting (
        canonical TEXT PRIMARY KEY, number TEXT, visits BLOB, is_own INTEGER, is_copyless INTEGER
    ) WITHOUT ROWID;
    CREATE TABLE unrecorded (canonical TEXT PRIMARY KEY, number TEXT, entry BLOB, is_own INTEGER) WITHOUT ROWID;
    CREATE TABLE dated (number TEXT PRIMARY KEY, last_modified TEXT) WITHOUT ROWID;
    CREATE TABLE copies (number TEXT PRIMARY KEY, copy TEXT) WITHOUT ROWID;
"""


_encode: Final = msgspec.msgpack.Encoder().encode


class _Visits(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """The visits of a URL that were read so far, from the last one back."""

    entry: LedgerEntry
    """Of the last one, with the history that follows from all."""
    is_copyless: bool
    """Whether none of them says what the page holds."""
    began_at: float | None
    """When the first of them was; None if that is not known."""
    changed: bool | None
    """Whether the page had changed at the first of them since the one before; None if that is not known."""


_VISITS: Final = msgspec.msgpack.Decoder(_Visits)


class SettledUrls:
    """Reads them once."""

    def __init__(self, sources: Sources, urls: RecordUrls, bodies: Bodies, *, progress: Progress) -> None:
        """`bodies` are those to which revisit records of the sources refer."""
        self._sources = sources
        self._urls = urls
        self._bodies = bodies
        self._progress = progress
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.executescript(f"PRAGMA journal_mode = OFF; {_TABLES}")
        self._database.execute("BEGIN")
        self._waiting = 0
        self._unrecorded = 0
        self.recorded = NumberSet()
        self.copyless = NumberSet()
        """Last visits at which pages had not changed, and nothing of before says what they hold. Known after `entries`,
        and those of other parts, too."""
        self.records = 0
        """Records read so far, and pages of the archive without a record."""
        self.visits = 0
        """Of these, the ones of URLs that belong to the state."""
        self.highest = 0
        """The highest number that the archive of the state has."""

    def close(self) -> None:
        self._database.close()

    def copy_of(self, number: int) -> int | None:
        """The number of the visit that says what a page holds which had not changed at its last one."""
        query = "SELECT copy FROM copies WHERE number = ?"
        with room():
            found = self._database.execute(query, (str(number),)).fetchone()
        return None if found is None else int(found[0])

    def entries(self) -> Iterator[LedgerEntry | None]:
        """Of each directory first those of records, then those of pages in the archive that have no record. Of several
        entries of one URL, the first counts. None stands for a visit that tells nothing yet: there may be millions in a
        row, and who reads them may have to end. Raises `NoRoom`."""
        with room():  # also while it is read: then changes are written that were only in memory
            yield from self._entries()

    def _entries(self) -> Iterator[LedgerEntry | None]:
        for directory in self._sources.newest_first:
            for _ in self._store_captures(directory):
                yield None
            yield from self._of_records(directory)
            yield from self._of_captures()
        for (visits,) in self._database.execute("SELECT visits FROM waiting WHERE is_own"):
            yield _VISITS.decode(visits).entry
        for (number,) in self._database.execute("SELECT number FROM waiting WHERE is_copyless"):
            self.copyless.add(int(number))

    def _of_records(self, directory: CrawlDirectory) -> Iterator[LedgerEntry | None]:
        lineage = self._sources.lineages.get(directory.original)
        for record in newest_records(directory.records):
            if not self.recorded.add(record.number):
                continue  # an earlier copy of the same record
            self.records += 1
            if self.records % NUMBERS_TOLD == 0:
                self._progress(self.records)
            url = self._urls.of_record(record)
            entry = None if url is None else entry_of_record(record, url)
            if url is None or entry is None:
                continue
            is_own = self._sources.owns(url.queue_key)
            self.visits += is_own
            last_modified = self._last_modified_of(record.number) if has_copy(record) else None
            entry = msgspec.structs.replace(entry, settled_in=lineage, last_modified=last_modified)
            visits = _Visits(
                entry=entry,
                is_copyless=record.change == Change.NOT_MODIFIED,
                began_at=entry.fetched_at,
                changed=None if record.change is None else record.change == Change.CHANGED,
            )
            if self._unrecorded and (later := self._later_unrecorded(entry)) is not None:
                entry = self._after(entry, later)
                visits = msgspec.structs.replace(visits, entry=entry, is_copyless=self._is_copyless(entry))
            yield self._take(visits, is_own=is_own, has_earlier=record.visit > 1)

    def _store_captures(self, directory: CrawlDirectory) -> Iterator[int]:
        """Store what the archive tells of visits without a record: of several of one URL the last one. Yields the
        number of each visit, and of each record."""
        written = NumberSet()
        if directory.warc.is_dir() and directory.records.is_dir():
            for record in read_records(directory.records, on_damage=lambda *_: None):
                written.add(record.number)
                yield record.number
        for number, found in archived_pages(directory, self._progress):
            yield number
            if directory is self._sources.own:
                self.highest = max(self.highest, number)
            if number in written:
                if (header := last_modified_of(found)) is not None:
                    self._database.execute("INSERT OR REPLACE INTO dated VALUES (?, ?)", (str(number), header))
            elif (visit := visit_of(found, self._bodies)) is not None:
                self.records += 1
                self._store_visit(visit, self._sources.lineages.get(directory.original))

    def _last_modified_of(self, number: int) -> str | None:
        query = "SELECT last_modified FROM dated WHERE number = ?"
        found = self._database.execute(query, (str(number),)).fetchone()
        return None if found is None else str(found[0])

    def _store_visit(self, visit: ArchivedVisit, lineage: int | None) -> None:
        url = self._urls.of_record(visit.record)
        entry = None if url is None else entry_of_record(visit.record, url)
        if url is None or entry is None:
            return
        is_own = self._sources.owns(url.queue_key)
        self.visits += is_own
        entry = msgspec.structs.replace(entry, settled_in=lineage, last_modified=visit.last_modified)
        before = self._unrecorded_of(entry.canonical)
        entry = self._after(before, entry) if before else entry
        row = entry.canonical, str(entry.number), _encode(entry), is_own
        self._database.execute("INSERT OR REPLACE INTO unrecorded VALUES (?, ?, ?, ?)", row)
        self._unrecorded += before is None

    def _unrecorded_of(self, canonical: str) -> LedgerEntry | None:
        query = "SELECT entry FROM unrecorded WHERE canonical = ?"
        found = self._database.execute(query, (canonical,)).fetchone()
        return None if found is None else _decoded(found[0])

    def _later_unrecorded(self, entry: LedgerEntry) -> LedgerEntry | None:
        """The last visit to a URL if it was after this one, and has no record. It is taken out."""
        later = self._unrecorded_of(entry.canonical)
        if later is None or later.number < entry.number:
            return None
        self._database.execute("DELETE FROM unrecorded WHERE canonical = ?", (entry.canonical,))
        return later

    def _of_captures(self) -> Iterator[LedgerEntry | None]:
        for stored, is_own in self._database.execute("SELECT entry, is_own FROM unrecorded"):
            entry = _decoded(stored)
            visits = _Visits(entry=entry, is_copyless=self._is_copyless(entry), began_at=None, changed=None)
            yield self._take(visits, is_own=bool(is_own), has_earlier=False)
        self._database.execute("DELETE FROM unrecorded")
        self._unrecorded = 0

    def _take(self, visits: _Visits, *, is_own: bool, has_earlier: bool) -> LedgerEntry | None:
        """The entry of a URL, once all is known of it. Visits come from the last to the first."""
        if self._waiting and (later := self._taken_out(visits.entry.canonical)) is not None:
            visits = self._joined(visits, later)
        if visits.is_copyless or has_earlier:
            row = visits.entry.canonical, str(visits.entry.number), _encode(visits), is_own, visits.is_copyless
            self._database.execute("INSERT INTO waiting VALUES (?, ?, ?, ?, ?)", row)
            self._waiting += 1
            return None
        return visits.entry if is_own else None

    def _taken_out(self, canonical: str) -> _Visits | None:
        found = self._database.execute("SELECT visits FROM waiting WHERE canonical = ?", (canonical,)).fetchone()
        if found is None:
            return None
        self._database.execute("DELETE FROM waiting WHERE canonical = ?", (canonical,))
        self._waiting -= 1
        return _VISITS.decode(found[0])

    def _joined(self, before: _Visits, later: _Visits) -> _Visits:
        """What a visit and those after it tell."""
        entry = later.entry
        if later.is_copyless and not before.is_copyless:
            entry = self._unchanged_since(before.entry, entry)
        if later.began_at is not None and later.changed is not None:
            last_visit = LastVisit(visits=1, fetched_at=before.began_at)
            first = add_visit(last_visit, fetched_at=later.began_at, changed=later.changed)
            entry = msgspec.structs.replace(entry, history=(*first, *entry.history)[-MAX_HISTORY:])
        is_copyless = before.is_copyless and later.is_copyless
        return msgspec.structs.replace(before, entry=entry, is_copyless=is_copyless)

    def _unchanged_since(self, entry: LedgerEntry, later: LedgerEntry) -> LedgerEntry:
        """The entry of a later visit at which the page had not changed."""
        copy = self.copy_of(entry.number)
        copies = (str(later.number), str(entry.number if copy is None else copy))
        self._database.execute("INSERT OR REPLACE INTO copies VALUES (?, ?)", copies)
        return msgspec.structs.replace(
            later,
            digest=entry.digest,
            etag=later.etag or entry.etag,
            last_modified=later.last_modified or entry.last_modified,
        )

    def _after(self, before: LedgerEntry, entry: LedgerEntry) -> LedgerEntry:
        """The entry of a visit of which only the archive tells, given the one before. A crash may have left two copies
        of one visit."""
        is_copy = before.number == entry.number
        is_gone = entry.status in GONE and before.status in GONE and not is_copy
        entry = msgspec.structs.replace(
            entry,
            visits=before.visits if is_copy else before.visits + entry.visits,
            reason=str(Change.GONE) if is_gone else entry.reason,
        )
        lacks_copy = self._is_copyless(entry) or (is_copy and entry.status == HTTPStatus.NOT_MODIFIED)
        return self._unchanged_since(before, entry) if lacks_copy and not self._is_copyless(before) else entry

    def _is_copyless(self, entry: LedgerEntry) -> bool:
        """Whether nothing so far says what a page holds that has not changed."""
        return entry.status == HTTPStatus.NOT_MODIFIED and self.copy_of(entry.number) is None


def _decoded(entry: bytes) -> LedgerEntry:
    return msgspec.msgpack.decode(entry, type=LedgerEntry)
