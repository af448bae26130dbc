"""Opens a LevelDB, and says in plain words what went wrong."""

import errno
import os
from pathlib import Path

import plyvel

from frontier.values import REPAIR_ADVICE, StoreFailed, StoreFull, StoreRefused

FULL_DISK = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))
"""LevelDB's messages for a full disk and an exhausted quota."""
WRITE_BUFFER_BYTES = 32 * 1024 * 1024
"""With 16 MB, compaction takes a quarter to a half longer; with 64 MB a quarter less, but then two tables in memory
take 128 MB. Measured in processor time, with 2,400,000 URLs on 1,000 hosts."""
CACHE_BYTES = 64 * 1024 * 1024
BLOOM_BITS = 10
_PERMISSION = "let this user read and write its files, or run the command as their owner"
_OPEN_FILES = "raise the limit of open files (`ulimit -n`)"
_DISK = "repair the disk, which the log of the kernel names"
_WHAT_TO_DO = {
    errno.EACCES: _PERMISSION,
    errno.EPERM: _PERMISSION,
    errno.EROFS: "mount its file system for writing, too",
    errno.EMFILE: _OPEN_FILES,
    errno.ENFILE: _OPEN_FILES,
    errno.EFBIG: "raise the limit of the size of files (`ulimit -f`)",
    errno.ENOMEM: "give it more memory",
    errno.EINTR: "wait a moment",
    errno.EAGAIN: "wait a moment",
    errno.EIO: _DISK,
    errno.ENXIO: _DISK,
    errno.ENODEV: _DISK,
    errno.ESTALE: "mount its disk again",
    errno.EISDIR: "move that folder away",
}
"""About errors of the system, which are no damage, or need not be."""
TABLE_SUFFIXES = (".ldb", ".sst")
"""The suffixes of LevelDB's table files."""


def has_database(directory: Path) -> bool:
    """Whether the directory holds a LevelDB, even a damaged one. A LevelDB whose process died while creating it does
    not count."""
    if (directory / "CURRENT").exists():
        return True
    return directory.is_dir() and any(
        path.suffix in (*TABLE_SUFFIXES, ".log") and path.stat().st_size for path in directory.iterdir()
    )


def open_leveldb(
    directory: Path, *, write_buffer_bytes: int = WRITE_BUFFER_BYTES, cache_bytes: int = CACHE_BYTES
) -> plyvel.DB:
    """The LevelDB of a directory; it is created if necessary. Raises `StoreRefused`, `StoreFull` and
    `StoreFailed`."""
    is_there = (directory / "CURRENT").exists()
    # In both cases, LevelDB would create a new database and delete the rest of this one: without its file CURRENT, and
    # after any error when it looks for that.
    if not is_there and has_database(directory):
        raise damage_error(directory, "its file CURRENT is missing")
    try:
        return plyvel.DB(
            str(directory),
            create_if_missing=not is_there,
            write_buffer_size=write_buffer_bytes,
            lru_cache_size=cache_bytes,
            bloom_filter_bits=BLOOM_BITS,
            # Uncompressed, a URL takes three to four times the space (270 to 490 bytes of disk for 95 to 125), and a
            # tenth to a fifth less processor time, most of it for compaction.
            compression="snappy",
            # Without this, LevelDB silently drops damaged parts of its log.
            paranoid_checks=True,
        )
    except plyvel.CorruptionError as error:
        raise damage_error(directory, message_of(error)) from error
    except plyvel.Error as error:
        # "LOCK", the name of the lock file, occurs in other messages too.
        if "error: lock " in message_of(error):
            raise StoreRefused(
                f"the frontier in {directory} is in use by another process; wait until it ends, or stop it"
            ) from error
        failure = f"the frontier in {directory} can't be opened: {message_of(error)}"
        if says_disk_is_full(failure):
            raise StoreFull(failure) from error
        if (do := what_to_do(failure)) is not None:
            failure = f"{failure}; {do}, then run the same command again"
        elif has_database(directory):
            failure = f"{failure}; {REPAIR_ADVICE}"
        raise StoreFailed(failure) from error


def check_end(db: plyvel.DB, position: bytes, *, is_last_key: bool) -> None:
    """Check that a range has really ended at a position, which is the last key that was read, or where reading began.

    Raises `plyvel.CorruptionError`. An iterator of plyvel 1.5.1 takes a damaged block for the end if no key follows it;
    a raw iterator does not.
    """
    with db.raw_iterator(verify_checksums=True) as items:
        items.seek(position)
        if is_last_key and items.valid():
            items.next()


def damage_error(directory: Path, what: str) -> StoreFailed:
    return StoreFailed(f"the frontier in {directory} is damaged: {what}; {REPAIR_ADVICE}")


def what_to_do(message: str) -> str | None:
    """What to do about the error of the system with which a message of LevelDB ends, if that is no sign of damage."""
    return next((do for number, do in _WHAT_TO_DO.items() if message.endswith(f": {os.strerror(number)}")), None)


def says_disk_is_full(message: str) -> bool:
    return any(words in message for words in FULL_DISK)


def message_of(error: Exception) -> str:
    """LevelDB's message, which it gives as bytes."""
    message = error.args[0] if error.args else ""
    return message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
