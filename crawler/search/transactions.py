"""Transactions of several processes that change one SQLite file."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

_MOST_WAITS: Final = 60
"""So many times a process waits for another one that gets no further."""


@contextmanager
def changing(database: sqlite3.Connection) -> Iterator[None]:
    """A transaction. It waits for those of other processes, as long as these get on."""
    _begin(database)
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _begin(database: sqlite3.Connection) -> None:
    waits, commits = 0, -1
    while True:
        try:
            database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or waits == _MOST_WAITS:
                raise
        else:
            return
        (now,) = database.execute("PRAGMA data_version").fetchone()
        waits, commits = (waits + 1, commits) if now == commits else (0, now)
