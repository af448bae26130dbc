"""URLs that are made when they are needed."""

from collections.abc import Callable, Iterator, Sequence
from typing import overload

from frontier.values import CrawlUrl


class UrlBatch(Sequence[CrawlUrl]):
    """The URLs to which a page links, for `Frontier.add`.

    Most links lead to URLs that the crawl knows. For these our frontier needs only the canonical forms and the numbers
    of links, so it makes a `CrawlUrl` only of the others. To any other reader this is a sequence of URLs.
    """

    def __init__(
        self,
        canonicals: list[str],
        link_counts: list[int],
        make: Callable[[int, int], CrawlUrl],
        *,
        first: int = 0,
        is_ascii: bool = False,
    ) -> None:
        """`make` takes the place of a URL, from `first` on, and its number of links. It makes URLs that a store can
        keep: precedence and cost within their limits, all texts but the canonical forms in ASCII. `is_ascii` says that
        these are in ASCII, too."""
        self.canonicals = canonicals
        self.link_counts = link_counts
        self.is_ascii = is_ascii
        self._make = make
        self._first = first

    def __len__(self) -> int:
        return len(self.canonicals)

    @overload
    def __getitem__(self, index: int) -> CrawlUrl: ...
    @overload
    def __getitem__(self, index: slice) -> "UrlBatch": ...
    def __getitem__(self, index: int | slice) -> "CrawlUrl | UrlBatch":
        if isinstance(index, slice):
            start, _, step = index.indices(len(self.canonicals))
            if step != 1:
                raise ValueError(f"a batch can be cut into pieces, not by {index}")
            canonicals, link_counts, first = self.canonicals[index], self.link_counts[index], self._first + start
            return UrlBatch(canonicals, link_counts, self._make, first=first, is_ascii=self.is_ascii)
        place = range(len(self.canonicals))[index]
        return self._make(self._first + place, self.link_counts[place])

    def __iter__(self) -> Iterator[CrawlUrl]:
        return map(self._make, range(self._first, self._first + len(self.canonicals)), self.link_counts)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, UrlBatch | list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


def canonicals_of(urls: Sequence[CrawlUrl], /) -> list[str]:
    """The canonical forms of URLs."""
    return urls.canonicals if isinstance(urls, UrlBatch) else [url.canonical for url in urls]


def link_counts_of(urls: Sequence[CrawlUrl], /) -> list[int]:
    return urls.link_counts if isinstance(urls, UrlBatch) else [url.link_count for url in urls]
