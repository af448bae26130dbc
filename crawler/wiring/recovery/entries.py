"""URLs and ledger entries from records and archived pages."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import TypeVar

import msgspec

from config import Config
from crawler.discover.marks import EXTERNAL, after_redirect, is_after_redirect, is_check, name_of_page
from crawler.discover.precedence import parallel_key
from crawler.page import EMBEDDED, LinkKind, PageRecord
from crawler.page.digests import digest_bytes
from crawler.record import has_copy, note_of, seed_without_scheme
from crawler.url.urls import UrlReader
from crawler.wiring.queue_settings import parallel_queues
from frontier import CrawlUrl, LedgerEntry, UrlState

BATCH_SIZE = 1000
_Item = TypeVar("_Item")


class RecordUrls:
    """Makes the URL to crawl again from what was written about it."""

    def __init__(self, config: Config, urls: UrlReader) -> None:
        self._urls = urls
        self._parallel = parallel_queues(config, urls)

    def of_record(self, record: PageRecord) -> CrawlUrl | None:
        """The URL of a record; None if the current rules do not accept it."""
        return self.of_url(record.url, depth=record.depth, kind=record.kind, via=record.via)

    def of_url(self, url: str, *, depth: int, kind: str, via: str | None) -> CrawlUrl | None:
        """The URL as one to crawl; None if the current rules do not accept it."""
        try:
            target = self._urls.seed(url)
        except ValueError:
            return None
        canonical = target.canonical
        may_be_target = kind == LinkKind.REDIRECT or kind in EMBEDDED
        if may_be_target and via is not None and self._urls.canonical_of(via) == canonical:
            canonical = after_redirect(canonical, 1)  # see `ScopedDiscovery.redirect`
        if kind == LinkKind.EXTERNAL:
            canonical += EXTERNAL
        return CrawlUrl(
            url=target.url,
            canonical=canonical,
            queue_key=parallel_key(target.queue_key, canonical, self._parallel),
            depth=depth,
            via=via,
            kind=kind,
            precedence=min(255, depth),
        )

    def of_entry(self, entry: LedgerEntry) -> CrawlUrl | None:
        """The URL of a ledger entry, to be crawled again; None if the current rules do not accept it."""
        kind, depth = entry.kind, entry.depth
        if depth is None:  # damage has replaced the entry, or this frontier keeps no depths
            depth = 0 if entry.via is None else 1
            if (entry.via or "").endswith("/robots.txt"):
                kind, depth = LinkKind.SITEMAP, 0  # it leads to nothing else
            elif is_check(entry.canonical):
                kind = LinkKind.EXTERNAL
            elif entry.via is None:
                kind = LinkKind.SEED
            elif kind == LinkKind.LINK and is_after_redirect(entry.canonical):
                kind = LinkKind.REDIRECT
        found = self.of_url(entry.url or name_of_page(entry.canonical), depth=depth, kind=kind, via=entry.via)
        if found is None:
            return None
        return msgspec.structs.replace(found, canonical=entry.canonical, anchor=seed_without_scheme(entry, found.url))


def entry_of_record(record: PageRecord, url: CrawlUrl) -> LedgerEntry | None:
    """The ledger entry of a settled URL; None if its record has no known state."""
    try:
        state = UrlState[record.state.upper()]
    except KeyError:
        return None
    fetched_at = _seconds(record.fetched_at)
    return LedgerEntry(
        canonical=url.canonical,
        state=state,
        number=record.number,
        found_at=fetched_at or 0,
        via=record.via,
        status=record.status,
        reason=record.reason or note_of(record),
        fetched_at=fetched_at,
        digest=_sha1(record.digest),
        etag=record.etag if has_copy(record) else None,
        hit_count=record.hit_count or 0,
        url=None if url.url == url.canonical else url.url,
        kind=record.kind,
        depth=record.depth,
        visits=record.visit,
    )


def _seconds(moment: str | None) -> float | None:
    """The seconds since 1970; None if the moment is not known, or damaged."""
    try:
        return None if moment is None else datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return None


def _sha1(digest: str | None) -> bytes | None:
    """The bytes of a digest; None if it is not known, or damaged."""
    try:
        return digest_bytes(digest)
    except ValueError:
        return None


def batches(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """The items in lists of at most `BATCH_SIZE`."""
    iterator = iter(items)
    while batch := list(islice(iterator, BATCH_SIZE)):
        yield batch
