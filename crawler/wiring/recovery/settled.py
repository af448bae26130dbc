"""The settled URLs of which the output of a crawl tells: of several visits the last one.

Records are read from the end, so a URL that was visited once takes no room. A visit at which the server said that the
page has not changed waits in a temporary file for the one before, which says what the page holds.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from itertools import groupby
from operator import attrgetter

import msgspec

from crawler.disk.directory import CrawlDirectory
from crawler.page import LinkKind
from crawler.page.number_set import NumberSet
from crawler.record.changes import Change
from crawler.wiring.recovery.entries import RecordUrls, entry_of_capture, entry_of_record
from crawler.wiring.recovery.facts import room
from crawler.wiring.recovery.sources import Sources
from crawler.write.records import newest_records
from crawler.write.warc_facts import FAILURE
from crawler.write.warc_reader import Capture, captures
from frontier import CrawlUrl, LedgerEntry

Progress = Callable[[int], None]
"""Called with the number of records, or of captures, read so far."""

_TABLES = """
    CREATE TABLE unchanged (canonical TEXT PRIMARY KEY, number TEXT, entry BLOB, is_own INTEGER) WITHOUT ROWID;
    CREATE TABLE unrecorded (canonical TEXT PRIMARY KEY, number TEXT, entry BLOB, is_own INTEGER) WITHOUT ROWID;
    CREATE TABLE copies (number TEXT PRIMARY KEY, copy TEXT) WITHOUT ROWID;
