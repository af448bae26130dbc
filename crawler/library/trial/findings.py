"""What components find during a trial."""

from collections.abc import Sequence

import msgspec

from crawler.page import Extract, Failure, Fetched, Page, PageRecord
from crawler.seams import LinkExtractor


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What was written of one URL."""

    record: PageRecord
    protocol: str | None = None
    request_headers: Sequence[tuple[str, str]] = ()
    headers: Sequence[tuple[str, str]] = ()


class Findings:
    """A sink that keeps records, without bodies."""

    def __init__(self) -> None:
        self.by_number: dict[int, Finding] = {}
        self.nofollow: set[str] = set()
        """The URLs of pages that ask crawlers to follow none of their links."""

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        response = page.response if isinstance(page, Failure) else page
        found = Finding(record=record)
        if response is not None:
            found = Finding(
                record=record,
                protocol=f"HTTP/{response.http_version}",
                request_headers=response.request_headers,
                headers=[(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers],
            )
        self.by_number[record.number] = found

    async def aclose(self) -> None: ...

    def extractor(self, configured: LinkExtractor, /) -> LinkExtractor:
        """The same extractor, of which is noted what pages ask for."""
        return _Noted(configured, self.nofollow)


class _Noted:
    def __init__(self, extractor: LinkExtractor, nofollow: set[str]) -> None:
        self._extractor = extractor
        self._nofollow = nofollow

    def extract(self, page: Page, /) -> Extract:
        found = self._extractor.extract(page)
        if found.nofollow:
            self._nofollow.add(page.url)
        return found
