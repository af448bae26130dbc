"""A full disk is no reason for a set to fail: it keeps in memory what it could not write."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from visited.protocol import DiskFull

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def ignore_full_disk() -> Iterator[None]:
    """Suppress the error of a write that fails because the disk is full. The caller writes again later."""
    try:
        yield
    except OSError as error:
        if not _is_full_disk(error):
            raise


@contextmanager
def raise_disk_full() -> Iterator[None]:
    """Raise `DiskFull` instead of the error that a full disk causes."""
    try:
        yield
    except OSError as error:
        if _is_full_disk(error):
            raise DiskFull(f"the visited set can't be opened because the disk is full: {message_of(error)}") from error
        raise


def _is_full_disk(error: OSError) -> bool:
    # LevelDB's errors have no number, only the system's text.
    return error.errno in _DISK_FULL or any(os.strerror(number) in message_of(error) for number in _DISK_FULL)


def message_of(error: Exception) -> str:
    """The text of an error; LevelDB's is bytes."""
    text = error.args[0] if error.args and getattr(error, "strerror", None) is None else error
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
