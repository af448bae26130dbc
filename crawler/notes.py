"""Notes, which are kept over a restart beside the frontier's URLs, and how they are read.

The frontier promises them. The rooms of the crawler, which know no frontier, import them from here.

A note may be damaged, or may have been written by another version. It is never worth a crawl: what can't be read is set
aside, counted and logged, and the crawl goes on as if there were no such note.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from frontier import Notes

__all__ = ["Notes", "read_note"]

_Read = TypeVar("_Read")


def read_note(notes: Notes, key: str, read: Callable[[bytes], _Read], /) -> _Read | None:
    """What a note says; None if there is none, or none that `read` can read."""
    noted = notes.get(key)
    if noted is None:
        return None
    try:
        return read(noted)
    except (msgspec.DecodeError, ValueError, ArithmeticError) as error:
        notes.set_aside(key, error)
        return None
