"""Fetches pages, and renders some of them."""

import asyncio
import codecs
import logging
import re
from collections.abc import Callable

import msgspec

from crawler.page import Fetched, Page, Rendering, Request
from crawler.render.browsers import Browsers
from crawler.render.limits import Limits
from crawler.render.loads import Loads
from crawler.render.rendered import Rendered
from crawler.render.visit import Visit
from crawler.seams import Fetches

_log = logging.getLogger(__name__)

_RENDERED_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_WITHOUT_CONTENT = frozenset({204, 205})
_TOKEN = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)


class RenderingFetcher:
    """A `Fetcher` around another one. It renders the pages whose URL `matches`, if they are complete HTML with a
    success status. `reads_as_html` says whether a page declared as HTML is HTML: some servers declare sitemaps so.
    `charset_of` detects the encoding of a page that declares none: Chromium takes no page without one for UTF-8.

    The body of a rendered page is its document, in UTF-8 with a byte order mark; `raw_body` and the headers are as
    received. Without a document the page stays as received. `rendering` says which. `duration_s` is how long servers
    were busy. The fetcher closes `browsers`, which must be open.

    `fetch` raises `BrowserRefused` if it can't start a browser any more.
    """

    def __init__(
        self,
        fetcher: Fetches,
        browsers: Browsers,
        *,
        matches: Callable[[str], bool],
        reads_as_html: Callable[[Page], bool],
        charset_of: Callable[[Page], str | None],
        loads: Loads,
        limits: Limits,
    ) -> None:
        self._fetcher = fetcher
        self._browsers = browsers
        self._matches = matches
        self._reads_as_html = reads_as_html
        self._charset_of = charset_of
        self._loads = loads
        self._limits = limits
        self._unfinished = 0

    async def fetch(self, request: Request, /) -> Fetched:
        fetched = await self._fetcher.fetch(request)
        if not isinstance(fetched, Page) or not _can_be_rendered(fetched) or not self._matches(request.url):
            return fetched
        if not self._reads_as_html(fetched):
            return fetched
        charset = await asyncio.to_thread(self._charset_of, fetched)
        rendered = await self._render(fetched if charset is None else _with_charset(fetched, charset))
        if rendered.why_unfinished is not None:
            self._note_unfinished(request.url, rendered.why_unfinished)
        body = fetched.body if rendered.document is None else codecs.BOM_UTF8 + rendered.document
        return msgspec.structs.replace(
            fetched,
            body=body,
            rendering=rendered.rendering,
            links=rendered.links,
            duration_s=fetched.duration_s + rendered.busy_s,
            troubled_loads=tuple(rendered.troubled_loads),
            loads=rendered.loads,
            screenshots=rendered.screenshots,
        )

    def _note_unfinished(self, url: str, why: str) -> None:
        """Warn of the first page alone: a wrong selector is wrong for each."""
        self._unfinished += 1
        if self._unfinished == 1:
            _log.warning("%s can't be scrolled or clicked any further: %s", url, why)

    async def aclose(self) -> None:
        if self._unfinished > 1:
            _log.warning("pages that could not be scrolled or clicked any further: %d", self._unfinished)
            self._unfinished = 0
        await self._browsers.aclose()

    async def _render(self, page: Page) -> Rendered:
        first = await self._visit(page)
        if first.rendering is not Rendering.CRASHED:
            return first
        # A browser may crash for reasons other than the page.
        second = await self._visit(page)
        busy_s, troubled_loads = first.busy_s + second.busy_s, first.troubled_loads | second.troubled_loads
        return msgspec.structs.replace(second, busy_s=busy_s, troubled_loads=troubled_loads)

    async def _visit(self, page: Page) -> Rendered:
        async with self._browsers.lend() as browser:
            return await Visit(browser, page, self._loads, self._limits).run()


def _can_be_rendered(page: Page) -> bool:
    if page.status >= 300 or page.status in _WITHOUT_CONTENT or page.truncated is not None or not page.body:
        return False
    declared = (page.header("content-type") or "").partition(";")[0].strip().lower()
    return declared in _RENDERED_TYPES and not _is_download(page.header("content-disposition") or "")


def _with_charset(page: Page, charset: str) -> Page:
    declared = (page.header("content-type") or "").partition(";")[0].strip()
    headers = [(name, value) for name, value in page.headers if name.lower() != b"content-type"]
    headers.append((b"Content-Type", f"{declared}; charset={charset}".encode("latin-1")))
    return msgspec.structs.replace(page, headers=headers)


def _is_download(disposition: str) -> bool:
    """Whether a browser would save the response. An unknown type counts as `attachment` (RFC 6266, section 4.2)."""
    kind = disposition.partition(";")[0].strip()
    return _TOKEN.fullmatch(kind) is not None and kind.lower() != "inline"
