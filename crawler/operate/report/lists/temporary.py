"""Tables in a temporary file, for lists of any length."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from crawler.files.temporary import with_databases


@contextmanager
def temporary_database() -> Iterator[sqlite3.Connection]:
    """A database in a file without a name, which is gone after this context. It is always in a transaction, in which
    rows are written one by one as fast as many at a time. Raises `OSError` if they do not fit on the disk."""
    with with_databases(), closing(sqlite3.connect("", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        database.execute("BEGIN")
        yield database


def add_tables(database: sqlite3.Connection, script: str) -> None:
    """Make tables. `executescript` ends the transaction, so the next one begins."""
    database.executescript(f"{script} BEGIN")
