"""Ledger entries from records and archived pages."""

import base64
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import TypeVar

from crawler.page import PageRecord
from crawler.record import has_copy
from frontier import CrawlUrl, LedgerEntry, UrlState

BATCH_SIZE = 1000
_Item = TypeVar("_Item")


def entry_of_record(record: PageRecord, url: CrawlUrl) -> LedgerEntry | None:
    """The ledger entry of a settled URL; None if its record has no known state."""
    try:
        state = UrlState[record.state.upper()]
    except KeyError:
        return None
    fetched_at = None if record.fetched_at is None else datetime.fromisoformat(record.fetched_at).timestamp()
    return LedgerEntry(
        canonical=url.canonical,
        state=state,
        number=record.number,
        found_at=fetched_at or 0,
        via=record.via,
        status=record.status,
        reason=record.reason or record.not_followed or record.not_archived,
        fetched_at=fetched_at,
        digest=None if record.digest is None else base64.b32decode(record.digest.removeprefix("sha1:")),
        etag=record.etag if has_copy(record) else None,
        hit_count=record.hit_count or 0,
        url=None if url.url == url.canonical else url.url,
        kind=record.kind,
        depth=record.depth,
        visits=record.visit,
    )


def entry_of_capture(url: CrawlUrl, number: int, *, status: int) -> LedgerEntry:
    """The ledger entry of a page that is in the archive and has no record."""
    return LedgerEntry(
        canonical=url.canonical, state=UrlState.DONE, number=number, found_at=0, via=url.via, status=status
    )


def entry_of_failure(url: CrawlUrl, number: int, *, reason: str) -> LedgerEntry:
    """The ledger entry of a URL that failed, according to the archive."""
    return LedgerEntry(
        canonical=url.canonical, state=UrlState.FAILED, number=number, found_at=0, via=url.via, reason=reason
    )


def batches(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """The items in lists of at most `BATCH_SIZE`."""
    iterator = iter(items)
    while batch := list(islice(iterator, BATCH_SIZE)):
        yield batch
