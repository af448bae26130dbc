"""Finds known URLs that may be crawled again, and changes those that wait for it."""

from collections.abc import Iterable

import msgspec

from frontier.records import PendingUrl, PostponedUrl
from frontier.store import Store
from frontier.store_reads import StoreReads
from frontier.transitions.active.active_queues import ActiveQueues
from frontier.transitions.leasing import OpenLease
from frontier.values import CrawlUrl, LedgerEntry, UrlState
from frontier.visits import LastVisit

_HAS_COPY = frozenset({200, 304})
"""Statuses after which the crawl has a copy, so that the server can say whether it is still current."""


def find_readmissible(
    known: Iterable[CrawlUrl], leases: Iterable[OpenLease], reads: StoreReads, *, drop_validators: bool
) -> dict[str, tuple[CrawlUrl, LedgerEntry | None]]:
    """Find the URLs that may be crawled again, with their ledger entries. The visited set knows all of these URLs; they
    must be settled, leased, or known only by a filter's error."""
    leased = {held.pending.url.canonical: held.pending.url for held in leases if not held.superseded}
    found: dict[str, tuple[CrawlUrl, LedgerEntry | None]] = {}
    for url in known:
        if url.canonical not in found:
            entry = reads.entry(url.canonical)
            if entry is None or entry.state is not UrlState.PENDING or url.canonical in leased:
                again = _prepare_again(url, entry, leased.get(url.canonical), drop_validators=drop_validators)
                found[url.canonical] = (again, entry)
    return found


def remove_validators(urls: Iterable[CrawlUrl], store: Store, active: ActiveQueues) -> None:
    """Write those of these URLs again, without validators, that wait with some. Each keeps its turn."""
    waiting = store.reads.waiting(dict.fromkeys(url.canonical for url in urls))
    changed = [whole for each in waiting if (whole := _without_validators(each)) is not each]
    if not changed:
        return
    store.rewrite(changed, [], active.copy_counters(active.now()))
    for each in changed:
        if isinstance(each, PendingUrl):
            active.prefetch.replace(each)


def find_settled(
    urls: Iterable[CrawlUrl], reads: StoreReads, *, drop_validators: bool
) -> dict[str, tuple[CrawlUrl, LedgerEntry]]:
    """The settled ones among these URLs, and their ledger entries."""
    found = find_readmissible(urls, (), reads, drop_validators=drop_validators)
    return {canonical: (url, entry) for canonical, (url, entry) in found.items() if entry is not None}


def _without_validators(waiting: PendingUrl | PostponedUrl) -> PendingUrl | PostponedUrl:
    """The same if there are none."""
    pending = waiting if isinstance(waiting, PendingUrl) else waiting.pending
    if pending.url.had_etag is None and pending.url.had_last_modified is None:
        return waiting
    url = msgspec.structs.replace(pending.url, had_etag=None, had_last_modified=None)
    pending = msgspec.structs.replace(pending, url=url)
    return pending if isinstance(waiting, PendingUrl) else msgspec.structs.replace(waiting, pending=pending)


def _prepare_again(
    url: CrawlUrl, entry: LedgerEntry | None, leased: CrawlUrl | None, *, drop_validators: bool
) -> CrawlUrl:
    """The URL with its known link count, with what its last visit has found, and with the validators of the crawl's
    copy, if there is one to keep."""
    if entry is None:
        return url
    if leased is not None:
        frequency = url.change_frequency or leased.change_frequency
        return msgspec.structs.replace(
            url, link_count=entry.hit_count, last_visit=leased.last_visit, change_frequency=frequency
        )
    has_copy = entry.state is UrlState.DONE and not entry.elsewhere
    last_visit = LastVisit(
        visits=entry.visits,
        status=entry.status,
        fetched_at=entry.fetched_at,
        digest=entry.digest if has_copy else None,
        history=entry.history,
        interval_s=entry.interval_s,
        number=entry.number,
    )
    frequency = url.change_frequency or entry.change_frequency
    url = msgspec.structs.replace(url, link_count=entry.hit_count, last_visit=last_visit, change_frequency=frequency)
    # A URL with another session id may be another page to the server, and the output has no copy under that name.
    is_same = url.url == (entry.url or entry.canonical)
    if drop_validators or not has_copy or not is_same or entry.status not in _HAS_COPY:
        return url
    return msgspec.structs.replace(url, had_etag=entry.etag, had_last_modified=entry.last_modified)
