"""Finds the blocks of settings that apply to a URL. Pure.

A block lists places, in the forms of `surt_prefixes`, and applies to the URLs in these places. If several blocks apply
to one URL, the more specific one wins: the one whose place has the longer SURT. So a directory wins over its host, a
host over its domain, a domain over a larger one. Among equally specific blocks, the later one wins.

The blocks of a host are looked up once and remembered. URLs cost more only on hosts where a block applies to a part.
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

BlockNumbers = tuple[int, ...]
"""Numbers of blocks, from 0. The most specific one, which wins, is the last."""


class _Host(msgspec.Struct, frozen=True, gc=False):
    """The blocks that apply to a host."""

    everywhere: BlockNumbers
    partial_prefixes: tuple[str, ...]
    """The sorted prefixes of blocks that apply to a part of the host."""


class Blocks:
    """All blocks of a configuration, each with its places."""

    def __init__(self, places: Sequence[Sequence[str]]) -> None:
        """Raises `ValueError`, with the entry, for an entry that is not a place."""
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

    def of(self, url: str, /) -> BlockNumbers:
        """The blocks that apply to a serialised URL."""
        site = site_of(url)
        host = self._host(site)
        if not host.partial_prefixes:
            return host.everywhere
        surt = f"{site}){path_of(url)}"
        return self._matching(surt) if surt.startswith(host.partial_prefixes) else host.everywhere

    def of_queue(self, key: str, /) -> BlockNumbers:
        """The blocks that apply to all URLs of a queue. `key`: a `Target.queue_key`, perhaps with a `#` and a
        suffix."""
        return self._host(key.partition("#")[0]).everywhere

    def _host(self, site: str) -> _Host:
        host = self._hosts.get(site)
        if host is None:
            if len(self._hosts) >= _REMEMBERED:
                self._hosts.clear()
            host = self._hosts[site] = _Host(self._matching(f"{site})"), self._longer(f"{site})"))
        return host

    def _matching(self, surt: str) -> BlockNumbers:
        """The blocks of all prefixes of a SURT."""
        lengths: dict[int, int] = {}
        for end in self._lengths[: bisect_right(self._lengths, len(surt))]:
            for number in self._blocks.get(surt[:end], ()):
                lengths[number] = end
        return tuple(sorted(lengths, key=lambda number: (lengths[number], number)))

    def _longer(self, surt: str) -> tuple[str, ...]:
        """The prefixes that begin with a SURT and are longer."""
        start = end = bisect_left(self._sorted, surt)
        while end < len(self._sorted) and self._sorted[end].startswith(surt):
            end += 1
        return tuple(prefix for prefix in self._sorted[start:end] if prefix != surt)


class BySite(Generic[_Value]):
    """A value for each URL or queue, made once for each combination of blocks that apply."""

    def __init__(self, blocks: Blocks, make: Callable[[BlockNumbers], _Value]) -> None:
        self._blocks = blocks or None
        self._make = make
        self._default = make(())
        self._values: dict[BlockNumbers, _Value] = {(): self._default}
        self.everywhere: _Value | None = None if blocks else self._default
        """The value of all URLs and queues, if there are no blocks."""

    def of(self, url: str, /) -> _Value:
        return self._default if self._blocks is None else self._value(self._blocks.of(url))

    def of_queue(self, key: str, /) -> _Value:
        return self._default if self._blocks is None else self._value(self._blocks.of_queue(key))

    def _value(self, blocks: BlockNumbers) -> _Value:
        if blocks not in self._values:
            self._values[blocks] = self._make(blocks)
        return self._values[blocks]
