"""Works: streams of links, and how they are read."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from crawler.compare.measure.synthetic import Synthetic

BATCH = 64
"""Links in a batch if the work has no pages: about as many as a page has."""


class Spooled(msgspec.Struct, frozen=True, kw_only=True, tag="spooled"):
    """Links in two text files with one URL per line. One has all links, with an empty line after each page; the other
    has each URL once."""

    links: str
    new: str
    digest: str
    """SHA-256 of the file of links. It identifies the work when a run is resumed."""

    def batches(self, size: int) -> Iterator[list[str]]:
        """Page by page, and in pieces of `size` links where there are no pages, or long ones."""
        return _pages(_lines(Path(self.links)), size)

    def new_batches(self, size: int) -> Iterator[list[str]]:
        return _pages(_lines(Path(self.new)), size)


class Live(msgspec.Struct, frozen=True, kw_only=True, tag="live"):
    """A crawl, once with each competitor as its visited set."""

    configuration: str
    """As TOML."""
    web: str | None = None
    """Parameters of the simulated web to crawl, as JSON; None for a real web."""


Stream = Spooled | Synthetic | Live


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """The properties of a work, counted once before the measurements."""

    links: int
    distinct: int
    hosts: int
    largest_host: str
    """The host with the most distinct URLs."""
    largest_host_urls: int
    mean_length: float
    """Characters of a distinct URL."""
    unreadable: int = 0
    first_unreadable: tuple[str, ...] = ()
    """The place of the first of them, and what is wrong with them."""

    @property
    def repeats(self) -> float:
        """Share of links that occurred before."""
        return 1 - self.distinct / self.links if self.links else 0.0


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """A stream of links under a name."""

    name: str
    stream: Stream
    survey: Survey
    batch: int = BATCH
    stands_for: int | None = None
    """Distinct URLs of the larger work of which this is a scale model. The report extrapolates memory to it, and says
    so."""


def batches(work: Work) -> Iterator[list[str]]:
    """The links in their order: page by page, if there are pages."""
    return _links_of(work).batches(work.batch)


def new_batches(work: Work) -> Iterator[list[str]]:
    """The distinct URLs in the order of their first occurrence."""
    return _links_of(work).new_batches(work.batch)


def _links_of(work: Work) -> Spooled | Synthetic:
    if isinstance(work.stream, Live):
        raise ValueError("a live crawl has no stream")
    return work.stream


def chunks(lists: Iterable[list[str]], links: int) -> Iterator[list[list[str]]]:
    """Batches in groups of about `links` links, to read them ahead of a measurement."""
    rest = iter(lists)
    while first := next(rest, None):
        more = max(0, links // max(1, len(first)) - 1)
        yield [first, *islice(rest, more)]


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", errors="surrogatepass", newline="\n") as file:
        for line in file:
            yield line[:-1]


def _pages(lines: Iterable[str], most: int) -> Iterator[list[str]]:
    """The lines between empty ones. A page with more than `most` links comes in pieces."""
    page: list[str] = []
    for line in lines:
        if line:
            page.append(line)
        if page and (not line or len(page) == most):
            yield page
            page = []
    if page:
        yield page
