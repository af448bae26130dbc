"""Caches robots.txt files: those used last in memory, the others in notes that survive a restart."""

from collections import OrderedDict
from contextlib import suppress
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from crawler.fetch.robots.crawl_delays import CrawlDelays
from crawler.fetch.robots.rules import RobotsRules
from crawler.fetch.robots.status import RobotsStatus
from crawler.notes import NoteKind, Notes, read_note
from crawler.preferences.signals import ROBOTS_GROUP, Refusals
from crawler.url.urls import host_of, origin_of

MAX_ORIGINS: Final = 10_000
MAX_BYTES: Final = 64_000_000
_ORIGIN_BYTES: Final = 1_500
"""What an origin takes without a file."""
NOTES: Final = NoteKind(word="robots", host_of=host_of)
"""By origin."""
_DECODER: Final = msgspec.msgpack.Decoder(RobotsStatus)


class CachedRobots(msgspec.Struct, frozen=True):
    """The robots.txt of one origin, parsed for our crawler."""

    status: RobotsStatus
    rules: RobotsRules | None
    reached: bool = False
    """Whether a request reached a server for it. False if it comes from the notes, or if no server was found."""
    duration_s: float = 0.0
    """The duration of that request."""
    pause_s: float | None = None
    """The pause that the server asks for, by Retry-After."""

    @property
    def size_bytes(self) -> int:
        """About what it takes in memory: the rules take up to twenty times as much as the file."""
        return _ORIGIN_BYTES + len(self.status.text or "") + (0 if self.rules is None else self.rules.size_bytes)


class RobotsCache:
    """Holds at most `max_origins` and about `max_bytes` in memory. Others are read from `notes` on demand."""

    def __init__(
        self,
        notes: Notes,
        *,
        agent: str,
        groups: Refusals = ROBOTS_GROUP.refuses,
        max_origins: int = MAX_ORIGINS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        """`agent`: the product token of our crawler. `groups`: names that stand for a purpose, as for `RobotsRules`."""
        self._notes = notes
        self._agent = agent
        self._groups = groups
        self._max_origins = max_origins
        self._max_bytes = max_bytes
        self._cached: OrderedDict[str, CachedRobots] = OrderedDict()
        self._size_bytes = 0
        self._delays = CrawlDelays(notes, max_hosts=max_origins)
        self._rules: WeakValueDictionary[str, RobotsRules] = WeakValueDictionary()
        """By text, of the origins in memory: any number of hosts may have the same large file, by a wildcard in DNS."""

    def __contains__(self, origin: str, /) -> bool:
        """Whether it is in memory."""
        return origin in self._cached

    def find(self, origin: str, /) -> CachedRobots | None:
        """What we know about an origin; it may have expired."""
        cached = self._cached.get(origin)
        if cached is not None:
            self._cached.move_to_end(origin)
            return cached
        status = self.read_status(origin)
        return None if status is None else self.put(origin, status)

    def status(self, origin: str, /) -> RobotsStatus | None:
        """The status of an origin, whose file need not be parsed for it."""
        cached = self._cached.get(origin)
        return self.read_status(origin) if cached is None else cached.status

    def read_status(self, origin: str, /) -> RobotsStatus | None:
        """The noted status of an origin that is not in memory."""
        if origin in self._cached:
            return None
        # An unreadable note costs only one request.
        return read_note(self._notes, NOTES.key(origin), _DECODER.decode)

    def crawl_delay(self, url: str, /) -> float | None:
        """The Crawl-delay of the URL's host in seconds; None if it is unknown or not given."""
        origin = origin_of(url)
        if origin not in self._cached:
            self.find(origin)  # so that its delay is known, though the note of its host may be unreadable
        return self._delays.of(origin)

    def note(self, origin: str, status: RobotsStatus, /) -> None:
        """Store the status over a restart."""
        self._notes.put(NOTES.key(origin), msgspec.msgpack.encode(status))

    def parse(self, status: RobotsStatus, /) -> RobotsRules | None:
        """Parse the file. `put` does this if its caller has not."""
        if status.text is None:
            return None
        rules = self._rules.get(status.text)
        if rules is None:
            rules = RobotsRules(status.text, agent=self._agent, groups=self._groups)
            self._rules[status.text] = rules
        return rules

    def put(
        self,
        origin: str,
        status: RobotsStatus,
        /,
        *,
        rules: RobotsRules | None = None,
        reached: bool = False,
        duration_s: float = 0.0,
        pause_s: float | None = None,
    ) -> CachedRobots:
        rules = rules or self.parse(status)
        cached = CachedRobots(status, rules, reached, duration_s, pause_s)
        if status.refused is None and not status.failures:
            self._delays.learn(origin, None if rules is None else rules.crawl_delay_s)
        before = self._cached.pop(origin, None)
        self._size_bytes += cached.size_bytes - (before.size_bytes if before is not None else 0)
        self._cached[origin] = cached
        while len(self._cached) > 1 and (len(self._cached) > self._max_origins or self._size_bytes > self._max_bytes):
            self._size_bytes -= self._cached.popitem(last=False)[1].size_bytes
        return cached


def noted_statuses(notes: Notes, host: str, /) -> list[RobotsStatus]:
    """Those of all origins of a host. What can't be read is left out."""
    found = []
    for scheme in ("http", "https"):
        origin = NOTES.key(f"{scheme}://{host}")
        noted = notes.get(origin)
        for note in ([] if noted is None else [noted]) + [each for _, each in notes.items(f"{origin}:")]:
            with suppress(msgspec.DecodeError):
                found.append(_DECODER.decode(note))
    return found
