"""Who uses the reference store, who has paused the crawl, and what a visited set on a server was asked."""

from collections.abc import Sequence

from frontier.values import CrawlUrl


class MemoryMarks:
    """The `Marks` of a `MemoryStore`."""

    def __init__(self) -> None:
        self.in_use = False
        self.crashed_at: float | None = None
        self.paused: str | None = None
        self.revisits_planned = False
        self.memory: str | None = None

    def set_in_use(self, in_use: bool, /, *, crashed_at: float | None = None) -> None:
        self.in_use = in_use
        self.crashed_at = self.crashed_at if crashed_at is None else crashed_at

    def set_paused(self, reason: str | None, /) -> None:
        self.paused = reason

    def set_revisits_planned(self, planned: bool, /) -> None:
        self.revisits_planned = planned

    def set_memory(self, memory: str | None, /) -> None:
        self.memory = memory


class MemoryClaims:
    """The `Claims` of a `MemoryStore`."""

    def __init__(self) -> None:
        self._urls: list[CrawlUrl] = []

    @property
    def is_open(self) -> bool:
        return bool(self._urls)

    def urls(self) -> list[CrawlUrl]:
        return list(self._urls)

    def put(self, urls: Sequence[CrawlUrl], /) -> None:
        self._urls = list(urls)

    def clear(self) -> None:
        self._urls = []
