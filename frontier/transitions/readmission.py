"""Finds known URLs that may be crawled again."""

from collections.abc import Iterable

import msgspec

from frontier.store import StoreReads
from frontier.transitions.leasing import OpenLease
from frontier.values import CrawlUrl, LedgerEntry, UrlState

_HAS_COPY = frozenset({200, 304})
"""Statuses after which the crawl has a copy, so that the server can say whether it is still current."""


def find_readmissible(
    known: Iterable[CrawlUrl], leases: Iterable[OpenLease], reads: StoreReads, *, drop_validators: bool
) -> dict[str, tuple[CrawlUrl, LedgerEntry | None]]:
    """Of URLs that the visited set knows, those that are settled, leased, or known only by a filter's error; and their
    ledger entries."""
    leased = {held.pending.url.canonical for held in leases if not held.superseded}
    found: dict[str, tuple[CrawlUrl, LedgerEntry | None]] = {}
    for url in known:
        if url.canonical not in found:
            entry = reads.entry(url.canonical)
            if entry is None or entry.state is not UrlState.PENDING or url.canonical in leased:
                found[url.canonical] = (_prepare_again(url, entry, drop_validators=drop_validators), entry)
    return found


def _prepare_again(url: CrawlUrl, entry: LedgerEntry | None, *, drop_validators: bool) -> CrawlUrl:
    """The URL with its known link count, and with the validators of the crawl's copy, if there is one to keep."""
    if entry is None:
        return url
    url = msgspec.structs.replace(url, link_count=entry.hit_count)
    if drop_validators or entry.state is not UrlState.DONE or entry.status not in _HAS_COPY:
        return url
    return msgspec.structs.replace(url, had_etag=entry.etag, had_last_modified=entry.last_modified)
