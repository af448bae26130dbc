"""The bodies that earlier crawls have archived: an ordered tree on the disk, of which a few megabytes are in memory."""

import fcntl
import logging
import os
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from crawler.write.dedupe.sources import Response, Source, responses_in, sha1_of, sources_in, warc_date_of
from crawler.write.warc_records import Original

_log = logging.getLogger(__name__)
_VERSION: Final = 2
_CACHE_KIB: Final = 16_000
_TOLD_EVERY: Final = 1_000_000
_TABLES: Final = """
    CREATE TABLE made_of (version INTEGER, sources BLOB);
    CREATE TABLE original (sha1 BLOB PRIMARY KEY, moment TEXT, url TEXT, checksum INTEGER) WITHOUT ROWID;
"""


class Originals:
    """Looks bodies up in a file of SQLite. May be used in several threads."""

    def __init__(self, path: Path, store: sqlite3.Connection) -> None:
        self._path = path
        self._store = store
        self._lock = threading.Lock()

    def find(self, digest: str, /) -> Original | None:
        """The earliest response with a body; None if there is none, or the file is damaged there."""
        sha1 = sha1_of(digest)
        if sha1 is None:
            return None
        try:
            with self._lock:
                query = "SELECT moment, url, checksum FROM original WHERE sha1 = ?"
                row = self._store.execute(query, (sha1,)).fetchone()
            if row is None:
                return None
            moment, url, checksum = row
            if checksum != _checksum(sha1, moment, url):
                raise sqlite3.DatabaseError("a line does not have the sum that it was written with")
        except (sqlite3.Error, UnicodeDecodeError, TypeError) as error:
            _log.warning("%s is damaged (%s): the next start makes it anew", self._path, error)
            with suppress(FileNotFoundError):
                self._path.unlink()
            return None
        return Original(None, url, warc_date_of(moment))

    def close(self) -> None:
        self._store.close()


def open_originals(path: Path, places: Sequence[Path]) -> Originals:
    """The bodies that are archived in these places, by the file at `path`, which is made if it is not up to date. Other
    processes that want the same file wait meanwhile. Raises `ValueError` if a place has nothing, and `OSError`. It may
    take minutes."""
    sources = sources_in(places)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _turn(path):
        store = _open(path, sources)
        if store is None:
            _make(path, sources)
            store = _open(path, sources)
        if store is None:
            raise OSError(f"{path} can't be read although it was just written; check the disk")
    return Originals(path, store)


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Lets one process at a time look for the file and make it."""
    fd = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _open(path: Path, sources: Sequence[Source]) -> sqlite3.Connection | None:
    """None if there is no file, or it was made of something else, or is damaged."""
    if not path.exists():
        return None
    try:
        store = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    except sqlite3.OperationalError as error:
        raise OSError(f"{path} can't be opened ({error}); make it readable, or delete it: it is made anew") from error
    try:
        version, made_of = store.execute("SELECT version, sources FROM made_of").fetchone()
        if (version, made_of) == (_VERSION, msgspec.json.encode(sources)):
            store.execute("PRAGMA query_only = ON")
            return store
    except (sqlite3.DatabaseError, TypeError) as error:
        _log.warning("%s can't be read (%s), and is made anew", path, error)
    store.close()
    return None


def _make(path: Path, sources: Sequence[Source]) -> None:
    size = sum(source.size for source in sources)
    _log.info("reading what earlier crawls have archived: files: %d, bytes: %d", len(sources), size)
    aside = path.with_name(f"{path.name}.new")
    aside.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(aside, isolation_level=None)) as store:
            count = _fill(store, sources, lambda read: _log.info("%d responses of earlier crawls read", read))
        with aside.open("rb") as file:
            os.fsync(file.fileno())
        aside.replace(path)
    except sqlite3.Error as error:
        raise OSError(f"{aside} can't be written: {error}; free some space, then run the same command again") from error
    finally:
        aside.unlink(missing_ok=True)
    _log.info("earlier crawls have %d different bodies", count)


def _fill(store: sqlite3.Connection, sources: Sequence[Source], tell: Callable[[int], None]) -> int:
    """Sorting needs little memory: SQLite sorts in temporary files."""
    store.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -{_CACHE_KIB};")
    store.executescript(
        f"{_TABLES} ATTACH '' AS found; CREATE TABLE found.response (sha1 BLOB, moment TEXT, url TEXT);"
    )
    store.create_function("checksum", 3, _checksum, deterministic=True)
    store.execute("BEGIN")
    read = 0
    for source in sources:
        for response in responses_in(Path(source.path)):
            store.execute("INSERT INTO found.response VALUES (?, ?, ?)", _row(response))
            read += 1
            if read % _TOLD_EVERY == 0:
                tell(read)
    store.execute(
        "INSERT OR IGNORE INTO original SELECT sha1, moment, url, checksum(sha1, moment, url) FROM found.response "
        "ORDER BY sha1, moment, url"
    )
    store.execute("INSERT INTO made_of VALUES (?, ?)", (_VERSION, msgspec.json.encode(sources)))
    [count] = store.execute("SELECT count(*) FROM original").fetchone()
    store.execute("COMMIT")
    return int(count)


def _row(response: Response) -> tuple[bytes, str, str]:
    url = response.url
    return response.sha1, response.moment, url if url.isascii() else url.encode("utf-8", "replace").decode()


def _checksum(sha1: bytes, moment: str, url: str) -> int:
    return zlib.crc32(f"{moment} {url}".encode(), zlib.crc32(sha1))
