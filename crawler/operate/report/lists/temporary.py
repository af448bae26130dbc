"""Tables in a temporary file, for lists of any length."""

import sqlite3


def temporary_database() -> sqlite3.Connection:
    """A database in a file without a name, which is gone when it is closed. It is always in a transaction, in which
    rows are written one by one as fast as many at a time."""
    database = sqlite3.connect("", isolation_level=None)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA synchronous = OFF")
    database.execute("BEGIN")
    return database


def add_tables(database: sqlite3.Connection, script: str) -> None:
    """Make tables. `executescript` ends the transaction, so the next one begins."""
    database.executescript(f"{script} BEGIN")
