"""Temporary files of SQLite that do not fit on their disk."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def with_databases() -> Iterator[None]:
    """A context that has databases in temporary files. Raises `OSError` with what to do if they can't be written."""
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(
            f"a temporary file of SQLite can't be written: {error}. Free some space on its disk, or set SQLITE_TMPDIR "
            "to a folder on a larger one; then run the same command again"
        ) from error
