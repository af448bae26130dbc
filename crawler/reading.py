"""What a page says, read and judged without holding up the event loop."""

import asyncio
from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from crawler.page import Extract, Page, body_sha1
from crawler.protocols import Discovered, Discovery, LinkExtractor
from crawler.steps import LINKS_AT_ONCE, Steps
from frontier import CrawlUrl

BYTES_AT_ONCE: Final = 128 * 1024
"""Bytes that are read in the event loop, which takes 40 ms at worst; larger bodies are read in a thread."""
_THREADS: Final = 2
"""For large pages. Each takes a multiple of its size in memory while it is read."""

_Result = TypeVar("_Result")


async def in_turn(steps: Steps[_Result]) -> _Result:
    """Take all steps, and let others have their turn between them."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: _Result = end.value
            return result
        await asyncio.sleep(0)


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of a page."""

    sha1: bytes
    """Of the body."""
    extract: Extract | None = None
    """None of a page that is not read, as an error page."""
    discovered: Discovered | None = None
    references: Sequence[str] | None = None


class Reading:
    """Reads pages. Small ones are read at once; large ones in a thread, and many links are judged in steps."""

    def __init__(self, extractor: LinkExtractor, discovery: Discovery, *, references: bool) -> None:
        self._extractor = extractor
        self._discovery = discovery
        self._references = references
        self._threads = asyncio.Semaphore(_THREADS)
        self._long = asyncio.Lock()
        """Held to judge many links. Steps of several pages would follow each other in one turn of the event loop."""

    async def read(self, page: Page, /, *, parent: CrawlUrl) -> Read:
        """Read a page, and judge its links if it is a success."""
        if len(page.body) <= BYTES_AT_ONCE:
            extract, sha1 = self._extract(page)
        else:
            async with self._threads:
                extract, sha1 = await asyncio.to_thread(self._extract, page)
        if extract is None:
            return Read(sha1=sha1)
        if len(extract.links) <= LINKS_AT_ONCE:
            return await self._judge(extract, sha1, parent)
        async with self._long:
            return await self._judge(extract, sha1, parent)

    async def sha1(self, body: bytes, /) -> bytes:
        """The SHA-1 of a body that is not read."""
        return body_sha1(body) if len(body) <= BYTES_AT_ONCE else await asyncio.to_thread(body_sha1, body)

    def _extract(self, page: Page) -> tuple[Extract | None, bytes]:
        return self._extractor.extract(page) if page.status < 300 else None, body_sha1(page.body)

    async def _judge(self, extract: Extract, sha1: bytes, parent: CrawlUrl) -> Read:
        base_url, links = extract.base_url, extract.links
        about = f"{extract.title or ''}\n{extract.description or ''}\n{extract.abstract or ''}"
        discovered = await in_turn(self._discovery.links(base_url, links, parent=parent, about=about))
        references = None
        if self._references:
            references = await in_turn(self._discovery.references(base_url, links, discovered, parent=parent))
        return Read(sha1=sha1, extract=extract, discovered=discovered, references=references)
