"""What comes into queues and ledger, and what leaves the ledger: plain transitions, each written as one whole."""

from collections.abc import Iterable, Sequence

import msgspec

from frontier.store import ORDINAL_BITS, Counters, Store, Waiting, order_of
from frontier.transitions.accounting import filling
from frontier.transitions.active_queues import ActiveQueues
from frontier.transitions.leases import Leases
from frontier.values import CrawlUrl, LedgerEntry, UrlState

PRECEDENCES = 1 << 64 - ORDINAL_BITS
MOST_COST = 1 << 31
_WHOLE = frozenset({200, 304})
"""Statuses after which the crawl has a copy of which a server may say that it is still current."""


class Admission:
    """URLs that the visited set has let pass are given their places."""

    def __init__(self, store: Store, serving: ActiveQueues, leases: Leases) -> None:
        self._store = store
        self._serving = serving
        self._leases = leases

    def admit(self, batch: list[CrawlUrl], fresh: list[CrawlUrl], *, force: bool, anew: bool = False) -> int:
        again = self._readmissible(batch, {url.canonical for url in fresh}, anew=anew) if force else {}
        if not fresh and not again:
            return 0
        superseded, come = [], fresh
        if again:
            superseded = [out for out in self._leases if out.waiting.url.canonical in again and not out.superseded]
            come = [*fresh, *(url for url, _ in again.values())]
        # Looked up before the counters are copied, as a damaged record is counted.
        queues = self._serving.queues([url.queue_key for url in come])
        now = self._serving.now()
        counters = self._serving.counting(now)
        counters.admitted += len(fresh)
        for _, entry in again.values():
            if entry is None:
                counters.admitted += 1
            else:
                _uncount(counters, entry)
        lost: dict[str, int] = {}
        for out in superseded:
            queues[out.queue.key] = out.queue
            lost[out.queue.key] = lost.get(out.queue.key, 0) + 1
        admitted = self._numbered(come, counters)
        filled, records = filling(admitted, queues, counters, self._serving.rules, lost=lost)
        self._store.admit(admitted, [out.waiting for out in superseded], records, counters)
        self._serving.filled(filled, records, now)
        for out in superseded:
            out.superseded = True
            self._serving.schedule.remove(out.queue, now=now)
        self._serving.waiters.wake(len(records))
        return len(admitted)

    def strike(self, settled: Sequence[LedgerEntry], names: Sequence[str]) -> None:
        counters = self._serving.counting(self._serving.now())
        for entry in settled:
            _uncount(counters, entry)
        counters.admitted -= len(settled)
        self._store.forget(names, counters)

    def enter(self, entries: Sequence[LedgerEntry]) -> None:
        counters = self._serving.counting(self._serving.now())
        numbered = []
        for entry in entries:
            number = entry.number or counters.next_number
            numbered.append(msgspec.structs.replace(entry, number=number))
            counters.next_number = max(counters.next_number, number + 1)
            counters.admitted += 1
            counters.done += entry.state is UrlState.DONE
            counters.failed += entry.state is UrlState.FAILED
            counters.excluded += entry.state is UrlState.EXCLUDED
        self._store.record(numbered, counters)

    def _readmissible(
        self, urls: Iterable[CrawlUrl], fresh: set[str], *, anew: bool
    ) -> dict[str, tuple[CrawlUrl, LedgerEntry | None]]:
        """Of URLs that the visited set knows, those that are settled, leased, or swallowed by a filter's error; with
        what the ledger has of them."""
        leased = {out.waiting.url.canonical for out in self._leases if not out.superseded}
        chosen: dict[str, tuple[CrawlUrl, LedgerEntry | None]] = {}
        for url in urls:
            if url.canonical not in fresh and url.canonical not in chosen:
                entry = self._store.entry(url.canonical)
                if entry is None or entry.state is not UrlState.PENDING or url.canonical in leased:
                    chosen[url.canonical] = (_coming_back(url, entry, anew=anew), entry)
        return chosen

    def _numbered(self, urls: Sequence[CrawlUrl], counters: Counters) -> list[Waiting]:
        number, ordinal, found_at = counters.next_number, counters.next_ordinal, int(self._serving.clock())
        counters.next_number += len(urls)
        counters.next_ordinal += len(urls)
        return [
            Waiting(url=url, number=number + place, order=order_of(url.precedence, ordinal + place), found_at=found_at)
            for place, url in enumerate(urls)
        ]


def check_urls(urls: Iterable[CrawlUrl]) -> None:
    """Raises ValueError for what could not be stored, before the visited set has seen any of it."""
    # Of a text Python knows whether it is ASCII without looking at it.
    texts: list[str] = []
    keys: set[str] = set()
    for url in urls:
        if not 0 <= url.precedence < PRECEDENCES:
            raise ValueError(f"precedence must be 0 to {PRECEDENCES - 1}, got {url.precedence} for {url.url}")
        if not 0 <= url.cost < MOST_COST:
            raise ValueError(f"cost must be 0 to {MOST_COST - 1}, got {url.cost} for {url.url}")
        if not (url.url.isascii() and url.canonical.isascii()):
            texts += (url.url, url.canonical)
        keys.add(url.queue_key)
    for key in keys:
        if "\0" in key:
            raise ValueError(f"a queue key holds no NUL, got {key!r}")
    try:
        "".join((*texts, *keys)).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"a URL can't be written as UTF-8: {error}") from error


def _uncount(counters: Counters, entry: LedgerEntry) -> None:
    counters.done -= entry.state is UrlState.DONE
    counters.failed -= entry.state is UrlState.FAILED
    counters.excluded -= entry.state is UrlState.EXCLUDED


def _coming_back(url: CrawlUrl, entry: LedgerEntry | None, *, anew: bool) -> CrawlUrl:
    """The URL with the links to it that were counted, and unless the copy that the crawl had is lost, with what its
    server said of that."""
    if entry is None:
        return url
    url = msgspec.structs.replace(url, hits=entry.hit_count)
    if anew or entry.state is not UrlState.DONE or entry.status not in _WHOLE:
        return url
    return msgspec.structs.replace(url, had_etag=entry.etag, had_last_modified=entry.last_modified)
