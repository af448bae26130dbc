"""Keeps what a plug-in raises for a single page from ending the crawl."""

import logging
from collections.abc import Callable
from time import time

from crawler.page import Extract, Failure, FailureKind, Fetched, Page, Request
from crawler.protocols import Fetcher, LinkExtractor
from crawler.wiring.plugins.loading import in_one_line

log = logging.getLogger(__name__)


class GuardedExtractor:
    """An extractor that never raises. The record of a page that broke the plug-in tells its error."""

    def __init__(self, extractor: LinkExtractor, title: str) -> None:
        """`title` names the plug-in."""
        self._extractor = extractor
        self._title = title

    def extract(self, page: Page, /) -> Extract:
        try:
            extract = self._extractor.extract(page)
            if not isinstance(extract, Extract):
                raise TypeError(f"expected an Extract, found {type(extract).__name__}")
            return extract
        except Exception as error:
            log.warning("%s failed: %s (%s)", self._title, in_one_line(error), page.url)
            log.info("the traceback", exc_info=error)
            return Extract(
                content_type="application/octet-stream",
                base_url=page.url,
                error=f"{self._title} failed: {in_one_line(error)}",
            )


class GuardedFetcher:
    """A fetcher that never raises. The URL that broke the plug-in has failed."""

    def __init__(self, fetcher: Fetcher, title: str, before_request: Callable[[], object] | None = None) -> None:
        """`title` names the plug-in. `before_request` is called before each."""
        self._fetcher = fetcher
        self._title = title
        self._before_request = before_request

    async def fetch(self, request: Request, /) -> Fetched:
        fetched_at = time()
        if self._before_request is not None:
            self._before_request()
        try:
            fetched = await self._fetcher.fetch(request)
            if not isinstance(fetched, Fetched):
                raise TypeError(f"expected a page or a failure, found {type(fetched).__name__}")
            return fetched
        except Exception as error:
            log.warning("%s failed: %s (%s)", self._title, in_one_line(error), request.url)
            log.info("the traceback", exc_info=error)
            return Failure(
                url=request.url,
                kind=FailureKind.UNEXPECTED,
                message=f"{self._title} failed: {in_one_line(error)}",
                fetched_at=fetched_at,
                duration_s=time() - fetched_at,
            )

    async def aclose(self) -> None:
        await self._fetcher.aclose()
