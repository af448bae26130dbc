"""Where blocks of settings hold. Pure.

A block names places, in the forms that the module of that name lists, and holds for the URLs in one of them. Of the
blocks that hold for one URL, the more special goes before: the one whose place has the longer SURT, so a directory
before its host, a host before its domain, a domain before one around it. Of equally special ones, the later goes
before.

What holds is looked up once for each host, and remembered; a URL costs more only on hosts of which a part is set apart.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

import msgspec

from crawler.discover.surt_prefixes import prefixes_of
from crawler.url.urls import path_of, site_of

_Value = TypeVar("_Value")
_REMEMBERED: Final = 100_000
"""Hosts."""

Chosen = tuple[int, ...]
"""Numbers of blocks, from 0; the one that goes before all others is the last."""


class _Host(msgspec.Struct, frozen=True, gc=False):
    """What holds on a host."""

    everywhere: Chosen
    parts: tuple[str, ...]
    """The prefixes, sorted, of parts of it that are set apart."""


class Blocks:
    """Blocks, each with its places."""

    def __init__(self, places: Sequence[Sequence[str]]) -> None:
        """Raises `ValueError`, naming the entry, for one that is no place."""
        self._blocks: dict[str, list[int]] = {}
        for number, entries in enumerate(places):
            for entry in entries:
                for prefix in prefixes_of(entry):
                    self._blocks.setdefault(prefix, []).append(number)
        self._sorted = sorted(self._blocks)
        self._lengths = sorted({len(prefix) for prefix in self._blocks})
        self._hosts: dict[str, _Host] = {}

    def __bool__(self) -> bool:
        return bool(self._blocks)

    def of(self, url: str, /) -> Chosen:
        """The blocks that hold for a serialised URL."""
        site = site_of(url)
        host = self._host(site)
        if not host.parts:
            return host.everywhere
        name = f"{site}){path_of(url)}"
        return self._matching(name) if name.startswith(host.parts) else host.everywhere

    def of_queue(self, key: str, /) -> Chosen:
        """The blocks that hold for all of a queue, as one of `Target.queue_key`, with what may follow a `#`."""
        return self._host(key.partition("#")[0]).everywhere

    def _host(self, site: str) -> _Host:
        host = self._hosts.get(site)
        if host is None:
            if len(self._hosts) >= _REMEMBERED:
                self._hosts.clear()
            host = self._hosts[site] = _Host(self._matching(f"{site})"), self._beyond(f"{site})"))
        return host

    def _matching(self, name: str) -> Chosen:
        """The blocks of all prefixes of a name."""
        lengths: dict[int, int] = {}
        for end in self._lengths[: bisect_right(self._lengths, len(name))]:
            for number in self._blocks.get(name[:end], ()):
                lengths[number] = end
        return tuple(sorted(lengths, key=lambda number: (lengths[number], number)))

    def _beyond(self, name: str) -> tuple[str, ...]:
        """The prefixes that begin with a name and are longer."""
        start = end = bisect_left(self._sorted, name)
        while end < len(self._sorted) and self._sorted[end].startswith(name):
            end += 1
        return tuple(prefix for prefix in self._sorted[start:end] if prefix != name)


class BySite(Generic[_Value]):
    """A value for each URL, or each queue, by the blocks that hold for it; made once for each choice of blocks."""

    def __init__(self, blocks: Blocks, make: Callable[[Chosen], _Value]) -> None:
        self._blocks = blocks or None
        self._make = make
        self._usual = make(())
        self._values: dict[Chosen, _Value] = {(): self._usual}

    def of(self, url: str, /) -> _Value:
        return self._usual if self._blocks is None else self._value(self._blocks.of(url))

    def of_queue(self, key: str, /) -> _Value:
        return self._usual if self._blocks is None else self._value(self._blocks.of_queue(key))

    def _value(self, chosen: Chosen) -> _Value:
        if chosen not in self._values:
            self._values[chosen] = self._make(chosen)
        return self._values[chosen]
