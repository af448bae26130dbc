"""The robots.txt files that are at hand: those asked for last in memory, the others in notes that survive a restart."""

from collections import OrderedDict
from typing import Final

import msgspec

from crawler.fetch.robots.crawl_delays import CrawlDelays
from crawler.fetch.robots.rules import RobotsRules
from crawler.fetch.robots.status import RobotsStatus
from crawler.notes import Notes, read_note
from crawler.url.urls import origin_of

MAX_ORIGINS: Final = 10_000
MAX_BYTES: Final = 64_000_000
_DECODER: Final = msgspec.msgpack.Decoder(RobotsStatus)


class CachedRobots(msgspec.Struct, frozen=True):
    """One origin's robots.txt, read for our crawler."""

    standing: RobotsStatus
    rules: RobotsRules | None
    reached: bool = False
    """A server was asked for this; not so if it comes from the notes, or no server was found."""
    duration_s: float = 0.0
    """How long that took."""
    pause_s: float | None = None
    """How long that server asks not to be asked again."""

    @property
    def size_bytes(self) -> int:
        return len(self.standing.text or "")


class RobotsCache:
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
        self._shelved: OrderedDict[str, CachedRobots] = OrderedDict()
        self._size_bytes = 0
        self._delays = CrawlDelays(notes, max_hosts=max_origins)

    def find(self, origin: str, /) -> CachedRobots | None:
        """What is known of an origin; it may have expired."""
        shelved = self._shelved.get(origin)
        if shelved is not None:
            self._shelved.move_to_end(origin)
            return shelved
        standing = self.noted(origin)
        return None if standing is None else self.put(origin, standing)

    def noted(self, origin: str, /) -> RobotsStatus | None:
        """What the notes say of an origin whose file is not in memory."""
        if origin in self._shelved or self._notes is None:
            return None
        # A note that can't be read costs one request, no more.
        return read_note(self._notes, _key(origin), _DECODER.decode)

    def crawl_delay(self, url: str, /) -> float | None:
        """What the files of the URL's host ask for, in seconds; None if unknown or not stated."""
        self.find(origin_of(url))
        return self._delays.of(url)

    def note(self, origin: str, standing: RobotsStatus, /) -> None:
        """Keep it over a restart."""
        if self._notes is not None:
            self._notes.put(_key(origin), msgspec.msgpack.encode(standing))

    def read(self, standing: RobotsStatus, /) -> RobotsRules | None:
        """What the file says; `put` does it where it is not done before."""
        return None if standing.text is None else RobotsRules(standing.text, agent=self._agent)

    def put(
        self,
        origin: str,
        standing: RobotsStatus,
        /,
        *,
        rules: RobotsRules | None = None,
        reached: bool = False,
        duration_s: float = 0.0,
        pause_s: float | None = None,
    ) -> CachedRobots:
        rules = rules or self.read(standing)
        shelved = CachedRobots(standing, rules, reached, duration_s, pause_s)
        if standing.refused is None and not standing.failures:
            self._delays.learn(origin, None if rules is None else rules.crawl_delay_s)
        before = self._shelved.pop(origin, None)
        self._size_bytes += shelved.size_bytes - (before.size_bytes if before is not None else 0)
        self._shelved[origin] = shelved
        while len(self._shelved) > 1 and (len(self._shelved) > self._max_origins or self._size_bytes > self._max_bytes):
            self._size_bytes -= self._shelved.popitem(last=False)[1].size_bytes
        return shelved


def _key(origin: str) -> str:
    return f"robots {origin}"
