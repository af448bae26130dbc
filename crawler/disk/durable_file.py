"""Files of a crawl: reads or replaces one as a whole, tells what it holds, how it ends and whether it still has its
name, and deletes folders."""

import errno
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

BESIDE_SQLITE: Final = ("-wal", "-shm", "-journal")
"""How the names of files end that SQLite has beside a database."""
_TAIL_BYTES: Final = 1 << 16


def replace_file(path: Path, content: bytes, *, mode: int = 0o666, owner: tuple[int, int] | None = None) -> None:
    """Write a file, so that a crash or a power failure leaves the old content or the new one. When this returns, the
    new one is on the disk. The umask applies to `mode`. `owner` are the user and the group that get the file. Raises
    `OSError`."""
    new = path.with_suffix(".new")
    # Made anew, because a file that a crash has left may be open to more readers.
    new.unlink(missing_ok=True)
    with naming(path):
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
            if owner is not None:
                os.fchown(file.fileno(), *owner)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        sync_directory(path.parent)


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


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let each `OSError` within name a file: those of writing do not, so nobody would know which disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def sync_directory(path: Path) -> None:
    """Bring the names of the files in a folder onto the disk. Raises `OSError`."""
    with opened_folder(path) as descriptor:
        os.fsync(descriptor)


@contextmanager
def opened_folder(path: Path) -> Iterator[int]:
    """A folder that is open in this context, by its descriptor. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_open_as(descriptor: int, path: Path) -> bool:
    """Whether an open file or folder still has this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


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


def delete_folders(folders: Iterable[Path]) -> None:
    """Delete those that exist, in this order. A link to another disk stays, and what it leads to is deleted. Raises
    `OSError`."""
    for folder in filter(Path.exists, folders):
        if not folder.is_symlink():
            shutil.rmtree(folder)
            continue
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
