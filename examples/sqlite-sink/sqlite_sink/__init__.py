"""A sink: a row for each page in a table of SQLite."""

import errno
import sqlite3
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from crawler import Fetched, Page, PageRecord
from crawler.write.descriptor import Descriptor, Parameters

_TABLE = "CREATE TABLE IF NOT EXISTS page (number INTEGER PRIMARY KEY, url TEXT, status INTEGER, title TEXT, body BLOB)"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the sink."""

    bodies: Annotated[bool, Meta(description="Store the body of each page, too.")] = False


class SqliteSink:
    """A page that is written again replaces its row. A committed row survives a crash; with durability `power`, also a
    power failure."""

    def __init__(self, file: Path, *, bodies: bool, is_synced: bool) -> None:
        self._bodies = bodies
        self._database = sqlite3.connect(file, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute(f"PRAGMA synchronous = {'FULL' if is_synced else 'NORMAL'}")
        self._database.execute(_TABLE)

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        body = page.body if self._bodies and isinstance(page, Page) else None
        title = None if record.title is None else record.title.encode("utf-8", "replace").decode()
        try:
            self._database.execute(
                "INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?)",
                (record.number, record.url, record.status, title, body),
            )
        except sqlite3.OperationalError as error:
            # The crawl waits after an OSError, and then writes the page again.
            is_full = error.sqlite_errorcode == sqlite3.SQLITE_FULL
            raise OSError(errno.ENOSPC if is_full else errno.EIO, str(error)) from error

    async def aclose(self) -> None:
        self._database.close()


def _make(parameters: Parameters, options: Options) -> SqliteSink:
    assert parameters.directory is not None  # it is given to sinks that need one
    file = parameters.directory / "pages.sqlite"
    return SqliteSink(file, bodies=options.bodies, is_synced=parameters.durability == "power")


DESCRIPTOR = Descriptor(name="sqlite", make=_make, options=Options, needs=frozenset({"directory"}))