"""
_COPY_OF_RECORDED = "INSERT OR REPLACE INTO copies SELECT number, ? FROM unchanged WHERE canonical = ?"
_COPY_OF_UNRECORDED = "INSERT OR REPLACE INTO copies SELECT ?, number FROM unrecorded WHERE canonical = ?"
NUMBERS_TOLD = 10_000
"""Records or captures between two calls of a `Progress`."""


class SettledUrls:
    """Reads them once."""

    def __init__(self, sources: Sources, urls: RecordUrls, *, progress: Progress) -> None:
        self._sources = sources
        self._urls = urls
        self._progress = progress
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.executescript(f"PRAGMA journal_mode = OFF; {_TABLES}")
        self._database.execute("BEGIN")
        self._waiting = 0
        self.recorded = NumberSet()
        self.copyless = NumberSet()
        """Last visits at which pages had not changed, and nothing of before says what they hold. Known after `entries`,
        and those of other parts, too."""
        self.records = 0
        """Records read so far, and pages of the archive without a record."""
        self.visits = 0
        """Of these, the ones of URLs that belong to the state."""

    def close(self) -> None:
        self._database.close()

    def copy_of(self, number: int) -> int | None:
        """The number of the visit that says what a page holds which had not changed at its last one."""
        query = "SELECT copy FROM copies WHERE number = ?"
        with room():
            found = self._database.execute(query, (str(number),)).fetchone()
        return None if found is None else int(found[0])

    def entries(self) -> Iterator[LedgerEntry | None]:
        """First those of records, then those of pages in the archive that have no record. Of several entries of one
        URL, the first counts. None stands for a visit that tells nothing yet: there may be millions in a row, and who
        reads them may have to end. Raises `NoRoom`."""
        with room():  # also while it is read: then changes are written that were only in memory
            yield from self._entries()

    def _entries(self) -> Iterator[LedgerEntry | None]:
        for directory in self._sources.newest_first:
            yield from self._of_records(directory)
        yield from self._stored("unchanged")
        for directory in self._sources.newest_first:
            for _ in self._store_captures(directory):
                yield None
            yield from self._stored("unrecorded")
            self._database.execute("DELETE FROM unrecorded")
        query = "SELECT number FROM unchanged WHERE number NOT IN (SELECT number FROM copies)"
        for (number,) in self._database.execute(query):
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
            entry = msgspec.structs.replace(entry, settled_in=lineage)
            if record.change == Change.NOT_MODIFIED:
                self._store("INSERT OR IGNORE", "unchanged", entry, is_own=is_own)
                self._waiting += 1
                yield None
            else:
                entry = self._with_later(entry) if self._waiting else entry
                yield entry if is_own else None

    def _with_later(self, entry: LedgerEntry) -> LedgerEntry:
        """The entry of the last visit at which the page had not changed since this one, if there is any."""
        where = (entry.canonical,)
        found = self._database.execute("SELECT entry FROM unchanged WHERE canonical = ?", where).fetchone()
        if found is None:
            return entry
        later = _decoded(found[0])
        self._database.execute("DELETE FROM unchanged WHERE canonical = ?", where)
        self._database.execute("INSERT INTO copies VALUES (?, ?)", (str(later.number), str(entry.number)))
        return msgspec.structs.replace(later, digest=entry.digest, etag=later.etag or entry.etag)

    def _store_captures(self, directory: CrawlDirectory) -> Iterator[int]:
        """Yields the number of each visit."""
        lineage = self._sources.lineages.get(directory.original)
        for number, group in groupby(read_captures(directory, self._progress, whole=False), key=attrgetter("number")):
            yield number
            found = {capture.kind: capture for capture in group}
            facts = facts_of(found)
            main = found.get("metadata" if FAILURE in facts else "response") or found.get("revisit")
            if number in self.recorded or main is None:
                continue
            url = self._urls.of_url(main.url, depth=0, kind=LinkKind.LINK, via=facts.get("via"))
            if main.kind == "revisit":
                self._note_unchanged(main, url)
                continue
            self.records += 1
            if url is None:
                continue
            is_own = self._sources.owns(url.queue_key)
            self.visits += is_own
            with suppress(ValueError):
                failure = facts.get(FAILURE)
                status = main.http()[0] if failure is None else None
                entry = entry_of_capture(url, number, status=status, failure=failure)
                entry = msgspec.structs.replace(entry, settled_in=lineage)
                self._store("INSERT OR REPLACE", "unrecorded", entry, is_own=is_own)
                if failure is None and self._waiting:
                    self._note_copies(_COPY_OF_RECORDED, number, url)

    def _note_unchanged(self, revisit: Capture, url: CrawlUrl | None) -> None:
        """A visit without a record, if the page had not changed."""
        with suppress(ValueError):
            if url is not None and revisit.http()[0] == HTTPStatus.NOT_MODIFIED:
                self._note_copies(_COPY_OF_UNRECORDED, revisit.number, url)

    def _note_copies(self, query: str, number: int, url: CrawlUrl) -> None:
        self._database.execute(query, (str(number), url.canonical))

    def _store(self, how: str, table: str, entry: LedgerEntry, *, is_own: bool) -> None:
        self._database.execute(
            f"{how} INTO {table} VALUES (?, ?, ?, ?)",  # ours
            (entry.canonical, str(entry.number), msgspec.msgpack.encode(entry), is_own),
        )

    def _stored(self, table: str) -> Iterator[LedgerEntry]:
        for (entry,) in self._database.execute(f"SELECT entry FROM {table} WHERE is_own"):  # noqa: S608 - ours
            yield _decoded(entry)


def _decoded(entry: bytes) -> LedgerEntry:
    return msgspec.msgpack.decode(entry, type=LedgerEntry)


def read_captures(directory: CrawlDirectory, progress: Progress, *, whole: bool) -> Iterator[Capture]:
    if not directory.warc.is_dir():
        return
    for count, capture in enumerate(captures(directory.warc, full_blocks=whole), 1):
        if count % NUMBERS_TOLD == 0:
            progress(count)
        if isinstance(capture, Capture):
            yield capture


def facts_of(found: dict[str, Capture]) -> dict[str, str]:
    """What the archive says of a page, given its records by kind."""
    return found["metadata"].metadata_fields() if "metadata" in found else {}
