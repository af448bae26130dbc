"""Notes, which are kept over a restart beside the frontier's URLs, and how they are read.

The frontier promises them. The rooms of the crawler, which know no frontier, import them from here.

A note may be damaged, or may have been written by another version. It is never worth a crawl: what can't be read is set
aside, counted and logged, and the crawl goes on as if there were no such note.

A crawl may be divided among parts, and then its notes are, too. So each kind of notes declares whose they are. A crawl
with notes of another kind can't be divided.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from frontier import Notes

__all__ = ["NoteCache", "NoteKind", "Notes", "read_note"]

_Read = TypeVar("_Read")


class NoteKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of notes: the first word of their keys. What follows says whose the note is."""

    word: str
    host_of: Callable[[str], str]
    """The host that a note belongs to, or its registered domain, by the rest of its key; empty for a note of the whole
    crawl."""
    add: Callable[[bytes, bytes], bytes] | None = None
    """Adds up the notes of several parts under one key. Without it, only the note of the part that has the host counts.
    Other parts may have notes about the host too, if a robots.txt or a part of a page of theirs was there. May raise
    what `read_note` catches."""

    def key(self, rest: str) -> str:
        return f"{self.word} {rest}"


def read_note(notes: Notes, key: str, read: Callable[[bytes], _Read], /) -> _Read | None:
    """What a note says; None if there is none, or none that `read` can read."""
    noted = notes.get(key)
    if noted is None:
        return None
    try:
        return read(noted)
    except (msgspec.DecodeError, ValueError, ArithmeticError, RecursionError) as error:
        notes.set_aside(key, error)
        return None


class NoteCache(Generic[_Read]):
    """Notes of one kind, by the rest of their keys. At most `capacity`, those used last, are in memory; others are read
    on demand. `read` may raise what `read_note` catches."""

    def __init__(
        self,
        notes: Notes,
        kind: NoteKind,
        *,
        read: Callable[[bytes], _Read],
        write: Callable[[_Read], bytes],
        capacity: int,
    ) -> None:
        self._notes = notes
        self._kind = kind
        self._read = read
        self._write = write
        self._capacity = capacity
        self._known: OrderedDict[str, _Read | None] = OrderedDict()

    def find(self, rest: str, /) -> _Read | None:
        if rest not in self._known:
            self._remember(rest, read_note(self._notes, self._kind.key(rest), self._read))
        self._known.move_to_end(rest)
        return self._known[rest]

    def put(self, rest: str, value: _Read, /) -> None:
        self._remember(rest, value)
        self._notes.put(self._kind.key(rest), self._write(value))

    def _remember(self, rest: str, value: _Read | None) -> None:
        self._known[rest] = value
        if len(self._known) > self._capacity:
            self._known.popitem(last=False)
