"""Fetches pages, and renders those that are to be rendered."""

import codecs
from collections.abc import Callable

import msgspec

from crawler.page import Fetched, Page, Rendering, Request
from crawler.render.browsers import Browsers
from crawler.render.limits import Limits
from crawler.render.loads import Fetches, Loads
from crawler.render.visit import Rendered, Visit

_RENDERED_TYPES = frozenset({"text/html", "application/xhtml+xml"})


class RenderingFetcher:
    """A `Fetcher` that asks another one, and renders the pages whose URL `matches`: whole HTML with a success status.

    The body of a rendered page is its document, as UTF-8 with a byte order mark; `raw_body` and the headers are what
    was received. Where there is no document the page stays as it came; `rendering` says how it went. `duration_s` is
    how long servers were kept busy. `browsers`, which are open, are closed with it.

    `fetch` raises `BrowserRefused` when a browser can't be started any more.
    """

    def __init__(
        self, fetcher: Fetches, browsers: Browsers, *, matches: Callable[[str], bool], loads: Loads, limits: Limits
    ) -> None:
        self._fetcher = fetcher
        self._browsers = browsers
        self._matches = matches
        self._loads = loads
        self._limits = limits

    async def fetch(self, request: Request, /) -> Fetched:
        fetched = await self._fetcher.fetch(request)
        if not isinstance(fetched, Page) or not _can_be_rendered(fetched) or not self._matches(request.url):
            return fetched
        rendered = await self._rendered(fetched)
        body = fetched.body if rendered.document is None else codecs.BOM_UTF8 + rendered.document
        return msgspec.structs.replace(
            fetched,
            body=body,
            rendering=rendered.rendering,
            links=rendered.links,
            duration_s=fetched.duration_s + rendered.busy_s,
        )

    async def aclose(self) -> None:
        await self._browsers.aclose()

    async def _rendered(self, page: Page) -> Rendered:
        first = await self._once(page)
        if first.rendering is not Rendering.CRASHED:
            return first
        # A browser may crash for reasons of its own.
        second = await self._once(page)
        return msgspec.structs.replace(second, busy_s=first.busy_s + second.busy_s)

    async def _once(self, page: Page) -> Rendered:
        async with self._browsers.one() as browser:
            return await Visit(browser, page, self._loads, self._limits).run()


def _can_be_rendered(page: Page) -> bool:
    if page.status >= 300 or page.truncated is not None or not page.body:
        return False
    disposition = page.header("content-disposition") or ""
    declared = (page.header("content-type") or "").partition(";")[0].strip().lower()
    return declared in _RENDERED_TYPES and not disposition.lower().startswith("attachment")
