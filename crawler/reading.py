"""Reads pages and judges their links without blocking the event loop."""

import asyncio
from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from crawler.page import Extract, LinkDetail, Page, body_sha1
from crawler.protocols import Discovered, Discovery, LinkExtractor
from crawler.steps import LINKS_AT_ONCE, Steps
from frontier import CrawlUrl

BYTES_AT_ONCE: Final = 128 * 1024
"""The event loop reads bodies up to this size, which takes at most 40 ms. Threads read larger ones."""
_THREADS: Final = 2
"""That read large pages. While a page is read, it takes several times its size in memory."""

_Result = TypeVar("_Result")


async def in_turn(steps: Steps[_Result]) -> _Result:
    """Run all steps, and let other tasks run between them."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: _Result = end.value
            return result
        await asyncio.sleep(0)


class PageContent(msgspec.Struct, frozen=True, kw_only=True):
    """What was read from a page."""

    sha1: bytes
    """Of the body."""
    extract: Extract | None = None
    """None if the page is not read: error pages are not."""
    discovered: Discovered | None = None
    references: Sequence[str] | None = None
    link_details: Sequence[LinkDetail] | None = None


class ContentReader:
    """Reads pages: small ones at once, large ones in a thread. It judges links in steps if there are many."""

    def __init__(
        self, extractor: LinkExtractor, discovery: Discovery, *, references: bool = False, link_details: bool = False
    ) -> None:
        self._extractor = extractor
        self._discovery = discovery
        self.references = references
        self.link_details = link_details
        self._threads = asyncio.Semaphore(_THREADS)
        self._many_links = asyncio.Lock()
        """Held while many links are judged. Otherwise the steps of several pages would run in one turn of the event
        loop."""

    async def read(self, page: Page, /, *, parent: CrawlUrl) -> PageContent:
        """Read a page. If its status is a success, extract its links and judge them."""
        if len(page.body) <= BYTES_AT_ONCE:
            extract, sha1 = self._extract(page)
        else:
            async with self._threads:
                extract, sha1 = await asyncio.to_thread(self._extract, page)
        if extract is None:
            return PageContent(sha1=sha1)
        if len(extract.links) <= LINKS_AT_ONCE:
            return await self._judge(extract, sha1, parent)
        async with self._many_links:
            return await self._judge(extract, sha1, parent)

    async def sha1(self, body: bytes, /) -> bytes:
        """The SHA-1 of a body of which nothing else is needed."""
        return body_sha1(body) if len(body) <= BYTES_AT_ONCE else await asyncio.to_thread(body_sha1, body)

    def _extract(self, page: Page) -> tuple[Extract | None, bytes]:
        return self._extractor.extract(page) if page.status < 300 else None, body_sha1(page.body)

    async def _judge(self, extract: Extract, sha1: bytes, parent: CrawlUrl) -> PageContent:
        base_url, links = extract.base_url, extract.links
        about = f"{extract.title or ''}\n{extract.description or ''}\n{extract.abstract or ''}"
        discovered = await in_turn(self._discovery.links(base_url, links, parent=parent, about=about))
        references = details = None
        if self.references:
            references = await in_turn(self._discovery.references(base_url, links, discovered, parent=parent))
        if self.link_details:
            details = await in_turn(self._discovery.link_details(base_url, links, discovered, parent=parent))
        return PageContent(
            sha1=sha1, extract=extract, discovered=discovered, references=references, link_details=details
        )
