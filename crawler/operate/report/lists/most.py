"""The URLs with the highest of some value, such as the slowest. Pure."""

from collections.abc import Callable, Iterator
from heapq import heappush, heappushpop

from crawler.operate.report.lists.forms import FetchedRow
from crawler.operate.report.lists.listed import Listed
from crawler.page import LinkKind


class Most:
    """The first `limit` URLs by a value, the highest first."""

    def __init__(self, limit: int, value: Callable[[Listed], float | None]) -> None:
        self._limit = limit
        self._value = value
        self._heap: list[tuple[float, int, FetchedRow]] = []

    def add(self, listed: Listed) -> None:
        if listed.kind == LinkKind.EXTERNAL:
            return
        value = self._value(listed)
        if not value or (len(self._heap) >= self._limit and value <= self._heap[0][0]):
            return
        row = FetchedRow(
            url=listed.url,
            status=listed.status,
            duration_s=listed.duration_s,
            received_bytes=listed.received_bytes,
            size_bytes=listed.size_bytes,
        )
        # Of equal ones, the earlier goes first. No two have a number in common.
        item = value, -listed.number, row
        if len(self._heap) < self._limit:
            heappush(self._heap, item)
        else:
            heappushpop(self._heap, item)

    def rows(self) -> Iterator[FetchedRow]:
        for _, _, row in sorted(self._heap, reverse=True, key=lambda item: item[:2]):
            yield row
