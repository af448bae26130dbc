"""What is measured on: streams of links, and how they are read."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from crawler.compare.measure.synthetic import Synthetic

BATCH = 64
"""Links in a batch where the work has no pages of its own: about as many as a page has."""


class Spooled(msgspec.Struct, frozen=True, kw_only=True, tag="spooled"):
    """Links in two files of text, one URL on each line: all, with an empty line behind each page, and the new ones."""

    links: str
    new: str
    digest: str
    """SHA-256 of the file of links; tells one work from another when a run is resumed."""


class Live(msgspec.Struct, frozen=True, kw_only=True, tag="live"):
    """A crawl, once with each competitor as its visited set."""

    configuration: str
    """As TOML."""
    web: str | None = None
    """Parameters of the simulated web that is crawled, as JSON; None for a real one."""


Stream = Spooled | Synthetic | Live


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """What a work is, counted once before anything is measured."""

    links: int
    distinct: int
    hosts: int
    largest_host: str
    """The one that has most distinct URLs."""
    largest_host_urls: int
    mean_length: float
    """Characters of a distinct URL."""
    unreadable: int = 0
    first_unreadable: tuple[str, ...] = ()
    """Where the first of them stand, and what is wrong with them."""

    @property
    def repeats(self) -> float:
        """Share of links that were met before."""
        return 1 - self.distinct / self.links if self.links else 0.0


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """A stream of links under a name."""

    name: str
    stream: Stream
    survey: Survey
    batch: int = BATCH
    stands_for: int | None = None
    """Distinct URLs of the larger work of which this is a scale model; its figures are extrapolated, and marked."""


def batches(work: Work) -> Iterator[list[str]]:
    """The links as they come: a page at a time where there are pages."""
    match work.stream:
        case Synthetic() as stream:
            yield from stream.batches(work.batch)
        case Spooled() as spool:
            yield from _pages(_lines(Path(spool.links)), work.batch)
        case Live():
            raise ValueError("a live crawl has no stream")


def new_batches(work: Work) -> Iterator[list[str]]:
    """The distinct URLs, each once, in the order in which they first come."""
    match work.stream:
        case Synthetic() as stream:
            yield from stream.new_batches(work.batch)
        case Spooled() as spool:
            yield from _pages(_lines(Path(spool.new)), work.batch)
        case Live():
            raise ValueError("a live crawl has no stream")


def chunks(parts: Iterable[list[str]], links: int) -> Iterator[list[list[str]]]:
    """Batches in lists of about so many links: what is read ahead of a measurement."""
    rest = iter(parts)
    while first := next(rest, None):
        more = max(0, links // max(1, len(first)) - 1)
        yield [first, *islice(rest, more)]


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", errors="surrogatepass", newline="\n") as file:
        for line in file:
            yield line[:-1]


def _pages(lines: Iterable[str], most: int) -> Iterator[list[str]]:
    """What lies between empty lines; a page of more links than `most` comes in pieces."""
    page: list[str] = []
    for line in lines:
        if line:
            page.append(line)
        if page and (not line or len(page) == most):
            yield page
            page = []
    if page:
        yield page
