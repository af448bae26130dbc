"""What the reference store has asked a visited set on a server."""

from collections.abc import Sequence

from frontier.values import CrawlUrl


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
