"""Checks what a frontier of others tells about its queues and its ledger."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from crawler.wiring.plugins.failures import checked, failed
from crawler.wiring.plugins.loading import NamedBackend
from frontier import CrawlUrl, Damaged, KnownUrl, LedgerEntry, LedgerReads, NumberReads, QueueReads, QueueStatus


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
