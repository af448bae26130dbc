"""Combines several sinks into one."""

from collections.abc import Sequence
from contextlib import AsyncExitStack

from crawler.page import Fetched, PageRecord
from crawler.seams import Sink


class Sinks:
    """Writes to each sink in the given order.

    Put records last: then a line in the records means that the page is in all other sinks.
    """

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = tuple(sinks)

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        for sink in self._sinks:
            await sink.write(page, record)

    async def aclose(self) -> None:
        async with AsyncExitStack() as stack:  # closes all, even when one of them fails
            for sink in reversed(self._sinks):
                stack.push_async_callback(sink.aclose)
