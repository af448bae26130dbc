"""Brings back into the frontier what a crawl's output tells: settled URLs, and the links of their pages.

A record tells what became of its URL, and with `output.links` what was found on the page. Where it does not, the
archived page is read again. Where there is neither, only the settled URLs are known.
"""

import base64
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import groupby, islice
from operator import attrgetter
from typing import TypeVar

import msgspec

from config import Config, Loaded
from crawler.disk.directory import CrawlDirectory
from crawler.fetch.coding import codings, decode
from crawler.page import LinkKind, Page, PageRecord, Redirect
from crawler.protocols import Discovery, LinkExtractor
from crawler.steps import at_once
from crawler.url.urls import UrlReader
from crawler.wiring import discovering, processing, storage
from crawler.wiring.number_set import Numbers
from crawler.wiring.sites import Sites
from crawler.write.archived import Capture, captures
from crawler.write.records import newest_records, read_records
from frontier import CrawlUrl, LedgerEntry, UrlState
from frontier.leveldb.store import LevelDBStore
from frontier.shell import QueueFrontier
from frontier.store import Damaged

log = logging.getLogger(__name__)

AT_ONCE = 1000
_MAX_RATIO = 1000.0
_Item = TypeVar("_Item")

Progress = Callable[[int], None]
"""Called with the number of records, or of captures, read so far."""


class Recovered(msgspec.Struct, kw_only=True):
    """What came of it. Counts of URLs."""

    records: int = 0
    settled: int = 0
    """Of which the frontier did not know what had become of them."""
    found: int = 0
    """Links that it did not know, and that wait now."""
    unread: int = 0
    """Pages of which neither a list of links nor the archived page was there."""


async def recover(
    loaded: Loaded, directory: CrawlDirectory, store: LevelDBStore, *, progress: Progress = lambda _: None
) -> Recovered:
    """Take into a store what the output tells and the store does not know, and close it.

    URLs that it knows are left as they are. Raises `ConfigError` and `StoreFailed`.
    """
    return await _Recovery(loaded, directory, store, progress).run()


class Naming:
    """The URLs of records, as the frontier names them."""

    def __init__(self, urls: UrlReader) -> None:
        self._urls = urls

    def url(self, record: PageRecord) -> CrawlUrl | None:
        """What was fetched; None if the URL is none by the rules of today."""
        return self.named(record.url, depth=record.depth, kind=record.kind, via=record.via)

    def named(self, url: str, *, depth: int, kind: str, via: str | None) -> CrawlUrl | None:
        try:
            target = self._urls.seed(url)
        except ValueError:
            return None
        canonical = target.canonical
        if kind == LinkKind.REDIRECT and via is not None and self._canonical(via) == canonical:
            canonical = f"{canonical}#redirect-1"  # see `discovery`
        return CrawlUrl(
            url=target.url,
            canonical=canonical,
            queue_key=target.queue_key,
            depth=depth,
            via=via,
            kind=kind,
            precedence=min(255, depth),
        )

    def _canonical(self, url: str) -> str | None:
        try:
            return self._urls.seed(url).canonical
        except ValueError:
            return None


