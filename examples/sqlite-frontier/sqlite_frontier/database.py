"""The file: its tables, transactions and errors."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from frontier import CrawlUrl, LedgerEntry, StoreFailed, StoreFull, StoreRefused, UrlState
from frontier.queues.queue import QueueRecord
from frontier.terms import Terms, check_identity

FORMAT = "onceover-sqlite-1"
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE urls (
    canonical TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    state INTEGER NOT NULL,
    hits INTEGER NOT NULL,
    entry TEXT NOT NULL,
    url TEXT, queue TEXT, precedence INTEGER, ordinal INTEGER, due_at REAL
) WITHOUT ROWID;
CREATE INDEX waiting ON urls (queue, precedence, ordinal) WHERE url IS NOT NULL AND due_at IS NULL;
CREATE INDEX retries ON urls (due_at) WHERE due_at IS NOT NULL;
CREATE TABLE queues (key TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE groups (name TEXT PRIMARY KEY, wake_at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE notes (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE aside (key TEXT, value BLOB, why TEXT);
"""
_Value = TypeVar("_Value")


def dump(value: object) -> str:
    """A value as JSON. Escapes take what a page or a header may have that is not Unicode."""
    return json.dumps(msgspec.to_builtins(value))


def load(text: str, kind: type[_Value]) -> _Value:
    return msgspec.convert(json.loads(text), kind)


class Database:
    """The database of a directory, which is made if it is missing, and which no other process can use meanwhile."""

    def __init__(self, directory: Path, terms: Terms, *, durability: str) -> None:
        self.path = directory / "frontier.sqlite"
        directory.mkdir(parents=True, exist_ok=True)
        is_new = not self.path.exists() or not self.path.stat().st_size
        if is_new and not (terms.may_begin or terms.to_repair):
            raise StoreFailed(f"{self.path} is empty, but the crawl has written output; restore a copy, or use --fresh")
        with self._explaining():
            self._db = sqlite3.connect(self.path, isolation_level=None, timeout=0)
        try:
            with self._explaining():
                self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
                self._db.execute("PRAGMA journal_mode = WAL")
                # In this mode each transaction survives the process, whatever is synced.
                self._db.execute(f"PRAGMA synchronous = {'FULL' if durability == 'power' else 'NORMAL'}")
            with self.transaction():
                if not self.rows("SELECT name FROM sqlite_master"):
                    for statement in _TABLES.split(";"):
                        self.write(statement)
                    self.set(format=FORMAT, identity=json.dumps(dict(terms.identity)))
            if self.meta("format") != FORMAT:
                raise StoreRefused(f"{self.path} is of another version or program; give the crawl another directory")
            self.identity: Mapping[str, str] = json.loads(self.meta("identity"))
            check_identity(self.path, self.identity, terms)
        except BaseException:
            self._db.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All writes in this context happen, or none."""
        with self._explaining():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    def write(self, statement: str, *values: object) -> None:
        self._db.execute(statement, values)

    def rows(self, query: str, *values: object) -> list[Any]:
        with self._explaining():
            return self._db.execute(query, values).fetchall()

    def scan(self, query: str, *values: object) -> Iterator[Any]:
        """The rows of a query that may have very many. Others may write meanwhile."""
        with self._explaining():
            yield from self._db.execute(query, values)

    def meta(self, key: str, default: Any = None) -> Any:
        found = self.rows("SELECT value FROM meta WHERE key = ?", key)
        return found[0][0] if found else default

    def value(self, query: str, *values: object) -> Any:
        return self.rows(query, *values)[0][0]

    def take(self, counter: str, count: int) -> int:
        """The first of so many numbers that are given out for good."""
        first: int = self.meta(counter, 1)
        self.set(**{counter: first + count})
        return first

    def skip(self, counter: str, upto: int) -> bool:
        """Give out no number up to this. Returns whether any such number was left."""
        is_left: bool = upto >= self.meta(counter, 1)
        if is_left:
            self.set(**{counter: upto + 1})
        return is_left

    def set(self, **values: object) -> None:
        for key, value in values.items():
            self.write("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)

    def record(self, key: str) -> QueueRecord:
        """The stored record of a queue, or a new one."""
        found = self.rows("SELECT record FROM queues WHERE key = ?", key)
        return load(found[0][0], QueueRecord) if found else QueueRecord(key=key)

    def put_record(self, record: QueueRecord) -> None:
        self.write("INSERT OR REPLACE INTO queues VALUES (?, ?)", record.key, dump(record))

    def put_settled(self, entry: LedgerEntry, hits: int) -> None:
        self.write(
            "INSERT OR REPLACE INTO urls VALUES (?, ?, ?, ?, ?, NULL, NULL, NULL, NULL, NULL)",
            *(entry.canonical, entry.number, int(entry.state), hits, dump(entry)),
        )

    def put_waiting(self, entry: LedgerEntry, url: CrawlUrl, ordinal: int) -> None:
        self.write(
            "INSERT OR REPLACE INTO urls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
            *(entry.canonical, entry.number, int(entry.state), url.link_count, dump(entry)),
            *(dump(url), url.queue_key, url.precedence, ordinal),
        )

    def remove_validators(self, canonical: str) -> None:
        """A URL that waits is fetched as a whole."""
        url = load(self.value("SELECT url FROM urls WHERE canonical = ?", canonical), CrawlUrl)
        url = msgspec.structs.replace(url, had_etag=None, had_last_modified=None)
        self.write("UPDATE urls SET url = ? WHERE canonical = ?", dump(url), canonical)

    def first_waiting(self, queue: str, limit: int) -> list[Any]:
        """The numbers, URLs, hits and entries of the first URLs of a queue."""
        return self.rows(
            "SELECT number, url, hits, entry FROM urls WHERE queue = ? AND url IS NOT NULL AND due_at IS NULL"
            " ORDER BY precedence, ordinal LIMIT ?",
            *(queue, limit),
        )

    def entry(self, canonical: str) -> LedgerEntry | None:
        found = self.rows("SELECT entry, hits FROM urls WHERE canonical = ?", canonical)
        return entry_of(*found[0]) if found else None

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            if name.startswith("SQLITE_BUSY"):
                raise StoreRefused(f"{self.path} is in use by another process; wait until it ends") from error
            kind = StoreFull if name == "SQLITE_FULL" else StoreFailed
            raise kind(
                f"{self.path}: {error}; all earlier changes are safe: free some space or repair the disk, then start "
                "the crawl again"
            ) from error


def entry_of(text: str, hits: int) -> LedgerEntry:
    return msgspec.structs.replace(load(text, LedgerEntry), hit_count=hits)


def pending_entry(url: CrawlUrl, number: int, found_at: float, reason: str | None = None) -> LedgerEntry:
    return LedgerEntry(
        canonical=url.canonical, state=UrlState.PENDING, number=number, found_at=found_at, via=url.via, reason=reason
    )
