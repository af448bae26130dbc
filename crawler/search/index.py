"""The index of a search: an SQLite file with a full-text table."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final, Self
from urllib.parse import unquote, urlsplit

import msgspec

from crawler.files.content import BESIDE_SQLITE
from crawler.search.archive import ARCHIVE_SCHEMA, IndexedArchive
from crawler.search.excerpts import BEGIN, END, Excerpts, marked
from crawler.search.forms import Hit
from crawler.search.transactions import changing, execute_patiently
from crawler.search.words import TOKENIZER, Query, separated

_ELSEWHERE: Final = "move it away, or name another file with --index"
_OURS: Final = 0x6F6E6365  # `application_id` of the file
_VERSION: Final = 6
_WAIT_S: Final = 1.0
"""SQLite waits so long in one piece, and then no signal interrupts it."""
_UNWANTED: Final = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(127, 160), *range(0xD800, 0xE000)), " ")
"""Control characters: two of them mark words, SQLite ends a text at another, and terminals obey some. And lone
surrogates, which UTF-8 can't encode."""
_WEIGHTS: Final = "8.0, 2.0, 1.0"
"""Of a word in the title, the path and the text."""
_SCHEMA: Final = f"""
CREATE TABLE IF NOT EXISTS page (
    id INTEGER PRIMARY KEY, url TEXT UNIQUE NOT NULL, host TEXT NOT NULL, number INTEGER NOT NULL,
    fetched_at TEXT NOT NULL, failure TEXT, file INTEGER NOT NULL, has_text INTEGER NOT NULL, awaits INTEGER);
CREATE INDEX IF NOT EXISTS page_by_file ON page (file);
CREATE INDEX IF NOT EXISTS page_awaiting ON page (id) WHERE awaits IS NOT NULL;
CREATE TABLE IF NOT EXISTS file (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, read INTEGER NOT NULL, tail BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS unread_records (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (title, path, text, tokenize = "{TOKENIZER}");
{ARCHIVE_SCHEMA}
PRAGMA application_id = {_OURS};
PRAGMA user_version = {_VERSION}
"""


class IndexRefused(Exception):
    """The file can't be used as an index."""


class IndexedFile(msgspec.Struct, frozen=True):
    """How far a file of records is in the index."""

    id: int
    read: int
    """Bytes."""
    tail: bytes
    """What is before that place, as a digest."""


class IndexedPage(msgspec.Struct, frozen=True, kw_only=True):
    """What the index gets of a page."""

    number: int
    url: str
    fetched_at: str
    title: str
    text: str
    awaits: int | None
    """Where its record is in the file, if the archive could not be read for its text."""


