"""A disk without room, which is no reason for a set to fail: what it would write stays in memory meanwhile."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from visited.protocol import NoRoom

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def put_off_without_room() -> Iterator[None]:
    """Ends a write that finds no room, to be made another time. Other errors pass."""
    try:
        yield
    except OSError as error:
        if not _is_for_want_of_room(error):
            raise


@contextmanager
def told_as_no_room() -> Iterator[None]:
    """Raises `NoRoom` for what finds no room. Other errors pass."""
    try:
        yield
    except OSError as error:
        if _is_for_want_of_room(error):
            raise NoRoom(f"the visited set can't be opened before there is room on the disk: {_told(error)}") from error
        raise


def _is_for_want_of_room(error: OSError) -> bool:
    # LevelDB has no numbers, only the system's words.
    return error.errno in _NO_ROOM or any(os.strerror(number) in _told(error) for number in _NO_ROOM)


def _told(error: OSError) -> str:
    """The message, which comes as bytes from LevelDB."""
    told = error.args[0] if error.args and error.strerror is None else error
    return told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)
