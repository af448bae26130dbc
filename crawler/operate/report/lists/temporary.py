"""Tables in a temporary file, for lists of any length."""

import sqlite3
from collections.abc import Sequence
from typing import Final

_BATCH: Final = 1_000


def temporary_database() -> sqlite3.Connection:
    """A database in a file without a name, which is gone when it is closed."""
    database = sqlite3.connect("", isolation_level=None)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA synchronous = OFF")
    return database


class Rows:
    """Writes rows many at a time, each by the same statement."""

    def __init__(self, database: sqlite3.Connection, statement: str) -> None:
        self._database = database
        self._statement = statement
        self._batch: list[Sequence[str | int | None]] = []

    def add(self, *row: str | int | None) -> None:
        self._batch.append(row)
        if len(self._batch) >= _BATCH:
            self.write()

    def write(self) -> None:
        """Write those that wait. Call it before the table is read."""
        if self._batch:
            self._database.execute("BEGIN")
            self._database.executemany(self._statement, self._batch)
            self._database.execute("COMMIT")
            self._batch.clear()
