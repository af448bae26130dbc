"""The Crawl-delay of a host: the longest in all its robots.txt files, of which there may be one per port and scheme."""

from collections import OrderedDict
from functools import lru_cache
from typing import Final

import msgspec

from crawler.notes import NoteKind, Notes, read_note
from crawler.url.hosts import name_of_site
from crawler.url.urls import site_of

_MAX_FILES: Final = 64
"""Files per host. If more have a Crawl-delay, those with the longest are kept."""

NOTES: Final = NoteKind(word="crawl-delays", host_of=lambda host: ".".join(reversed(host.split(","))))
"""By host, in SURT order."""

_decode = msgspec.msgpack.Decoder(dict[str, float]).decode


class CrawlDelays:
    """Holds the delays of the `max_hosts` hosts used last; others are in `notes`, which survive a restart."""

    def __init__(self, notes: Notes | None, *, max_hosts: int) -> None:
        self._notes = notes
        self._max_hosts = max_hosts
        self._known: OrderedDict[str, dict[str, float]] = OrderedDict()
        """By host: seconds by origin."""

    def of(self, origin: str, /) -> float | None:
        """The delay in seconds; None if no file of the origin's host gives one."""
        known = self._of(_host(origin))
        return max(known.values()) if known else None

    def learn(self, origin: str, delay_s: float | None, /) -> None:
        """Store the delay that the robots.txt of an origin asks for, if any."""
        host = _host(origin)
        known = self._of(host)
        if known.get(origin) == delay_s:
            return
        changed = {each: seconds for each, seconds in known.items() if each != origin}
        if delay_s is not None:
            changed[origin] = delay_s
            if len(changed) > _MAX_FILES:
                changed.pop(min(changed, key=changed.__getitem__))
        self._known[host] = changed
        if self._notes is not None:
            self._notes.put(NOTES.key(host), msgspec.msgpack.encode(changed))

    def _of(self, host: str) -> dict[str, float]:
        known = self._known.get(host)
        if known is not None:
            self._known.move_to_end(host)
            return known
        known = self._known[host] = self._load(host)
        if len(self._known) > self._max_hosts:
            self._known.popitem(last=False)
        return known

    def _load(self, host: str) -> dict[str, float]:
        # If this note is unreadable, the notes of the single files still contain the delays, and `cache` finds them.
        return {} if self._notes is None else read_note(self._notes, NOTES.key(host), _decode) or {}


@lru_cache(maxsize=1000)
def _host(origin: str) -> str:
    return name_of_site(site_of(origin))
