"""Checks what a frontier of others returns while the crawl runs. None in place of a lease would end the crawl as
complete, and in place of True it would ask for the same URL for ever."""

from collections.abc import Iterable

from crawler.wiring.plugins.failures import checked
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
        return checked(await super().add(urls, force=force), int, "from add", self._title)

    async def __anext__(self) -> Lease:
        lease = checked(await super().__anext__(), Lease, "from __anext__", self._title)
        checked(lease.url, CrawlUrl, "as url of a Lease", self._title)
        return lease

    def begin_fetch(self, lease: Lease, /, *, address: str | None, prerequisite: str | None = None) -> bool:
        may = super().begin_fetch(lease, address=address, prerequisite=prerequisite)
        return checked(may, bool, "from begin_fetch", self._title)

    async def status_of(self, canonical: str, /) -> LedgerEntry | None:
        entry = await super().status_of(canonical)
        return None if entry is None else checked(entry, LedgerEntry, "from status_of", self._title)

    def describe(self) -> FrontierStats:
        return checked(super().describe(), FrontierStats, "from describe", self._title)
