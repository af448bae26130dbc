"""What the ledger and the outputs of a crawl tell about each record number, side by side.

It lies in a file without a name, so a crawl of any size needs little memory.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

import msgspec

_CACHE_KIB: Final = 32_000
_MOST: Final = 2**63 - 1
_LONGEST_WHY: Final = 1000
_TABLES: Final = """
    CREATE TABLE told (
        source INTEGER, number INTEGER, url TEXT, state TEXT, status INTEGER, digest TEXT, payload TEXT,
        referred TEXT,
        is_archived INTEGER, is_whole INTEGER, copies INTEGER, has_two_urls INTEGER, PRIMARY KEY (source, number)
    ) WITHOUT ROWID;
    CREATE VIEW settled AS SELECT a.* FROM told AS a
        JOIN told AS l ON l.source = 0 AND l.number = a.number;
    CREATE TABLE wanted (source INTEGER, number INTEGER, PRIMARY KEY (source, number)) WITHOUT ROWID;
    CREATE TABLE payload (digest TEXT PRIMARY KEY, body TEXT) WITHOUT ROWID;
    CREATE TABLE lacking (digest TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE elsewhere (digest TEXT, record TEXT, PRIMARY KEY (digest, record)) WITHOUT ROWID;
    CREATE TABLE unreadable (path TEXT, offset INTEGER, why TEXT);
"""
_ADD: Final = """
    INSERT INTO told VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0)
    ON CONFLICT DO UPDATE SET copies = copies + 1, has_two_urls = has_two_urls OR url != excluded.url,
        url = excluded.url, state = excluded.state, status = excluded.status,
        digest = excluded.digest, payload = excluded.payload, referred = excluded.referred,
        is_archived = excluded.is_archived, is_whole = excluded.is_whole
"""
_COMPARED: Final = ("state", "status", "digest")
_OF_BOTH: Final = """
    SELECT a.url, a.number, a.is_whole, a.state, b.state, a.status, b.status, a.digest, b.digest
    FROM settled AS a JOIN told AS b ON b.source = ? AND b.number = a.number WHERE a.source = ?
