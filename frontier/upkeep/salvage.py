"""Brings back a LevelDB that can't be opened, or can't be read to its end.

First it is opened without the damaged blocks of its log. If that does not help, `repair_db` takes what can be read of
each table, and writes a new list of tables. A copy is made before. A table is never changed once it is written, so the
copy shares the files of the tables, and takes no room for them until they are rewritten.
"""

import os
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import plyvel

from frontier.leveldb.database import (
    BLOOM_BITS,
    TABLES,
    WRITE_BUFFER_BYTES,
    has_database,
    open_at,
)
from frontier.leveldb.store import LevelDBStore
from frontier.upkeep.repair import Mended, Salvaged, repair
from frontier.values import StoreFailed


def repaired(directory: Path, open_store: Callable[[], LevelDBStore]) -> tuple[LevelDBStore, Mended, Path | None]:
    """The store of a directory, mended; what was mended; and where the copy is that was made before, if anything was.

    What can't be salvaged at all is begun anew, empty.
    """
    copy = copied(directory) if has_database(directory) else None
    salvaged: Salvaged | None = None
    if copy is not None and not reads_whole(directory):
        salvaged = salvage(directory)
        if salvaged == "nothing":
            shutil.rmtree(directory)
    store = open_store()
    try:
        mended = repair(store, salvaged=salvaged)
    except BaseException:
        store.close()
        raise
    if copy is not None and mended == Mended():
        shutil.rmtree(copy)
        copy = None
    return store, mended, copy


def set_aside(directory: Path) -> Path:
    """Move a database away; where it is then."""
    return directory.rename(_place_beside(directory))


def copied(directory: Path) -> Path:
    """A copy of the database beside it, which holds all that it holds now."""
    copy = _place_beside(directory)
    copy.mkdir()
    for path in _files(directory):
        if path.suffix in TABLES:
            os.link(path, copy / path.name)
        else:
            shutil.copy2(path, copy / path.name)
    return copy


def _place_beside(directory: Path) -> Path:
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    copy = directory.with_name(f"{directory.name}.before-{stamp}")
    number = 1
    while copy.exists():
        number += 1
        copy = directory.with_name(f"{directory.name}.before-{stamp}-{number}")
    return copy


def reads_whole(directory: Path) -> bool:
    """Whether all of the database can be read, checksums included. Raises `StoreRefused` if it is in use."""
    try:
        with closing(open_at(directory)) as db:
            for _ in db.iterator(include_value=False, verify_checksums=True, fill_cache=False):
                pass
    except (StoreFailed, plyvel.Error):
        return False
    return True


def salvage(directory: Path) -> Salvaged:
    """Have a database of which a copy was made read whole again, without what is damaged."""
    if _without_damaged_logs(directory):
        return "log"
    return "tables" if _from_its_tables(directory) else "nothing"


def _without_damaged_logs(directory: Path) -> bool:
    """LevelDB drops blocks of its log that are damaged, if it is let."""
    if not _reads_whole_without_logs(directory):
        return False  # compacting a damaged table, LevelDB ends the process; and without CURRENT it deletes all files
    return _succeeds(lambda: plyvel.DB(str(directory), paranoid_checks=False).close()) and reads_whole(directory)


def _reads_whole_without_logs(directory: Path) -> bool:
    if not (directory / "CURRENT").exists():
        return False
    with TemporaryDirectory(prefix=f"{directory.name}.tables-", dir=directory.parent) as scratch:
        for path in _files(directory):
            if path.suffix in TABLES:
                os.link(path, Path(scratch) / path.name)
            elif path.name == "CURRENT" or path.name.startswith("MANIFEST-"):
                shutil.copyfile(path, Path(scratch) / path.name)
        return reads_whole(Path(scratch))


def _from_its_tables(directory: Path) -> bool:
    _empty_logs(directory)
    # Paranoid: blocks whose checksum is wrong are left out, not taken over.
    repaired = _succeeds(
        lambda: plyvel.repair_db(
            str(directory),
            paranoid_checks=True,
            write_buffer_size=WRITE_BUFFER_BYTES,
            bloom_filter_bits=BLOOM_BITS,
        )
    )
    shutil.rmtree(directory / "lost", ignore_errors=True)  # the copy has it
    return repaired and reads_whole(directory)


def _empty_logs(directory: Path) -> None:
    """Bring what the logs hold into tables: `repair_db` does not look at the checksums of logs."""
    for log in sorted(path for path in _files(directory) if path.suffix == ".log"):
        with TemporaryDirectory(prefix=f"{directory.name}.log-", dir=directory.parent) as scratch:
            for table in _tables_of(log, Path(scratch)):
                table.rename(directory / f"{_next_number(directory):06d}.ldb")
        log.unlink()


def _tables_of(log: Path, scratch: Path) -> list[Path]:
    """What the log holds, as the table of a LevelDB that is made of nothing else."""
    # One table, however long the log is: several might be compacted, and would lose what they say is deleted.
    buffer_bytes = 2 * log.stat().st_size + WRITE_BUFFER_BYTES
    plyvel.DB(str(scratch), create_if_missing=True).close()
    shutil.copyfile(log, scratch / "000100.log")
    _succeeds(lambda: plyvel.DB(str(scratch), write_buffer_size=buffer_bytes, paranoid_checks=False).close())
    return [path for path in _files(scratch) if path.suffix in TABLES]


def _next_number(directory: Path) -> int:
    words = (path.name.removeprefix("MANIFEST-").partition(".")[0] for path in _files(directory))
    return 1 + max((int(word) for word in words if word.isdecimal()), default=0)


def _files(directory: Path) -> list[Path]:
    return [path for path in directory.iterdir() if path.is_file()] if directory.is_dir() else []


def _succeeds(act: Callable[[], None]) -> bool:
    try:
        act()
    except plyvel.Error:
        return False
    return True
