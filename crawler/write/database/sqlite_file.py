"""The file of the SQLite sink: its tables, and what to store in them. Synchronous."""

import errno
import logging
import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from crawler.write.appending import Durability
from crawler.write.database.leaving_out import RowRefused
from crawler.write.database.rows import COLUMNS, Kind, Row
from crawler.write.descriptor import OutputDamaged, Written

_log = logging.getLogger(__name__)

FILE_NAME: Final = "pages.sqlite"
VERSION: Final = 1
"""Of the schema. A change that needs more than new columns raises it, and adds a step to `_migrate`."""
LOCK_WAIT_S: Final = 5.0
"""How long to wait for another process that has locked the file, before the crawl is told to wait."""
LOG_BYTES: Final = 64_000_000
"""The write-ahead log is cut to this size, after a reader that let it grow has gone."""
_FILES: Final = 4
"""Files that SQLite has open for a database at most."""
_LONGEST_PATH: Final = 500
"""Bytes. SQLite takes 512, with those that it appends for its other files."""

_TYPES: Final = {
    Kind.INTEGER: "INTEGER",
    Kind.REAL: "REAL",
    Kind.TEXT: "TEXT",
    Kind.BOOLEAN: "INTEGER",
    Kind.MOMENT: "TEXT",
    Kind.JSON: "TEXT",
    Kind.BYTES: "BLOB",
}
_LINKS: Final = """
    CREATE TABLE IF NOT EXISTS links
        (number INTEGER NOT NULL, position INTEGER NOT NULL, target TEXT NOT NULL, PRIMARY KEY (number, position))
    WITHOUT ROWID
"""
# None on the targets of links: that would take four fifths of the time of the sink, and a join needs none.
_INDEXES: Final = (
    "CREATE INDEX IF NOT EXISTS pages_url ON pages (url)",
    "CREATE INDEX IF NOT EXISTS pages_host ON pages (host, status)",
)
_NAMES: Final = ", ".join(f'"{each.name}"' for each in COLUMNS)
_CHANGES: Final = ", ".join(f'"{each.name}" = excluded."{each.name}"' for each in COLUMNS if each.name != "number")
# Not OR REPLACE, which would delete what users have written into columns of their own.
_INSERT: Final = (
    f"INSERT INTO pages ({_NAMES}) VALUES ({', '.join('?' * len(COLUMNS))}) "  # noqa: S608  # our names
    f"ON CONFLICT (number) DO UPDATE SET {_CHANGES}"
)
_WRONG_FILE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_LOCKED: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_OF_ROW: Final = (sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG)
"""What SQLite says of a row that it does not take, as for a constraint, an index or a trigger that users have made."""


