"""The index of a search: an SQLite file with a full-text table."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self
from urllib.parse import unquote, urlsplit

import msgspec

from crawler.files.content import BESIDE_SQLITE
from crawler.search.forms import Hit, Marks
from crawler.search.words import BREAK, Query, separated

_OURS: Final = 0x6F6E6365  # `application_id` of the file
_VERSION: Final = 3
_WAIT_S: Final = 60.0
_EXCERPT_WORDS: Final = 32
_PIECE: Final = re.compile(rf"(?s).{{1,4000}}(?:[\s{BREAK}]|\Z)|.{{4000}}")
"""A text is cut into these, where its words end if it has any so short."""
_WORD: Final = re.compile(r"\w+\W*|\W+")
_BEGIN, _END = "\x02", "\x03"
_UNWANTED: Final = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(127, 160), *range(0xD800, 0xE000)), " ")
"""Control characters: two of them mark words, SQLite ends a text at another, and terminals obey some. And lone
surrogates, which UTF-8 can't encode."""
_WEIGHTS: Final = "8.0, 2.0, 1.0"
"""Of a word in the title, the path and the text."""
TOKENIZER: Final = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
"""Vowel signs (Mn, Mc) are parts of a word, without which few words of Hindi or Tamil could be told apart."""
_SCHEMA: Final = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS page (
    id INTEGER PRIMARY KEY, url TEXT UNIQUE NOT NULL, host TEXT NOT NULL, number INTEGER NOT NULL,
    fetched_at TEXT NOT NULL, file INTEGER NOT NULL, has_text INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS page_by_file ON page (file);
CREATE TABLE IF NOT EXISTS file (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, read INTEGER NOT NULL, tail BLOB NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (title, path, text, tokenize = "{TOKENIZER}");
PRAGMA application_id = {_OURS};
PRAGMA user_version = {_VERSION};
COMMIT;
"""
_PIECES: Final = f'CREATE VIRTUAL TABLE temp.piece USING fts5 (title, path, text, tokenize = "{TOKENIZER}")'


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
            raise IndexRefused(f"expected a file for the index, found something else: {self._path}; move it away")
        database = sqlite3.connect(self._path, timeout=_WAIT_S, isolation_level=None)
        try:
            (owner,), (version,) = (
                database.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
            )
            (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if tables and owner != _OURS:
                raise IndexRefused(f"{self._path} is a database of something else: move it away, or name another file")
            if tables and version != _VERSION:
                database.close()
                delete_index(self._path)
                return self._open()
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            if not tables:
                database.executescript(_SCHEMA)
            database.execute("PRAGMA temp_store = MEMORY")
            database.execute(_PIECES)
        except BaseException:
            database.close()
            raise
        return database

    @contextmanager
    def changing(self) -> Iterator[None]:
        """A transaction. It waits for those of other processes."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

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

    def is_newer(self, url: str, fetched_at: str) -> bool:
        """Whether the index has a later visit of a page than this one."""
        row = self._database.execute("SELECT fetched_at FROM page WHERE url = ?", (url,)).fetchone()
        return row is not None and str(row[0]) > fetched_at

    def put(self, page: IndexedPage, file: IndexedFile) -> None:
        """Add a page, or replace it."""
        self.drop(page.url)
        parts = urlsplit(page.url)
        values = (page.url, (parts.hostname or "").rstrip("."), page.number, page.fetched_at, file.id, bool(page.text))
        made = self._database.execute(
            "INSERT INTO page (url, host, number, fetched_at, file, has_text) VALUES (?, ?, ?, ?, ?, ?)", values
        )
        path = unquote(f"{parts.path} {parts.query}")
        words = (separated(each.translate(_UNWANTED)) for each in (page.title, path, page.text))
        self._database.execute(
            "INSERT INTO words (rowid, title, path, text) VALUES (?, ?, ?, ?)", (made.lastrowid, *words)
        )

    def drop(self, url: str) -> None:
        """Forget a page."""
        row = self._database.execute("SELECT id FROM page WHERE url = ?", (url,)).fetchone()
        if row is not None:
            self._database.execute("DELETE FROM words WHERE rowid = ?", row)
            self._database.execute("DELETE FROM page WHERE id = ?", row)

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
        return pages, [self._hit(query, place, rank) for place, rank in best]

    def _hit(self, query: Query, place: int, rank: float) -> Hit:
        found = self._database.execute(
            "SELECT number, url, fetched_at, text, highlight(words, 0, ?, ?) "
            "FROM words JOIN page ON page.id = words.rowid WHERE words MATCH ? AND words.rowid = ?",
            (_BEGIN, _END, query.match, place),
        ).fetchone()
        match found and (*found, rank):
            case int(number), str(url), str(fetched_at), str(text), str(title), float(rank):
                pass
            case _:
                raise sqlite3.DatabaseError(f"page {place} of the index is damaged")
        title, title_marks = _marked(title)
        excerpt, excerpt_marks = _marked(self._excerpt(query, text))
        return Hit(
            number=number,
            url=url,
            fetched_at=fetched_at,
            title=title,
            title_marks=title_marks,
            excerpt=excerpt,
            excerpt_marks=excerpt_marks,
            score=-rank,
        )

    def _excerpt(self, query: Query, text: str) -> str:
        """Some words around those that are searched, or else the first ones, as if only the title has those. They are
        taken from one piece of the text, because FTS5 takes a time that grows with the square of the hits."""
        pieces = _PIECE.findall(text)
        self._database.execute("DELETE FROM piece")
        self._database.executemany(
            "INSERT INTO piece (rowid, title, path, text) VALUES (?, '', '', ?)", enumerate(pieces, 1)
        )
        best = self._database.execute(
            "SELECT rowid, snippet(piece, 2, ?, ?, '…', ?) FROM piece WHERE piece MATCH ? ORDER BY rank, rowid LIMIT 1",
            (_BEGIN, _END, _EXCERPT_WORDS, query.any_of),
        ).fetchone()
        if best is None:
            first = "".join(_WORD.findall("".join(pieces[:1]))[:_EXCERPT_WORDS])
            return first if first == text else f"{first.rstrip()}…"
        number, excerpt = best
        before = "" if number == 1 or excerpt.startswith("…") else "…"
        after = "" if number == len(pieces) or excerpt.endswith("…") else "…"
        return f"{before}{excerpt}{after}"


def _within(query: Query) -> tuple[str, Sequence[str]]:
    """The condition for hosts, and its values."""
    conditions, values = "", list[str]()
    for hosts, negation in ((query.hosts, ""), (query.hosts_without, "NOT ")):
        if hosts:
            any_of = " OR ".join("page.host = ? OR substr(page.host, -length(?)) = ?" for _ in hosts)
            conditions += f" AND {negation}({any_of})"
            values += [value for host in hosts for value in (host, f".{host}", f".{host}")]
    return conditions, values


def _marked(text: str) -> tuple[str, Marks]:
    """A text on one line, without what marks words in it, and where these are."""
    plain, marks, begin = "", list[tuple[int, int]](), 0
    for character in " ".join(text.replace(BREAK, "").split()):
        if character == _BEGIN:
            begin = len(plain)
        elif character == _END:
            marks.append((begin, len(plain)))
        else:
            plain += character
    return plain, marks


def is_damage(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    """Whether the file is damaged, or no database. Text or a message that is not UTF-8 has no code."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is None or code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def delete_index(path: Path) -> None:
    """Delete an index. It can be made anew."""
    for ending in ("", *BESIDE_SQLITE):
        path.with_name(path.name + ending).unlink(missing_ok=True)
