"""Takes into the frontier what the output of a crawl tells: settled URLs, and the links of their pages.

A record tells how its URL was settled, and with `output.links` also the links of the page. Without these, the page is
read again from the archive. If it is not there either, only the settled URLs are known.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import groupby
from operator import attrgetter

import msgspec

from config import Loaded
from crawler.disk.directory import CrawlDirectory
from crawler.page import LinkKind, PageRecord, Redirect
from crawler.protocols import Discovery, LinkExtractor
from crawler.steps import at_once
from crawler.wiring import discovering, processing, storage
from crawler.wiring.recovery.archived_pages import page_of_capture
from crawler.wiring.recovery.entries import batches, entry_of_capture, entry_of_record
from crawler.wiring.recovery.number_set import NumberSet
from crawler.wiring.recovery.record_urls import RecordUrls
from crawler.wiring.sites import Sites
from crawler.write.records import read_records
from crawler.write.warc_reader import Capture, captures
from frontier import CrawlUrl, LedgerEntry, UrlState
from frontier.leveldb.store import LevelDBStore
from frontier.records import Damaged
from frontier.shell import QueueFrontier

Progress = Callable[[int], None]
"""Called with the number of records, or of captures, read so far."""


class Recovered(msgspec.Struct, kw_only=True):
    """What a recovery found. Counts of URLs, but for `records`."""

    records: int = 0
    settled: int = 0
    """URLs that the frontier did not know as settled."""
    found: int = 0
    """Links that the frontier did not know; they are queued now."""
    unread: int = 0
    """Pages whose links are unknown: they have no list of links and are not in the archive."""


async def recover(
    loaded: Loaded, directory: CrawlDirectory, store: LevelDBStore, *, progress: Progress = lambda _: None
) -> Recovered:
    """Take into a store what the output tells and the store does not know, and close the store.

    URLs that the store knows do not change. Raises `ConfigError` and `StoreFailed`.
    """
    return await _Recovery(loaded, directory, store, progress).run()


class _Recovery:
    def __init__(self, loaded: Loaded, directory: CrawlDirectory, store: LevelDBStore, progress: Progress) -> None:
        sites = Sites(loaded)
        urls = discovering.url_reader(loaded, version=storage.rules_version(store))
        self._loaded = loaded
        self._directory = directory
        self._store = store
        self._progress = progress
        self._urls = RecordUrls(urls)
        self._discovery: Discovery = discovering.discovery(loaded, sites, urls, discovering.seeds(loaded, urls))
        self._extractor: LinkExtractor = processing.extractor(loaded)
        self._recorded = NumberSet()
        self._read = NumberSet()
        """Pages whose links are known."""
        self._recovered = Recovered()

    async def run(self) -> Recovered:
        config, recovered = self._loaded.config, self._recovered
        visited = storage.visited_set(config, self._directory, self._store)
        try:
            frontier = await QueueFrontier.open(
                self._store,
                visited,
                snapshots=storage.snapshots(config, self._directory),
                settings=storage.rules(config),
            )
            try:
                for entries in batches(self._entries()):
                    recovered.settled += await frontier.record(entries)
                for entries in batches(self._entries_of_captures()):
                    recovered.settled += await frontier.record(entries)
                for links in batches(self._links_of_records()):
                    recovered.found += await frontier.add(links)
                for links in batches(self._links_of_pages()):
                    recovered.found += await frontier.add(links)
                recovered.unread = self._unread()
                self._count_lost()
            finally:
                await frontier.aclose()
        finally:
            await visited.aclose()
        return recovered

    def _count_lost(self) -> None:
        """Update the number of lost URLs. If all pages could be read, all of their links are known again. Otherwise at
        least the URLs are lost whose numbers no known URL has."""
        recovered, counters = self._recovered, self._store.counters
        lost = 0
        if recovered.unread:
            unknown = counters.next_number - 1 - counters.admitted
            lost = max(counters.lost - recovered.settled - recovered.found, unknown, 1)
        if lost != counters.lost:
            self._store.update_queues([], msgspec.structs.replace(counters, lost=lost))

    def _unread(self) -> int:
        """How many fetched pages have unknown links."""
        return sum(
            1
            for found in self._store.full_scan.entries()
            if not isinstance(found, Damaged)
            and found[0].state is UrlState.DONE
            and not found[0].elsewhere
            and (found[0].status or 0) < 400
            and found[0].number not in self._read
        )

    def _records(self) -> Iterator[PageRecord]:
        if not self._directory.records.is_dir():
            return
        for count, record in enumerate(read_records(self._directory.records, last_only=True), 1):
            if count % 10_000 == 0:
                self._progress(count)
            yield record

    def _entries(self) -> Iterator[LedgerEntry]:
        for record in self._records():
            self._recovered.records += 1
            self._recorded.add(record.number)
            url = self._urls.of_record(record)
            if url is not None and (entry := entry_of_record(record, url)) is not None:
                yield entry

    def _entries_of_captures(self) -> Iterator[LedgerEntry]:
        """The entries of pages that are in the archive and have no record."""
        for number, group in groupby(self._captures(whole=False), key=attrgetter("number")):
            found = {capture.kind: capture for capture in group}
            if number in self._recorded or "response" not in found:
                continue
            self._recovered.records += 1
            facts = found["metadata"].metadata_fields() if "metadata" in found else {}
            url = self._urls.of_url(found["response"].url, depth=0, kind=LinkKind.LINK, via=facts.get("via"))
            with suppress(ValueError):
                status = found["response"].http()[0]
                if url is not None:
                    yield entry_of_capture(url, number, status=status)

    def _captures(self, *, whole: bool) -> Iterator[Capture]:
        if not self._directory.warc.is_dir():
            return
        for count, capture in enumerate(captures(self._directory.warc, full_blocks=whole), 1):
            if count % 10_000 == 0:
                self._progress(count)
            if isinstance(capture, Capture):
                yield capture

    def _links_of_records(self) -> Iterator[CrawlUrl]:
        for record in self._records():
            parent = self._urls.of_record(record)
            if parent is None or record.state != "done":
                continue
            if record.redirect is not None:
                self._read.add(record.number)
                yield from self._redirect_target(record.url, record.redirect, parent)
            elif record.references is not None:
                self._read.add(record.number)
                for canonical in dict.fromkeys(record.references):
                    url = self._urls.of_url(canonical, depth=parent.depth + 1, kind=LinkKind.LINK, via=parent.url)
                    if url is not None:
                        yield url

    def _redirect_target(self, url: str, location: str, parent: CrawlUrl) -> Iterator[CrawlUrl]:
        redirect = Redirect(url=url, status=302, headers=[], location=location, fetched_at=0, duration_s=0)
        target = self._discovery.redirect(redirect, parent=parent)
        if isinstance(target, CrawlUrl):
            yield target

    def _links_of_pages(self) -> Iterator[CrawlUrl]:
        for number, group in groupby(self._captures(whole=True), key=attrgetter("number")):
            if number not in self._read:
                found = {capture.kind: capture for capture in group}
                documents = [found[kind] for kind in ("response", "conversion") if kind in found]
                if documents:
                    self._read.add(number)
                    yield from self._links_of(
                        documents, found["metadata"].metadata_fields() if "metadata" in found else {}
                    )

    def _links_of(self, documents: list[Capture], facts: dict[str, str]) -> Iterator[CrawlUrl]:
        depth = facts.get("depth", "0")
        parent = self._urls.of_url(
            documents[0].url,
            depth=int(depth) if depth.isdecimal() else 0,
            kind=facts.get("kind", LinkKind.LINK),
            via=facts.get("via"),
        )
        if parent is None:
            return
        for capture in documents:
            page = page_of_capture(capture, max_body_bytes=self._loaded.config.fetch.max_body_bytes)
            if page is not None and (location := page.header("location")) and 300 <= page.status < 400:
                yield from self._redirect_target(page.url, location, parent)
            elif page is not None and page.status < 300:
                extract = self._extractor.extract(page)
                yield from at_once(self._discovery.links(extract.base_url, extract.links, parent=parent)).urls