class SqliteFile:
    """An open file. For one thread at a time."""

    def __init__(self, path: Path, *, durability: Durability) -> None:
        """Open it, and make or migrate its tables. Raises ValueError if it can't be used, and `OSError` if it can't be
        written now."""
        self._path = path
        self._database: sqlite3.Connection | None = None
        self._has_tables = False
        """Whether nobody has dropped a table or renamed a column, as far as we know."""
        _check_files(path, os.R_OK | os.W_OK)
        with self._os_errors():
            database = sqlite3.connect(path, timeout=LOCK_WAIT_S, isolation_level=None, check_same_thread=False)
        try:
            with self._os_errors():
                database.execute("PRAGMA journal_mode = WAL")
                database.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
                database.execute(f"PRAGMA synchronous = {'FULL' if durability == 'power' else 'NORMAL'}")
                with self._transaction(database):
                    pass
        except BaseException:
            database.close()
            raise
        self._database = database

    def store(self, rows: Sequence[Row]) -> None:
        """Store pages, all of them or none. Raises `OSError`, `RowRefused` if it takes one of them never,
        `OutputDamaged`, and ValueError once it is closed."""
        database = self._opened()
        with self._os_errors(), self._transaction(database):
            _insert(database, rows)

    def takes(self, row: Row) -> bool:
        """Whether it would take a row now. Raises as `store`, but for rows that are refused."""
        database = self._opened()
        try:
            with self._os_errors(), self._transaction(database, commits=False):
                _insert(database, [row])
        except RowRefused:
            return False
        return True

    def close(self) -> None:
        """Closing twice is harmless."""
        if self._database is not None:
            with self._os_errors():
                self._database.close()
            self._database = None

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            raise ValueError(f"{self._path} is closed; a sink can't be written to after aclose()")
        return self._database

    @contextmanager
    def _transaction(self, database: sqlite3.Connection, *, commits: bool = True) -> Iterator[None]:
        """A transaction, in which the tables are there."""
        is_new = not self._has_tables
        with _transaction(database, commits=commits):
            made = self._migrate(database) if is_new else []
            yield
        self._has_tables = commits or not is_new
        for name in made if commits else ():
            _log.warning("the sink sqlite: the table %s of %s was missing, and is made anew", name, self._path)

    def _migrate(self, database: sqlite3.Connection) -> list[str]:
        """Make what is missing. Returns the tables that somebody has dropped."""
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise ValueError(
                f"{self._path} has a schema of version {version}, and this onceover knows {VERSION}: use the version "
                "of onceover that wrote it, or give the sink another name"
            )
        columns = ", ".join(
            f'"{each.name}" {_TYPES[each.kind]}{" PRIMARY KEY" if each.name == "number" else ""}' for each in COLUMNS
        )
        there = {name for (name,) in database.execute("SELECT lower(name) FROM sqlite_master")}
        database.execute(f"CREATE TABLE IF NOT EXISTS pages ({columns})")
        known = {name for (name,) in database.execute("SELECT lower(name) FROM pragma_table_info('pages')")}
        for each in COLUMNS:
            if each.name not in known:
                database.execute(f'ALTER TABLE pages ADD COLUMN "{each.name}" {_TYPES[each.kind]}')
        database.execute(_LINKS)
        for index in _INDEXES:
            database.execute(index)
        if version != VERSION:
            database.execute(f"PRAGMA user_version = {VERSION}")
        return [name for name in ("pages", "links") if name not in there] if version else []

    @contextmanager
    def _os_errors(self) -> Iterator[None]:
        """A context in which errors of SQLite become those of the system, for which the crawl waits, but a damaged file
        raises `OutputDamaged`."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            if _code(error) in _WRONG_FILE:
                raise OutputDamaged(
                    f"{self._path} can't be read: {error}. Restore a copy of it, or move it away: the sink then begins "
                    "another, and `onceover inspect DIR verify --repair` adds the pages until now from the records"
                ) from error
            if _code(error) == sqlite3.SQLITE_ERROR:
                self._has_tables = False
            if _code(error) in _OF_ROW:
                raise RowRefused(str(error)) from error
            raise as_os_error(error, self._path) from error


def as_os_error(error: sqlite3.Error, path: Path) -> OSError:
    """An error of SQLite with a file, as one of the system."""
    code = _code(error)
    # SQLite calls it an I/O error if there is no space for its index of the write-ahead log.
    if code == sqlite3.SQLITE_FULL or _extended_code(error) == sqlite3.SQLITE_IOERR_SHMSIZE:
        return OSError(errno.ENOSPC, "No space left on device", str(path))
    if code in _LOCKED:
        return OSError(errno.EAGAIN, "another process has locked the database for long", str(path))
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        if len(os.fsencode(path.absolute())) > _LONGEST_PATH:
            why = (
                f"the path is longer than the {_LONGEST_PATH} bytes that SQLite takes; move the crawl to a shorter one"
            )
            return OSError(errno.ENAMETOOLONG, why, str(path))
        if (cause := _why_not_opened(path.parent)) is not None:
            return OSError(cause.errno, cause.strerror, str(path))
        return PermissionError(errno.EACCES, str(error), str(path))
    if code == sqlite3.SQLITE_ERROR:  # a statement that makes no sense with these tables
        return OSError(f"{error}: {path}")
    return OSError(errno.EIO, str(error), str(path))


def _why_not_opened(folder: Path) -> OSError | None:
    """What keeps the system from opening the files of a database, if that can be seen by opening their folder as often:
    to open and close the file itself would drop the locks that SQLite has of it."""
    with ExitStack() as opened:
        for _ in range(_FILES):
            try:
                opened.callback(os.close, os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            except OSError as error:
                return error
    return None


def _check_files(path: Path, mode: int) -> None:
    """Find out what keeps the system from opening a database: SQLite does not tell, and waits for ever for a pipe.
    Raises `OSError`."""
    if mode & os.W_OK and not os.access(path.parent, os.W_OK):
        raise _denial(path.parent, mode)
    for place in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
        try:
            found = place.stat()
        except FileNotFoundError:
            if place.is_symlink():  # the file on a disk that is not mounted is not empty
                raise
            continue
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(place))
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "expected a file, found a pipe or a device; move it away", str(place))
        if not os.access(place, mode):
            raise _denial(place, mode)


def _denial(place: Path, mode: int) -> OSError:
    is_mounted_to_read = mode & os.W_OK and os.statvfs(place).f_flag & os.ST_RDONLY
    number = errno.EROFS if is_mounted_to_read else errno.EACCES
    return OSError(number, os.strerror(number), str(place))


def _code(error: sqlite3.Error) -> int:
    return _extended_code(error) & 0xFF


def _extended_code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)


def _insert(database: sqlite3.Connection, rows: Sequence[Row]) -> None:
    linked = [row for row in rows if row.links is not None]
    links = ((row.number, at, link) for row in linked for at, link in enumerate(row.links or ()))
    database.executemany(_INSERT, [row.values for row in rows])
    if linked:
        database.executemany("DELETE FROM links WHERE number = ?", [(row.number,) for row in linked])
        database.executemany("INSERT INTO links VALUES (?, ?, ?)", links)


@contextmanager
def _transaction(database: sqlite3.Connection, *, commits: bool = True) -> Iterator[None]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT" if commits else "ROLLBACK")
    except BaseException:
        if database.in_transaction:  # SQLite has ended it itself after some errors
            database.execute("ROLLBACK")
        raise


_READ_AT_ONCE: Final = 1000
_WrittenRows = list[tuple[int, str, str, int | None, str | None]]
"""The fields of `Written`. SQLite takes any value for any column, and returns what it finds in a damaged file."""


def read_written(path: Path) -> Iterator[list[Written]]:
    """What the file of a crawl that does not run has of all pages. Raises `OSError` if it can't be read."""
    _check_files(path, os.R_OK)
    try:
        for rows in read_rows(path, *Written.__struct_fields__, is_alone=True) if path.exists() else ():
            yield [Written(*row) for row in msgspec.convert(rows, _WrittenRows)]
    except msgspec.ValidationError as error:
        raise OSError(errno.EIO, f"a row of it is damaged: {error}", str(path)) from error
    except sqlite3.DatabaseError as error:
        if not str(error).startswith(("no such table: ", "no such column: ")):  # the next to write makes these anew
            raise as_os_error(error, path) from error


def read_rows(path: Path, *columns: str, is_alone: bool = False) -> Iterator[list[tuple[Any, ...]]]:
    """Some columns of all pages, in the order of their numbers. Changes nothing. Nobody else may use the file if it
    `is_alone`, so that it can be read where nothing can be written."""
    log = path.with_name(f"{path.name}-wal")
    is_whole = is_alone and not (log.exists() and log.stat().st_size)
    place = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if is_whole else ''}"
    with closing(sqlite3.connect(place, uri=True, timeout=LOCK_WAIT_S)) as database:
        found = database.execute(f"SELECT {', '.join(columns)} FROM pages ORDER BY number")  # noqa: S608  # our names
        while rows := found.fetchmany(_READ_AT_ONCE):
            yield rows