class _Recovery:
    def __init__(self, loaded: Loaded, directory: CrawlDirectory, store: LevelDBStore, progress: Progress) -> None:
        sites = Sites(loaded)
        urls = discovering.url_reader(loaded, version=storage.rules_version(store))
        self._loaded = loaded
        self._directory = directory
        self._store = store
        self._progress = progress
        self._naming = Naming(urls)
        self._discovery: Discovery = discovering.discovery(loaded, sites, urls, discovering.seeds(loaded, urls))
        self._extractor: LinkExtractor = processing.extractor(loaded)
        self._recorded = Numbers()
        self._read = Numbers()
        """Of which it is known what they link to."""
        self._recovered = Recovered()

    async def run(self) -> Recovered:
        config, recovered = self._loaded.config, self._recovered
        visited = storage.visited_set(config, self._directory, self._store)
        try:
            frontier = await QueueFrontier.open(
                self._store, visited, snapshots=storage.snapshots(config, self._directory), rules=storage.rules(config)
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
        """If all pages could be read, all that they link to is known again. Else at least those are not that have the
        numbers which no URL has."""
        recovered, counters = self._recovered, self._store.counters
        lost = 0
        if recovered.unread:
            unknown = counters.next_number - 1 - counters.admitted
            lost = max(counters.lost - recovered.settled - recovered.found, unknown, 1)
        if lost != counters.lost:
            self._store.rest([], msgspec.structs.replace(counters, lost=lost))

    def _unread(self) -> int:
        """How many fetched pages there are of which it is not known what they link to."""
        return sum(
            1
            for found in self._store.contents.all_entries()
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
            url = self._naming.url(record)
            if url is not None and (entry := entry_of(record, url)) is not None:
                yield entry

    def _entries_of_captures(self) -> Iterator[LedgerEntry]:
        """Of pages that are in the archive alone."""
        for number, group in groupby(self._captures(whole=False), key=attrgetter("number")):
            found = {capture.kind: capture for capture in group}
            if number in self._recorded or "response" not in found:
                continue
            self._recovered.records += 1
            facts = found["metadata"].facts() if "metadata" in found else {}
            url = self._naming.named(found["response"].url, depth=0, kind=LinkKind.LINK, via=facts.get("via"))
            with suppress(ValueError):
                status = found["response"].http()[0]
                if url is not None:
                    yield settled(url, number, status=status)

    def _captures(self, *, whole: bool) -> Iterator[Capture]:
        if not self._directory.warc.is_dir():
            return
        for count, capture in enumerate(captures(self._directory.warc, whole=whole), 1):
            if count % 10_000 == 0:
                self._progress(count)
            if isinstance(capture, Capture):
                yield capture

    def _links_of_records(self) -> Iterator[CrawlUrl]:
        for record in self._records():
            parent = self._naming.url(record)
            if parent is None or record.state != "done":
                continue
            if record.redirect is not None:
                self._read.add(record.number)
                yield from self._target(record.url, record.redirect, parent)
            elif record.references is not None:
                self._read.add(record.number)
                for canonical in dict.fromkeys(record.references):
                    url = self._naming.named(canonical, depth=parent.depth + 1, kind=LinkKind.LINK, via=parent.url)
                    if url is not None:
                        yield url

    def _target(self, url: str, location: str, parent: CrawlUrl) -> Iterator[CrawlUrl]:
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
                    yield from self._links_of(documents, found["metadata"].facts() if "metadata" in found else {})

    def _links_of(self, documents: list[Capture], facts: dict[str, str]) -> Iterator[CrawlUrl]:
        depth = facts.get("depth", "0")
        parent = self._naming.named(
            documents[0].url,
            depth=int(depth) if depth.isdecimal() else 0,
            kind=facts.get("kind", LinkKind.LINK),
            via=facts.get("via"),
        )
        if parent is None:
            return
        for capture in documents:
            page = self._page(capture)
            if page is not None and (location := page.header("location")) and 300 <= page.status < 400:
                yield from self._target(page.url, location, parent)
            elif page is not None and page.status < 300:
                extract = self._extractor.extract(page)
                yield from at_once(self._discovery.links(extract.base_url, extract.links, parent=parent)).urls

    def _page(self, capture: Capture) -> Page | None:
        if capture.kind == "conversion":
            headers = [(b"Content-Type", b"text/html; charset=utf-8")]
            status, reason, raw, body = 200, "OK", capture.block, capture.block
        else:
            try:
                status, reason, headers, raw = capture.http()
            except ValueError:
                return None
            coded = b", ".join(value for name, value in headers if name.lower() == b"content-encoding")
            limit = self._loaded.config.fetch.max_body_bytes
            applied = codings(coded.decode("latin-1"))
            body = decode(raw, applied, max_bytes=limit, max_ratio=_MAX_RATIO).body
        return Page(
            url=capture.url,
            status=status,
            reason=reason,
            headers=headers,
            fetched_at=0,
            duration_s=0,
            body=body,
            raw_body=raw,
            truncated=capture.truncated,
        )


async def take_up_newer_output(
    config: Config, directory: CrawlDirectory, frontier: QueueFrontier, urls: UrlReader
) -> None:
    """Have the pages that were written and did not count as done be fetched again, and tell how many they are.

    A kill leaves as many as were in flight. More are left when the frontier lost its last changes, as by a power cut:
    then URLs may be missing too, and numbers have been given that it knows nothing of.
    """
    in_flight = config.fetch.concurrency + config.fetch.spare
    naming = Naming(urls)
    newer, unknown, highest, known_in_a_row = 0, [], 0, 0
    for record in newest_records(directory.records):
        url = naming.url(record)
        if url is None:
            continue
        entry = await frontier.status_of(url.canonical)
        if entry is not None and entry.state is not UrlState.PENDING:
            known_in_a_row += 1
            if known_in_a_row > 2 * in_flight:
                break
            continue
        known_in_a_row = 0
        newer += 1
        highest = max(highest, record.number)
        if entry is None:
            unknown.append(url)
    if newer:
        log.info("%d pages of the output did not count as done when the crawl ended: they are fetched again", newer)
    are_lost = await frontier.skip_numbers(highest)
    if newer > in_flight or are_lost or unknown:
        log.warning(
            "the frontier is older than the output: its last changes are lost, as by a power cut; "
            "%d pages are fetched again",
            newer,
        )
    await frontier.add(unknown)


def entry_of(record: PageRecord, url: CrawlUrl) -> LedgerEntry | None:
    """What the ledger would have of a settled URL; None if its record does not tell a state."""
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
        reason=record.reason,
        fetched_at=fetched_at,
        digest=None if record.digest is None else base64.b32decode(record.digest.removeprefix("sha1:")),
        etag=record.etag,
        hit_count=record.hit_count or 0,
    )


def settled(url: CrawlUrl, number: int, *, status: int) -> LedgerEntry:
    """What is known of a page of which there is a copy and no record."""
    return LedgerEntry(
        canonical=url.canonical, state=UrlState.DONE, number=number, found_at=0, via=url.via, status=status
    )


def batches(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    left = iter(items)
    while batch := list(islice(left, AT_ONCE)):
        yield batch
