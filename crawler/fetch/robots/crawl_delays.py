"""Crawl-delay of whole hosts: of all robots.txt files that a host has, by port and scheme, the longest counts."""

from collections import OrderedDict
from typing import Final

import msgspec

from crawler.notes import Notes, read_note
from crawler.url.hosts import name_of_site
from crawler.url.urls import site_of

_MAX_FILES: Final = 64
"""Of one host. A host that has more files with a Crawl-delay keeps those with the longest."""

_decode = msgspec.msgpack.Decoder(dict[str, float]).decode


class CrawlDelays:
    """Remembers those of the `max_hosts` hosts used last, and finds others in `notes`, which survive a restart."""

    def __init__(self, notes: Notes | None, *, max_hosts: int) -> None:
        self._notes = notes
        self._max_hosts = max_hosts
        self._known: OrderedDict[str, dict[str, float]] = OrderedDict()
        """Seconds by origin, by host."""

    def of(self, url: str, /) -> float | None:
        """In seconds; None if no file of the URL's host states one."""
        return max(self._of(_host(url)).values(), default=None)

    def learn(self, origin: str, delay_s: float | None, /) -> None:
        """The robots.txt of an origin asks for that delay, or for none."""
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
            self._notes.put(_key(host), msgspec.msgpack.encode(changed))

    def _of(self, host: str) -> dict[str, float]:
        known = self._known.get(host)
        if known is not None:
            self._known.move_to_end(host)
            return known
        known = self._known[host] = self._noted(host)
        if len(self._known) > self._max_hosts:
            self._known.popitem(last=False)
        return known

    def _noted(self, host: str) -> dict[str, float]:
        # Where the note can't be read, each file is still noted by itself, and tells its delay when it is used.
        return {} if self._notes is None else read_note(self._notes, _key(host), _decode) or {}


def _host(url: str) -> str:
    return name_of_site(site_of(url))


def _key(host: str) -> str:
    return f"crawl-delays {host}"
