"""Reads pages and judges their links without blocking the event loop."""

import asyncio
from collections.abc import Callable, Sequence
from operator import itemgetter
from types import coroutine
from typing import Final, TypeVar

import msgspec

from crawler.components import PipelineOptions
from crawler.page import (
    EMBEDDED,
    NO_USAGE,
    SITEMAP,
    Content,
    Extract,
    LinkDetail,
    Page,
    PageRecord,
    Preference,
    Repeat,
    Usage,
    Wanted,
    body_sha1,
)
from crawler.preferences.judging import NO_PURPOSE, REFUSED, Preferences
from crawler.protocols import ContentReading, Discovered, Discovery, Repeats
from crawler.read.sniff import may_be_listing
from crawler.record import ArchiveFilter, with_usage, without_content
from crawler.seams import LinkExtractor
from crawler.steps import LINKS_AT_ONCE, Steps
from frontier import CrawlUrl

BYTES_AT_ONCE: Final = 128 * 1024
"""The event loop reads bodies up to this size, which takes 10 ms, and at most 100 ms if a page is hostile. Threads read
larger ones."""
SLOW_BYTES_AT_ONCE: Final = 32 * 1024
"""The same for feeds and sitemaps, which take five times as long; and if the content of pages is wanted, which takes as
long again, or longer if a page is hostile."""
_HEADER_BYTES_AT_ONCE: Final = 16 * 1024
"""The same for the values of headers, which may have thousands of links."""
_VALUE: Final = itemgetter(1)
"""Of a header."""
_PDF: Final = b"%PDF-"
_PDF_WITHIN: Final = 1024
_GZIP: Final = b"\x1f\x8b"
"""Threads read PDF documents and compressed sitemaps of any size: even a small one may keep its reader busy."""
_THREADS: Final = 2
"""That read large pages. While a page is read, it takes several times its size in memory."""

_Result = TypeVar("_Result")


@coroutine
def run_steps(steps: Steps[_Result]) -> Steps[_Result]:
    """Run all steps, and let other tasks run between them: what they yield goes to the event loop, as in
    `slots.keep_in_step`."""
    return (yield from steps)


class PageContent(msgspec.Struct, frozen=True, kw_only=True):
    """What was read from a page."""

    sha1: bytes
    """Of the body."""
    extract: Extract | None = None
    """None if the page is not read: error pages are not."""
    content: Content | None = None
    """None if nothing of it was wanted."""
    repeat: Repeat | None = None
    """None if the page repeats nothing, or nobody asked."""
    usage: Usage = NO_USAGE
    """What the site says about its use."""
    discovered: Discovered | None = None
    references: Sequence[str] | None = None
    link_details: Sequence[LinkDetail] | None = None


