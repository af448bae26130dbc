"""Transactions of several processes that change one SQLite file."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

_MOST_WAITS: Final = 60
"""So many times a process waits for another one that gets no further."""
_PAUSE_S: Final = 0.05
"""SQLite itself waits before a transaction, but not before it changes the mode of its journal."""


@contextmanager
def changing(database: sqlite3.Connection) -> Iterator[None]:
    """A transaction. It waits for those of other processes, as long as these get on."""
    execute_patiently(database, "BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def execute_patiently(database: sqlite3.Connection, statement: str) -> None:
    """Execute a statement. It waits for transactions of other processes, as long as these get on."""
    waits, commits = 0, -1
    while True:
        try:
            database.execute(statement)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or waits == _MOST_WAITS:
                raise
        else:
            return
        time.sleep(_PAUSE_S)
        (now,) = database.execute("PRAGMA data_version").fetchone()
        waits, commits = (waits + 1, commits) if now == commits else (0, now)
