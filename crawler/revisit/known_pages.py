"""Counts the pages that a crawl comes back to."""

from collections.abc import Callable
from typing import Final

import msgspec

from crawler.notes import NoteKind, Notes, read_note
from frontier import FrontierStats

_KEY: Final = "settled"
_LEFT_OUT: Final = "left-out"
_GROWTH: Final = 1.05
"""A count is noted when it is so much larger than the last one."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(int).decode


def _add(note: bytes, other: bytes) -> bytes:
    return _encode(_decode(note) + _decode(other))


NOTES: Final = NoteKind(word=_KEY, host_of=lambda _: "", add=_add)
LEFT_OUT_NOTES: Final = NoteKind(word=_LEFT_OUT, host_of=lambda _: "", add=_add)


class KnownPages:
    """The most URLs that were ever settled at once. Those that are just being visited again wait in their queues, so
    the settled ones are too few. A note keeps the count over a restart in the middle of that.

    URLs out of scope, which are only checked, are left out: another note counts those that were settled while the crawl
    had a schedule.
    """

    def __init__(self, describe: Callable[[], FrontierStats], notes: Notes) -> None:
        self._describe = describe
        self._notes = notes
        self._most = self._noted = read_note(notes, _KEY, _decode) or 0
        self._left_out = self._left_out_noted = read_note(notes, _LEFT_OUT, _decode) or 0

    def leave_out(self) -> None:
        """One more URL is settled that is not visited again."""
        self._left_out += 1
        if self._left_out > self._left_out_noted * _GROWTH:
            self._left_out_noted = self._left_out
            self._notes.put(_LEFT_OUT, _encode(self._left_out))

    def count(self) -> int:
        stats = self._describe()
        # Forgotten URLs are not admitted any more.
        self._most = min(max(self._most, stats.settled), stats.admitted)
        if self._most > self._noted * _GROWTH:
            self._noted = self._most
            self._notes.put(_KEY, _encode(self._most))
        return max(0, self._most - self._left_out)