class SearchIndex:
    """The pages of a crawl by their words. As a context it closes the file."""

    def __init__(self, path: Path) -> None:
        """Makes the file if it is missing, of another version, or no database any more. Raises `IndexRefused` and
        `sqlite3.Error`."""
        self._path = path
        try:
            self._database = self._open()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if not is_damage(error):
                raise
            delete_index(path)
            self._database = self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def _open(self) -> sqlite3.Connection:
        if self._path.exists() and not self._path.is_file():
            raise IndexRefused(f"expected a file for the index, found something else: {self._path}; {_ELSEWHERE}")
        database = sqlite3.connect(self._path, timeout=_WAIT_S, isolation_level=None)
        try:
            # The tables first: another process may make them meanwhile, with both numbers.
            (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            (owner,), (version,) = (
                database.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
            )
            if tables and owner != _OURS:
                raise IndexRefused(f"{self._path} is a database of something else; {_ELSEWHERE}")
            if tables and version != _VERSION:
                database.close()
                delete_index(self._path)
                return self._open()
            execute_patiently(database, "PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            if not tables:
                with changing(database):
                    for statement in _SCHEMA.split(";"):
                        database.execute(statement)
        except BaseException:
            database.close()
            raise
        return database

    def archive(self, directory: Path) -> IndexedArchive:
        """What it knows of the archive of the crawl in a directory."""
        return IndexedArchive(directory, self._database, self.changing)

    def changing(self) -> AbstractContextManager[None]:
        """A transaction. It waits for those of other processes, as long as these get on."""
        return changing(self._database)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A transaction that sees the index as it is now, although other processes change it meanwhile."""
        self._database.execute("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")

    def files(self) -> dict[str, IndexedFile]:
        """By name."""
        rows = self._database.execute("SELECT name, id, read, tail FROM file")
        return {name: IndexedFile(*rest) for name, *rest in rows}

    def file(self, name: str) -> IndexedFile:
        """How far a file is in the index. One that is not has been read to byte 0."""
        row = self._database.execute("SELECT id, read, tail FROM file WHERE name = ?", (name,)).fetchone()
        if row is not None:
            return IndexedFile(*row)
        made = self._database.execute("INSERT INTO file (name, read, tail) VALUES (?, 0, x'')", (name,)).lastrowid
        assert made is not None
        return IndexedFile(made, 0, b"")

    def note_read(self, file: IndexedFile, read: int, tail: bytes) -> None:
        self._database.execute("UPDATE file SET read = ?, tail = ? WHERE id = ?", (read, tail, file.id))

    def drop_file(self, file: IndexedFile) -> None:
        """Forget a file and its pages."""
        self._database.execute("DELETE FROM words WHERE rowid IN (SELECT id FROM page WHERE file = ?)", (file.id,))
        self._database.execute("DELETE FROM page WHERE file = ?", (file.id,))
        self._database.execute("DELETE FROM file WHERE id = ?", (file.id,))

    def unread(self) -> set[str]:
        """The files and folders of records that could not be read when those after them were."""
        return {name for (name,) in self._database.execute("SELECT name FROM unread_records")}

    def note_unread(self, names: Iterable[str]) -> None:
        self._database.execute("DELETE FROM unread_records")
        self._database.executemany("INSERT INTO unread_records VALUES (?)", [(name,) for name in names])

    def clear(self) -> None:
        """Forget all files of records and all pages."""
        for statement in ("DELETE FROM words", "DELETE FROM page", "DELETE FROM file"):
            self._database.execute(statement)

    def is_newer(self, url: str, fetched_at: str) -> bool:
        """Whether the index has a later visit of a page than this one."""
        row = self._database.execute("SELECT fetched_at FROM page WHERE url = ?", (url,)).fetchone()
        return row is not None and str(row[0]) > fetched_at

    def note_failure(self, url: str, fetched_at: str, failure: str | None) -> None:
        """Note why a later visit of a page got nothing; None if it found the page unchanged."""
        self._database.execute(
            "UPDATE page SET failure = ? WHERE url = ? AND fetched_at <= ?", (failure, url, fetched_at)
        )

    def put(self, page: IndexedPage, file: IndexedFile) -> None:
        """Add a page, or replace it."""
        before, failure = self.drop(page.url)
        if before != page.fetched_at:  # otherwise its text is there at last
            failure = None
        parts = urlsplit(page.url)
        host = (parts.hostname or "").rstrip(".")
        # sqlite3 takes long to bind what is no exact text or integer, such as None.
        values = page.url, host, page.number, page.fetched_at, file.id, int(page.text != "")
        made = self._database.execute(
            "INSERT INTO page (url, host, number, fetched_at, file, has_text) VALUES (?, ?, ?, ?, ?, ?)", values
        )
        if failure is not None or page.awaits is not None:
            self._database.execute(
                "UPDATE page SET failure = ?, awaits = ? WHERE id = ?", (failure, page.awaits, made.lastrowid)
            )
        path = unquote(f"{parts.path} {parts.query}")
        words = (separated(each.translate(_UNWANTED)) for each in (page.title, path, page.text))
        self._database.execute(
            "INSERT INTO words (rowid, title, path, text) VALUES (?, ?, ?, ?)", (made.lastrowid, *words)
        )

    def drop(self, url: str) -> tuple[str | None, str | None]:
        """Forget a page. Returns when it was fetched, and what a later visit got instead."""
        query = "SELECT id, fetched_at, failure FROM page WHERE url = ?"
        row = self._database.execute(query, (url,)).fetchone()
        if row is None:
            return None, None
        place, fetched_at, failure = row
        self._database.execute("DELETE FROM words WHERE rowid = ?", (place,))
        self._database.execute("DELETE FROM page WHERE id = ?", (place,))
        return fetched_at, failure

    def last_page(self) -> int:
        """The highest place of a page, so far."""
        (last,) = self._database.execute("SELECT coalesce(max(id), 0) FROM page").fetchone()
        return int(last)

    def awaiting(self, after: int, upto: int, limit: int) -> list[tuple[int, str, int]]:
        """The pages between two places whose texts could not be read: their places, the files of their records, and
        where these are there."""
        return self._database.execute(
            "SELECT page.id, name, awaits FROM page JOIN file ON file.id = page.file "
            "WHERE awaits IS NOT NULL AND page.id > ? AND page.id <= ? ORDER BY page.id LIMIT ?",
            (after, upto, limit),
        ).fetchall()

    def count_awaiting(self) -> int:
        (count,) = self._database.execute("SELECT count(*) FROM page WHERE awaits IS NOT NULL").fetchone()
        return int(count)

    def counts(self) -> tuple[int, int]:
        """How many pages it has, and of how many of these a text."""
        pages, with_text = self._database.execute("SELECT count(*), total(has_text) FROM page").fetchone()
        return pages, int(with_text)

    def find(self, query: Query, *, limit: int, skip: int) -> tuple[int, list[Hit]]:
        """How many pages have the words, and the best of these, without the first `skip`. Within `reading`."""
        within, values = _within(query)
        matching = f"FROM words JOIN page ON page.id = words.rowid WHERE words MATCH ?{within}"
        (pages,) = self._database.execute(f"SELECT count(*) {matching}", (query.match, *values)).fetchone()
        # An excerpt is only made of those that are shown.
        best = self._database.execute(
            f"SELECT page.id, bm25(words, {_WEIGHTS}) AS rank {matching} ORDER BY rank, page.id LIMIT ? OFFSET ?",
            (query.match, *values, limit, skip),
        ).fetchall()
        with Excerpts() as excerpts:
            return pages, [self._hit(query, place, rank, excerpts) for place, rank in best]

    def _hit(self, query: Query, place: int, rank: float, excerpts: Excerpts) -> Hit:
        found = self._database.execute(
            "SELECT number, url, fetched_at, failure, text, highlight(words, 0, ?, ?) "
            "FROM words JOIN page ON page.id = words.rowid WHERE words MATCH ? AND words.rowid = ?",
            (BEGIN, END, query.match, place),
        ).fetchone()
        match found and (*found, rank):
            case int(number), str(url), str(fetched_at), str() | None as failure, str(text), str(title), float(rank):
                pass
            case _:
                raise sqlite3.DatabaseError(f"page {place} of the index is damaged")
        title, title_marks = marked(title)
        excerpt, excerpt_marks = marked(excerpts.excerpt(query, text))
        return Hit(
            number=number,
            url=url,
            fetched_at=fetched_at,
            later_failure=failure,
            title=title,
            title_marks=title_marks,
            excerpt=excerpt,
            excerpt_marks=excerpt_marks,
            score=-rank,
        )


def _within(query: Query) -> tuple[str, Sequence[str]]:
    """The condition for hosts, and its values."""
    conditions, values = "", list[str]()
    for hosts, negation in ((query.hosts, ""), (query.hosts_without, "NOT ")):
        if hosts:
            any_of = " OR ".join("page.host = ? OR substr(page.host, -length(?)) = ?" for _ in hosts)
            conditions += f" AND {negation}({any_of})"
            values += [value for host in hosts for value in (host, f".{host}", f".{host}")]
    return conditions, values


def is_damage(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    """Whether the file is damaged, or no database. Text or a message that is not UTF-8 has no code."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is None or code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def delete_index(path: Path) -> None:
    """Delete an index. It can be made anew."""
    for ending in ("", *BESIDE_SQLITE):
        path.with_name(path.name + ending).unlink(missing_ok=True)
