"""The Crawl-delay of a host: the longest in all its robots.txt files, of which there may be one per port and scheme."""

from functools import lru_cache
from typing import Final

import msgspec

from crawler.notes import NoteCache, NoteKind, Notes
from crawler.url.hosts import name_of_site
from crawler.url.urls import site_of

_MAX_FILES: Final = 64
"""Files per host. If more have a Crawl-delay, those with the longest are kept."""

NOTES: Final = NoteKind(word="crawl-delays", host_of=lambda host: ".".join(reversed(host.split(","))))
"""By host, in SURT order."""

_decode = msgspec.msgpack.Decoder(dict[str, float]).decode


class CrawlDelays:
    """Holds the delays of the `max_hosts` hosts used last; others are in `notes`, which survive a restart."""

    def __init__(self, notes: Notes, *, max_hosts: int) -> None:
        # If one of these notes is unreadable, the notes of the single files still contain the delays, and `cache` finds
        # them.
        self._known = NoteCache(notes, NOTES, read=_decode, write=msgspec.msgpack.encode, capacity=max_hosts)
        """By host: seconds by origin."""

    def of(self, origin: str, /) -> float | None:
        """The delay in seconds; None if no file of the origin's host gives one."""
        known = self._known.find(_host(origin))
        return max(known.values()) if known else None

    def learn(self, origin: str, delay_s: float | None, /) -> None:
        """Store the delay that the robots.txt of an origin asks for, if any."""
        host = _host(origin)
        known = self._known.find(host) or {}
        if known.get(origin) == delay_s:
            return
        changed = {each: seconds for each, seconds in known.items() if each != origin}
        if delay_s is not None:
            changed[origin] = delay_s
            if len(changed) > _MAX_FILES:
                changed.pop(min(changed, key=changed.__getitem__))
        self._known.put(host, changed)


@lru_cache(maxsize=1000)
def _host(origin: str) -> str:
    return name_of_site(site_of(origin))
