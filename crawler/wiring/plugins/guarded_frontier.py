"""Checks what a frontier of others gives when it is opened, what it returns while the crawl runs, and what it tells
about its queues and its ledger.

A wrong value would only show where somebody uses it. None in place of a lease would end the crawl as complete, and in
place of True it would ask for the same URL for ever.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from crawler.wiring.plugins.checks import checked, failed, find_misfit, methods_of, missing_methods
from crawler.wiring.plugins.loading import NamedBackend
from frontier import (
    CrawlUrl,
    Damaged,
    ForwardingFrontier,
    Frontier,
    FrontierStats,
    KnownUrl,
    Lease,
    LedgerEntry,
    LedgerReads,
    NumberReads,
    QueueReads,
    QueueStatus,
)
from frontier.pauses import Pauses
from frontier.state import FrontierState

_METHODS: Final = methods_of(Frontier)


def check_state(state: FrontierState, backend: NamedBackend) -> FrontierState:
    """The state, if it has notes and describes itself. Otherwise it is closed. Raises `PluginFailed`."""
    if not backend.is_ours:
        try:
            if missing := [name for name in ("identity", "notes") if getattr(state, name, None) is None]:
                found = type(state).__name__
                raise failed(backend.title, f"expected a state with {' and '.join(missing)}, found {found}")
            checked(state.describe(), FrontierStats, "from describe", backend.title)
        except BaseException:
            state.close()
            raise
    return state


def check_frontier(opened: Any, backend: NamedBackend) -> Frontier:
    """What `open_frontier` has returned, if it is a frontier. Raises `PluginFailed` otherwise."""
    if not backend.is_ours:
        found = f"expected a frontier from open_frontier, found {type(opened).__name__}"
        if missing := missing_methods(opened, _METHODS):
            raise failed(backend.title, f"{found}, which has no {', '.join(missing)}")
        if misfit := find_misfit(opened, _METHODS):
            raise failed(backend.title, misfit)
        checked(getattr(opened, "pauses", None), Pauses, f"as pauses of {type(opened).__name__}", backend.title)
        checked(opened.describe(), FrontierStats, "from describe", backend.title)
    frontier: Frontier = opened
    return frontier


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


def guarded_queues(reads: QueueReads, backend: NamedBackend) -> QueueReads:
    return reads if backend.is_ours else GuardedQueues(reads, backend.title)


def guarded_ledger(reads: LedgerReads, backend: NamedBackend) -> LedgerReads:
    return reads if backend.is_ours else GuardedLedger(reads, backend.title)


class GuardedQueues:
    """A `QueueReads` that raises `PluginFailed` instead of returning a wrong value."""

    def __init__(self, reads: QueueReads, title: str) -> None:
        self._reads, self._title = reads, title

    def queues(self, after: str = "", /) -> Iterator[QueueStatus]:
        for status in _each(self._reads.queues(after), "from queues", self._title):
            yield checked(status, QueueStatus, "from queues", self._title)

    def queue(self, key: str, /) -> QueueStatus | None:
        status = self._reads.queue(key)
        return None if status is None else checked(status, QueueStatus, "from queue", self._title)

    def next_urls(self, key: str, /, *, limit: int) -> list[CrawlUrl]:
        urls = checked(self._reads.next_urls(key, limit=limit), list, "from next_urls", self._title)
        return [checked(url, CrawlUrl, "from next_urls", self._title) for url in urls]


class GuardedLedger:
    """A `LedgerReads` that raises `PluginFailed` instead of returning a wrong value, and a `NumberReads` if it reads
    one."""

    was_forgotten: Callable[[int], bool]

    def __init__(self, reads: LedgerReads, title: str) -> None:
        self._reads, self._title = reads, title
        if isinstance(reads, NumberReads):
            self.was_forgotten = reads.was_forgotten

    @property
    def numbers_given(self) -> int:
        return checked(self._reads.numbers_given, int, "as numbers_given", self._title)

    def known(self, canonical: str, /) -> KnownUrl | None:
        known = self._reads.known(canonical)
        return None if known is None else self._checked(known, "from known")

    def all_known(self, after: str = "", /) -> Iterator[KnownUrl | Damaged]:
        for known in _each(self._reads.all_known(after), "from all_known", self._title):
            yield known if isinstance(known, Damaged) else self._checked(known, "from all_known")

    def _checked(self, known: KnownUrl, where: str) -> KnownUrl:
        checked(checked(known, KnownUrl, where, self._title).entry, LedgerEntry, "as entry of a KnownUrl", self._title)
        return known


def _each(found: Any, where: str, title: str) -> Iterable[Any]:
    if not isinstance(found, Iterable):
        raise failed(title, f"expected an iterator {where}, found {type(found).__name__}")
    return found
