"""What a file holds, and how it ends."""

import errno
import os
import stat
from contextlib import closing
from pathlib import Path
from typing import Final

BESIDE_SQLITE: Final = ("-wal", "-shm", "-journal")
"""How the names of files end that SQLite has beside a database."""
_TAIL_BYTES: Final = 1 << 16


def read_file(path: Path) -> bytes:
    """All that a file holds. Raises `OSError`, also for a folder, and for a pipe, whose end may never come."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "expected a file, found a pipe or a device; move it away", str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def last_lines(path: Path, most: int, *, begin: int = 0) -> tuple[str, ...]:
    """The last lines of messages, from the byte `begin` on, for people: without empty ones, each cut to 500 characters.
    There are none if the file can't be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(begin, path.stat().st_size - _TAIL_BYTES))
            text = file.read(_TAIL_BYTES).decode("utf-8", "replace")
    except OSError:
        return ()
    return tuple(line.rstrip()[:500] for line in text.splitlines() if line.strip())[-most:]


def has_rows(path: Path) -> bool:
    """Whether a file is anything but a database without rows, as a sink makes it before there is a page. One that
    can't be read counts as full."""
    import sqlite3  # noqa: PLC0415 - few crawls write databases

    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            names = [name.replace('"', '""') for (name,) in tables]
            return any(database.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone() for name in names)  # noqa: S608  # a name of its own
    except sqlite3.Error:
        return True
