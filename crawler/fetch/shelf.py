"""The robots.txt files that are at hand: those asked for last in memory, the others in notes that survive a restart."""

from collections import OrderedDict
from typing import Final

import msgspec

from crawler.fetch.notes import Notes
from crawler.fetch.rules import Rules
from crawler.fetch.standing import Standing

MAX_ORIGINS: Final = 10_000
MAX_BYTES: Final = 64_000_000


class Shelved(msgspec.Struct, frozen=True):
    """One origin's robots.txt, read for our crawler."""

    standing: Standing
    rules: Rules | None
    reached: bool = False
    """A server was asked for this; not so if it comes from the notes, or no server was found."""
    duration_s: float = 0.0
    """How long that took."""

    @property
    def size_bytes(self) -> int:
        return len(self.standing.text or "")


class Shelf:
    """At most `max_origins` and `max_bytes` of files stay in memory; the rest is read from `notes` when it is needed,
    or asked for again without them."""

    def __init__(
        self, notes: Notes | None = None, *, agent: str, max_origins: int = MAX_ORIGINS, max_bytes: int = MAX_BYTES
    ) -> None:
        """`agent` is the product token of the crawler that the files are read for."""
        self._notes = notes
        self._agent = agent
        self._max_origins = max_origins
        self._max_bytes = max_bytes
        self._shelved: OrderedDict[str, Shelved] = OrderedDict()
        self._size_bytes = 0

    def find(self, origin: str, /) -> Shelved | None:
        """What is known of an origin; it may have expired."""
        shelved = self._shelved.get(origin)
        if shelved is not None:
            self._shelved.move_to_end(origin)
            return shelved
        noted = self._notes.get(_key(origin)) if self._notes is not None else None
        if noted is None:
            return None
        try:
            standing = msgspec.msgpack.decode(noted, type=Standing)
        except msgspec.DecodeError:
            # A note that can't be read costs one request, no more.
            return None
        return self.put(origin, standing)

    def note(self, origin: str, standing: Standing, /) -> None:
        """Keep it over a restart."""
        if self._notes is not None:
            self._notes.put(_key(origin), msgspec.msgpack.encode(standing))

    def put(self, origin: str, standing: Standing, /, *, reached: bool = False, duration_s: float = 0.0) -> Shelved:
        rules = None if standing.text is None else Rules(standing.text, agent=self._agent)
        shelved = Shelved(standing, rules, reached, duration_s)
        before = self._shelved.pop(origin, None)
        self._size_bytes += shelved.size_bytes - (before.size_bytes if before is not None else 0)
        self._shelved[origin] = shelved
        while len(self._shelved) > 1 and (len(self._shelved) > self._max_origins or self._size_bytes > self._max_bytes):
            self._size_bytes -= self._shelved.popitem(last=False)[1].size_bytes
        return shelved


def _key(origin: str) -> str:
    return f"robots {origin}"
