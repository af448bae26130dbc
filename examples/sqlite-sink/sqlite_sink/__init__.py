"""A sink: a row for each page in a table of SQLite."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
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

    def __init__(self, parameters: Parameters, options: Options) -> None:
        assert parameters.directory is not None  # each sink that needs a directory gets one
        self._bodies = options.bodies
        self._database = sqlite3.connect(parameters.directory / "pages.sqlite", isolation_level=None)
        with _os_errors():
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute(f"PRAGMA synchronous = {'FULL' if parameters.durability == 'power' else 'NORMAL'}")
            self._database.execute(_TABLE)

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        body = page.body if self._bodies and isinstance(page, Page) else None
        title = None if record.title is None else record.title.encode("utf-8", "replace").decode()
        row = (record.number, record.url, record.status, title, body)
        with _os_errors():
            self._database.execute("INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?)", row)

    async def aclose(self) -> None:
        self._database.close()


@contextmanager
def _os_errors() -> Iterator[None]:
    """After an `OSError` the crawl waits, and writes the page again."""
    try:
        yield
    except sqlite3.OperationalError as error:
        is_full = error.sqlite_errorcode == sqlite3.SQLITE_FULL
        raise OSError(errno.ENOSPC if is_full else errno.EIO, str(error)) from error
    except sqlite3.ProgrammingError as error:
        raise ValueError("the sink is closed") from error


DESCRIPTOR = Descriptor(name="page-table", make=SqliteSink, options=Options, needs=frozenset({"directory"}))
