"""Pages and bytes over time, in bounded memory. Pure."""

from collections import Counter
from datetime import datetime
from typing import Final

from crawler.operate.report.forms import Activity
from crawler.operate.report.visits import Visit
from crawler.page import counts_as_page, rfc3339

MAX_BINS: Final = 240


class ActivityCount:
    """Counts visits in bins of time. When there are too many, each becomes twice as long."""

    def __init__(self, max_bins: int = MAX_BINS) -> None:
        self._max_bins = max_bins
        self._width_s = 1
        self._pages: Counter[int] = Counter()
        self._bytes: Counter[int] = Counter()

    def add(self, visit: Visit) -> None:
        if visit.fetched_at is None:
            return
        at = int(datetime.fromisoformat(visit.fetched_at).timestamp()) // self._width_s
        self._pages[at] += counts_as_page(visit)
        self._bytes[at] += visit.received_bytes or 0
        while len(self._pages) > self._max_bins:
            self._width_s *= 2
            self._pages, self._bytes = _halved(self._pages), _halved(self._bytes)

    def found(self) -> list[Activity]:
        """The bins in which anything was fetched, in order."""
        return [
            Activity(
                at=rfc3339(at * self._width_s),
                seconds=self._width_s,
                pages=self._pages[at],
                bytes_received=self._bytes[at],
            )
            for at in sorted(self._pages)
        ]


def _halved(counts: Counter[int]) -> Counter[int]:
    halved: Counter[int] = Counter()
    for at, count in counts.items():
        halved[at // 2] += count
    return halved
