"""Archives what rendered pages load, and their screenshots."""

from collections.abc import Callable
from typing import Final, Protocol
from weakref import WeakValueDictionary

import msgspec

from crawler.page import Fetched, Page, PageRecord, WithBody
from crawler.seams import Sink, TakesExchanges

LOAD: Final = "load"
"""The purpose of what a rendered page loads."""


class _Archive(Sink, TakesExchanges, Protocol): ...


class WithLoads:
    """Archives what a page has loaded, right before the page. If a page is not archived, nothing that it loaded is.

    `keeps_loads_of` says of a record whether loads and screenshots are archived; a screenshot shows what was loaded. A
    response that several pages share is written once, unless two of them are written at the same time.
    """

    def __init__(self, archive: _Archive, *, keeps_loads_of: Callable[[PageRecord], bool]) -> None:
        self._archive = archive
        self._keeps_loads_of = keeps_loads_of
        self._written: WeakValueDictionary[int, WithBody] = WeakValueDictionary()
        """By identity, because two pages may get equal responses."""

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        if isinstance(page, Page) and (page.loads or page.screenshots) and record.not_archived is None:
            if not self._keeps_loads_of(record):
                page = msgspec.structs.replace(page, loads=(), screenshots=())
            for each in page.loads:
                if isinstance(each, WithBody) and self._written.get(id(each)) is not each:
                    await self._archive.write_exchange(each, LOAD)
                    self._written[id(each)] = each
        await self._archive.write(page, record)

    def forget_before(self, _serial: int, /) -> None:
        """See `Refers`: later pages may not need what was written before."""
        self._written.clear()

    async def aclose(self) -> None:
        await self._archive.aclose()
