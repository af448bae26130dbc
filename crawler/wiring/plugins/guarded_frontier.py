"""Checks what a frontier of others returns while the crawl runs. None in place of a lease would end the crawl as
complete, and in place of True it would ask for the same URL for ever."""

from collections.abc import Iterable
from typing import Any

from crawler.wiring.plugins.failures import PluginFailed
from crawler.wiring.plugins.loading import NamedBackend
from frontier import CrawlUrl, ForwardingFrontier, Frontier, FrontierStats, Lease, LedgerEntry


def guarded_frontier(frontier: Frontier, backend: NamedBackend) -> Frontier:
    return frontier if backend.is_ours else GuardedFrontier(frontier, backend.title)


class GuardedFrontier(ForwardingFrontier):
    """A frontier that raises `PluginFailed` instead of returning a wrong value."""

    def __init__(self, frontier: Frontier, title: str) -> None:
        super().__init__(frontier)
        self._title = title

    async def add(self, urls: Iterable[CrawlUrl], /, *, force: bool = False) -> int:
        added: int = self._checked(await super().add(urls, force=force), "from add", int)
        return added

    async def __anext__(self) -> Lease:
        lease: Lease = self._checked(await super().__anext__(), "from __anext__", Lease)
        self._checked(lease.url, "as url of a Lease", CrawlUrl)
        return lease

    def begin_fetch(self, lease: Lease, /, *, address: str | None, prerequisite: str | None = None) -> bool:
        may: bool = self._checked(
            super().begin_fetch(lease, address=address, prerequisite=prerequisite), "from begin_fetch", bool
        )
        return may

    async def status_of(self, canonical: str, /) -> LedgerEntry | None:
        entry = await super().status_of(canonical)
        return None if entry is None else self._checked(entry, "from status_of", LedgerEntry)

    def describe(self) -> FrontierStats:
        stats: FrontierStats = self._checked(super().describe(), "from describe", FrontierStats)
        return stats

    def _checked(self, value: Any, where: str, expected: type) -> Any:
        if not isinstance(value, expected):
            raise PluginFailed(
                f"{self._title} failed: expected {expected.__name__} {where}, found {type(value).__name__}"
            )
        return value