class ContentReader:
    """Reads pages: small ones at once, large ones in a thread. It judges links in steps if there are many."""

    def __init__(
        self,
        extractor: LinkExtractor,
        discovery: Discovery,
        read_content: ContentReading | None = None,
        repeats: Repeats | None = None,
        *,
        preferences: Preferences = NO_PURPOSE,
    ) -> None:
        self._extractor = extractor
        self._discovery = discovery
        self._read_content = read_content
        self._repeats = repeats
        self._preferences = preferences
        self._wanted: Wanted | None = None
        """What to read of the content of pages; None for nothing."""
        self._references = False
        self._link_details = False
        self._threads = asyncio.Semaphore(_THREADS)
        self._many_links = asyncio.Lock()
        """Held while many links are judged. Otherwise the steps of several pages would run in one turn of the event
        loop."""

    def set_options(self, options: PipelineOptions) -> None:
        """They hold for pages that are read from now on."""
        self._wanted = options.wanted if options.wanted.anything else None
        self._references, self._link_details = options.references, options.link_details

    async def read(self, page: Page, /, *, parent: CrawlUrl, of_origin: Sequence[Preference] = ()) -> PageContent:
        """Read a page. If its links are followed, extract and judge them. `of_origin`: what its origin says about its
        use."""
        is_sitemap = parent.kind == SITEMAP
        if self._is_quick(page):
            found = self._extract(page, of_origin, is_sitemap=is_sitemap)
        else:
            async with self._threads:
                found = await asyncio.to_thread(self._extract, page, of_origin, is_sitemap=is_sitemap)
        extract = found.extract
        if extract is None:
            return found
        # Half a page says little of the whole, and a sitemap is no page.
        is_whole_page = page.truncated is None and not is_sitemap
        if self._repeats is not None and is_whole_page and not found.usage.is_refused:
            found = msgspec.structs.replace(found, repeat=await self._repeats.judge(extract, url=parent))
        if len(extract.links) <= LINKS_AT_ONCE:
            return await self._judge(found, extract, parent)
        async with self._many_links:
            return await self._judge(found, extract, parent)

    def _is_quick(self, page: Page) -> bool:
        """Whether the event loop may read a page itself."""
        body = page.body
        if len(body) > SLOW_BYTES_AT_ONCE and (
            len(body) > BYTES_AT_ONCE or self._wanted is not None or may_be_listing(body)
        ):
            return False
        if body.find(_PDF, 0, _PDF_WITHIN) >= 0 or body.startswith(_GZIP):
            return False
        return sum(map(len, map(_VALUE, page.headers))) <= _HEADER_BYTES_AT_ONCE

    async def sha1(self, body: bytes, /) -> bytes:
        """The SHA-1 of a body of which nothing else is needed."""
        return body_sha1(body) if len(body) <= BYTES_AT_ONCE else await asyncio.to_thread(body_sha1, body)

    def _extract(self, page: Page, of_origin: Sequence[Preference], *, is_sitemap: bool) -> PageContent:
        sha1 = body_sha1(page.body)
        if not page.has_links:
            return PageContent(sha1=sha1)
        extract = self._extractor.extract(page)
        usage = self._preferences.judge(page, extract, of_origin=of_origin)
        if is_sitemap and usage.is_refused:
            usage = msgspec.structs.replace(usage, is_refused=False)
        content = None
        if self._wanted is not None and self._read_content is not None and not usage.is_refused:
            content = self._read_content(page, extract, self._wanted)
        return PageContent(sha1=sha1, extract=extract, content=content, usage=usage)

    async def _judge(self, found: PageContent, extract: Extract, parent: CrawlUrl) -> PageContent:
        base_url, links = extract.base_url, extract.links
        about = f"{extract.title or ''}\n{extract.description or ''}\n{extract.abstract or ''}"
        discovered = await run_steps(self._discovery.links(base_url, links, parent=parent, about=about))
        if found.repeat is not None and found.repeat.refusal is not None:
            still_followed = found.repeat.still_followed
            discovered = _refuse(discovered, found.repeat.refusal, lambda url: url.canonical != still_followed)
        if found.usage.refuses_embeds:
            discovered = _refuse(discovered, REFUSED, lambda url: url.kind in EMBEDDED)
        references = details = None
        if self._references:
            references = await run_steps(self._discovery.references(base_url, links, discovered, parent=parent))
        if self._link_details and not found.usage.is_refused:
            details = await run_steps(self._discovery.link_details(base_url, links, discovered, parent=parent))
        return msgspec.structs.replace(found, discovered=discovered, references=references, link_details=details)


def _refuse(discovered: Discovered, refusal: str, is_refused: Callable[[CrawlUrl], bool]) -> Discovered:
    """The links of a page without those that `is_refused` names."""
    refused = [(url.url, refusal) for url in discovered.urls if is_refused(url)]
    return msgspec.structs.replace(
        discovered,
        urls=[url for url in discovered.urls if not is_refused(url)],
        refused=discovered.refused | ({refusal: len(refused)} if refused else {}),
        refusals=[*discovered.refusals, *refused],
    )


def mark_unkept(
    record: PageRecord, page: Page, content: PageContent, archive_filter: ArchiveFilter | None, *, failed: bool
) -> PageRecord:
    """The record with what the site says about the use of the page. If the crawl does not keep the page, or the archive
    does not, the record also says why."""
    usage = content.usage
    record = with_usage(record, usage)
    if usage.is_refused:
        return without_content(record, reason=REFUSED, message=usage.message)
    if archive_filter is None or content.extract is None or failed or record.not_archived is not None:
        return record
    refusal = archive_filter.refusal(page, content.extract.content_type)
    return record if refusal is None else msgspec.structs.replace(record, not_archived=refusal)