"""


class NoRoom(Exception):
    """The temporary file does not fit. The message says what to do."""


class Source(IntEnum):
    """Where a fact comes from. Each sink beside records and archive has a number of its own, from `FIRST_SINK` on."""

    LEDGER = 0
    RECORDS = 1
    ARCHIVE = 2
    EXCHANGES = 3
    """What the archive has beside pages, such as robots.txt files, which have no numbers: they are counted here."""
    FIRST_SINK = 4


class Fact(msgspec.Struct, frozen=True, gc=False):
    """What one source tells about a number. None is what it does not tell."""

    number: int
    url: str
    state: str | None = None
    status: int | None = None
    digest: str | None = None
    """The digest of the body without content coding."""
    payload: str | None = None
    """The digest of the body as received, where only an earlier record has that body."""
    referred: str | None = None
    """The moment and URL of that record, in 14 digits, a space and the URL. Without `payload`: the server said that
    the page has not changed, and the moment is not known. Empty for such a record of `records/`."""
    is_archived: bool = False
    """Whether the archive must have the page."""
    is_whole: bool = True
    """Whether `digest` is that of a complete body. That of a truncated page is not."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """How many numbers an output has."""

    name: str
    numbers: int
    repeated: int
    """Numbers that it has more than once: pages that were in flight when a crawl was killed."""
    forgotten: int
    """Numbers whose URL the ledger does not know, such as one that it was told to forget."""
    pruned: int = 0
    """Numbers that it had in files which were deleted on purpose."""
    unarchived: int = 0
    """Numbers that the records have and the archive rightly lacks, as of URLs without an answer."""


class Disagreement(msgspec.Struct, frozen=True):
    """Two sources that contradict each other about a number."""

    number: int
    url: str
    what: str
    """state, status or digest"""
    one: object
    other: object


class Facts:
    """Collects facts, then compares them. Of several facts of one source about a number, the last counts."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.executescript(f"PRAGMA cache_size = -{_CACHE_KIB}; PRAGMA journal_mode = OFF; {_TABLES}")
        self._database.execute("BEGIN")

    def close(self) -> None:
        self._database.close()

    def add(self, source: int, facts: Iterable[Fact]) -> None:
        rows = (
            (source, _signed(number), _storable(url), *others)
            for number, url, *others in map(msgspec.structs.astuple, facts)
        )
        with room():
            self._database.executemany(_ADD, rows)

    def add_unreadable(self, path: Path, offset: int, why: str) -> None:
        """A line that can't be decoded. There may be as many as there are pages. May be called while facts are
        added."""
        with room():
            self._database.execute("INSERT INTO unreadable VALUES (?, ?, ?)", (str(path), offset, why[:_LONGEST_WHY]))

    def unreadable(self) -> Iterator[tuple[str, int, str]]:
        """The lines that can't be decoded: file, byte and reason."""
        return self._rows("SELECT path, offset, why FROM unreadable")

    def add_payload(self, payload: str, body: str | None) -> None:
        """A body of the archive: the digests of what was received, and of that without content coding."""
        self._database.execute("INSERT OR REPLACE INTO payload VALUES (?, ?)", (payload, body))

    def replace_archived_digest(self, number: int, digest: str | None) -> None:
        change = "UPDATE told SET digest = ? WHERE source = ? AND number = ?"
        self._database.execute(change, (digest, Source.ARCHIVE, _signed(number)))

    def count(self, source: int) -> int:
        """How many numbers a source tells of."""
        return self._number("SELECT count(*) FROM told WHERE source = ?", source)

    def repeated(self, source: int) -> int:
        """How many numbers a source tells of more than once."""
        return self._number("SELECT count(*) FROM told WHERE source = ? AND copies > 1", source)

    def missing(self, source: int, *, among: int, archived_only: bool = False) -> Iterator[tuple[int, str, str]]:
        """Settled numbers that a source lacks and the source `among` has: number, URL and state. With `archived_only`,
        only those that the archive must have."""
        query = f"""
            SELECT a.number, a.url, a.state FROM settled AS a
            LEFT JOIN told AS b ON b.source = ? AND b.number = a.number
            WHERE a.source = ? AND b.number IS NULL {"AND a.is_archived" if archived_only else ""}
        """  # noqa: S608  # ours
        return self._rows(query, source, among)

    def unarchived(self) -> int:
        """How many numbers the records have that the archive lacks and need not have."""
        query = """
            SELECT count(*) FROM told AS a LEFT JOIN told AS b ON b.source = ? AND b.number = a.number
            WHERE a.source = ? AND NOT a.is_archived AND b.number IS NULL
        """
        return self._number(query, Source.ARCHIVE, Source.RECORDS)

    def unknown(self, source: int) -> Iterator[tuple[int, str]]:
        """Numbers of a source that the ledger gives to no settled URL: number and URL."""
        query = """
            SELECT a.number, a.url FROM told AS a LEFT JOIN told AS b ON b.source = 0 AND b.number = a.number
            WHERE a.source = ? AND b.number IS NULL
        """
        return self._rows(query, source)

    def of_two_urls(self, source: int) -> Iterator[tuple[int, str]]:
        """Numbers that a source gives to several URLs: number, and one of the URLs."""
        return self._rows("SELECT number, url FROM told WHERE source = ? AND has_two_urls", source)

    def dangling(self, source: int) -> Iterator[tuple[int, str]]:
        """Numbers of a source that refer to a body which neither the archive nor an earlier crawl has: number and
        URL."""
        query = """
            SELECT number, url FROM told WHERE source = ? AND payload IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM payload WHERE payload.digest = told.payload)
            AND NOT EXISTS (SELECT 1 FROM elsewhere WHERE digest = told.payload AND record = told.referred)
        """
        return self._rows(query, source)

    def without_copy(self, source: int) -> Iterator[tuple[int, str]]:
        """Numbers at which a server said that a page has not changed (304), although the archive has no body of its
        URL, or the records no other visit that was answered: number and URL."""
        query = """
            SELECT number, url FROM told WHERE source = ? AND payload IS NULL AND referred IS NOT NULL
            AND url NOT IN (
                SELECT url FROM told WHERE source = ? AND (payload IS NOT NULL OR referred IS NULL)
                AND (state IS NULL OR state = 'done')
            )
        """
        return self._rows(query, source, source)

    def lacks_payloads(self) -> bool:
        """Whether the archive refers to bodies that no record of it has. Call this before `add_elsewhere`."""
        query = """
            INSERT OR IGNORE INTO lacking SELECT payload FROM told WHERE payload IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM payload WHERE payload.digest = told.payload)
        """
        return self._database.execute(query).rowcount > 0

    def add_elsewhere(self, payload: str, record: str) -> None:
        """A body that an earlier crawl has: its digest, and the moment and URL of the record."""
        insert = "INSERT OR IGNORE INTO elsewhere SELECT ?, ? WHERE EXISTS (SELECT 1 FROM lacking WHERE digest = ?)"
        self._database.execute(insert, (payload, _storable(record), payload))

    def resolve_payloads(self) -> None:
        """Give numbers without a body the digest of the body that they refer to. Rendered pages have that of their
        document."""
        self._database.execute(
            "UPDATE told SET digest = (SELECT body FROM payload WHERE payload.digest = told.payload) "
            "WHERE source = ? AND payload IS NOT NULL AND digest IS NULL",
            (Source.ARCHIVE,),
        )

    def disagreements(self, source: int, *, among: int) -> Iterator[Disagreement]:
        """Where a source contradicts the source `among` about a settled number.

        A value that only one of them has is no contradiction. A status is the exception, because all sources but the
        archive have it. The archive is not compared about a truncated page, of which it may have another body.
        """
        is_archive = source == Source.ARCHIVE
        for url, number, is_whole, *pairs in self._rows(_OF_BOTH, source, among):
            for what, one, other in zip(_COMPARED, pairs[::2], pairs[1::2], strict=True):
                is_told = (what == "status" and not is_archive) or (one is not None and other is not None)
                if one != other and is_told and (is_whole or not is_archive):
                    yield Disagreement(number, url, what, one, other)

    def of_other_urls(self, source: int) -> Iterator[tuple[int, str, str]]:
        """Settled numbers that a sink has for another URL than the records: number, and both URLs."""
        query = """
            SELECT a.number, a.url, b.url FROM settled AS a JOIN told AS b ON b.source = ? AND b.number = a.number
            WHERE a.source = ? AND a.url != b.url
        """
        return self._rows(query, source, Source.RECORDS)

    def note_wanted(self, source: int) -> int:
        """Note the settled numbers that a sink lacks, or of which it contradicts the records, as in `disagreements` and
        `of_other_urls`. Returns how many these are."""
        query = """
            INSERT INTO wanted SELECT ?, a.number FROM settled AS a
            LEFT JOIN told AS b ON b.source = ? AND b.number = a.number WHERE a.source = ?
            AND (b.number IS NULL OR a.url != b.url
                 OR a.state != b.state OR a.status IS NOT b.status OR a.digest != b.digest)
        """
        return self._database.execute(query, (source, source, Source.RECORDS)).rowcount

    def is_wanted(self, source: int, number: int) -> bool:
        found = self._database.execute(
            "SELECT 1 FROM wanted WHERE source = ? AND number = ?", (source, _signed(number))
        )
        return found.fetchone() is not None

    def _number(self, query: str, *sources: int) -> int:
        (number,) = self._database.execute(query, sources).fetchone()
        return int(number)

    def _rows(self, query: str, *sources: int) -> Iterator[tuple[Any, ...]]:
        with closing(self._database.execute(query, sources)) as found:
            yield from found


@contextmanager
def room() -> Iterator[None]:
    """Translates the error of a temporary file that does not fit. Raises `NoRoom`."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_FULL:
            raise
        raise NoRoom(
            "there is no room for a temporary file of SQLite with what is compared, some hundred bytes for each page "
            "and output: free some space on its disk, or set SQLITE_TMPDIR to a folder on a larger one"
        ) from error


def _signed(number: int) -> int:
    return number if number <= _MOST else number - 2**64


def _storable(url: str) -> str:
    """The URL in the form in which all sinks can store it."""
    return url if url.isascii() else url.encode("utf-8", "replace").decode()
