"""Restores a LevelDB that can't be opened, or can't be read to its end.

First it is opened without the damaged blocks of its log. If that does not help, `repair_db` takes the readable part of
each table and writes a new list of tables. A copy is made before. LevelDB never changes a table file, so the copy links
the table files, and needs no space for them until LevelDB replaces them.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import plyvel

from frontier.leveldb.opening import (
    TABLE_SUFFIXES,
    WRITE_BUFFER_BYTES,
    check_end,
    has_database,
    open_leveldb,
)
from frontier.leveldb.store import LevelDBStore
from frontier.upkeep.damaged_leveldb import run_leveldb
from frontier.upkeep.repair import repair
from frontier.upkeep.repair_batch import Repaired, Salvaged
from frontier.values import StoreFailed, StoreRefused


def repair_directory(
    directory: Path, open_store: Callable[[], LevelDBStore], *, copy: Path
) -> tuple[LevelDBStore, Repaired]:
    """Repair the store of a directory. Returns the open store and what was repaired. If nothing can be salvaged, the
    store starts empty. What was there before is in `copy` afterwards, unless nothing had to be repaired."""
    with _scratch(directory):
        pass
    is_there = has_database(directory)
    salvaged: Salvaged | None = None
    if is_there:
        copy_database(directory, copy)
    if is_there and not is_readable(directory):
        salvaged = salvage(directory)
        if salvaged == "nothing":
            for path in _files(directory):  # the directory stays: it may be a link to another disk
                path.unlink()
    try:
        store = open_store()
    except StoreRefused:
        if is_there and salvaged is None:
            shutil.rmtree(copy)  # nothing has changed
        raise
    try:
        repaired = repair(store, salvaged=salvaged)
    except BaseException:
        store.close()
        raise
    if is_there and repaired == Repaired():
        shutil.rmtree(copy)
    return store, repaired


def copy_database(directory: Path, copy: Path) -> None:
    """Copy a database to a new directory beside it, which has all of it or does not exist. Tables, which never change,
    take no space on the same file system."""
    with _scratch(directory) as scratch:
        for path in _files(directory):
            if path.suffix in TABLE_SUFFIXES:
                _link_or_copy(path, scratch / path.name)
            else:
                shutil.copy2(path, scratch / path.name)
        scratch.rename(copy)


def is_readable(directory: Path) -> bool:
    """Whether all of the database can be read and all checksums are right. Raises `StoreRefused` if it is in use."""
    try:
        with closing(open_leveldb(directory)) as db:
            key = b""
            for key in db.iterator(include_value=False, verify_checksums=True, fill_cache=False):  # noqa: B007
                pass
            check_end(db, key, is_last_key=True)
    except (StoreFailed, plyvel.Error):
        return False
    return True


def salvage(directory: Path) -> Salvaged:
    """Make a database readable again, without its damaged parts. The caller has made a copy."""
    if _drop_damaged_logs(directory):
        return "log"
    return "tables" if _rebuild_from_tables(directory) else "nothing"


def _drop_damaged_logs(directory: Path) -> bool:
    """Let LevelDB drop the damaged blocks of its log."""
    if not _is_readable_without_logs(directory):
        return False  # LevelDB ends the process when it compacts a damaged table, and without CURRENT deletes all files
    return run_leveldb("open", directory) and is_readable(directory)


def _is_readable_without_logs(directory: Path) -> bool:
    if not (directory / "CURRENT").exists():
        return False
    with _scratch(directory) as scratch:
        for path in _files(directory):
            if path.suffix in TABLE_SUFFIXES:
                _link_or_copy(path, scratch / path.name)
            elif path.name == "CURRENT" or path.name.startswith("MANIFEST-"):
                shutil.copyfile(path, scratch / path.name)
        return is_readable(scratch)


def _rebuild_from_tables(directory: Path) -> bool:
    _move_logs_into_tables(directory)
    repaired = run_leveldb("repair", directory)
    shutil.rmtree(directory / "lost", ignore_errors=True)  # the copy has it
    return repaired and is_readable(directory)


def _move_logs_into_tables(directory: Path) -> None:
    """Convert the logs to tables, because `repair_db` does not check the checksums of logs."""
    for log in sorted(path for path in _files(directory) if path.suffix == ".log"):
        with _scratch(directory) as scratch:
            for table in _tables_of(log, scratch):
                shutil.move(table, directory / f"{_next_number(directory):06d}.ldb")
        log.unlink()


def _tables_of(log: Path, scratch: Path) -> list[Path]:
    """Convert a log to a table, by opening it as a LevelDB that has nothing else."""
    # One table, however long the log is. A compaction of several would drop their deletions.
    buffer_bytes = 2 * log.stat().st_size + WRITE_BUFFER_BYTES
    open_leveldb(scratch).close()
    shutil.copyfile(log, scratch / "000100.log")
    run_leveldb("open", scratch, write_buffer_bytes=buffer_bytes)
    return [path for path in _files(scratch) if path.suffix in TABLE_SUFFIXES]


@contextmanager
def _scratch(directory: Path) -> Iterator[Path]:
    """A folder beside a database, for as long as the context lasts. One that a killed process has left is deleted: it
    has a copy of the log, and its links keep deleted tables on the disk."""
    path = directory.with_name(f"{directory.name}.repairing")
    with suppress(FileNotFoundError):
        shutil.rmtree(path)
    path.mkdir()
    try:
        yield path
    finally:
        if path.exists():
            shutil.rmtree(path)


def _link_or_copy(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except OSError:  # the directory is a link to another disk, or its disk has no hard links
        shutil.copy2(path, target)


def _next_number(directory: Path) -> int:
    words = (path.name.removeprefix("MANIFEST-").partition(".")[0] for path in _files(directory))
    return 1 + max((int(word) for word in words if word.isdecimal()), default=0)


def _files(directory: Path) -> list[Path]:
    return [path for path in directory.iterdir() if path.is_file()] if directory.is_dir() else []
