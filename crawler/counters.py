"""Counts what a crawl does. Users read these names."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from crawler.page import READ_IN_PART, Extract, Fetched, NotModified, Page, WithBody


class InFlight(msgspec.Struct):
    """A URL that a worker is processing."""

    url: str
    stage: str
    """What the worker waits for: robots.txt, the server, the disk."""
    since: float
    """When the stage began, in monotonic seconds."""


class Counters:
    """Counts of this run. The pipeline writes them, and progress reads them."""

    __slots__ = (
        "admitted",
        "bytes_received",
        "excluded",
        "failed",
        "failures",
        "in_flight",
        "links",
        "pages",
        "read_in_part",
        "redirects",
        "refused",
        "responses",
        "retries",
        "robots_asked",
        "settled",
        "truncated",
    )

    def __init__(self) -> None:
        self.pages = 0
        """URLs settled with a 2xx status or 304, without sitemaps."""
        self.truncated: Counter[str] = Counter()
        """Of these, those whose body is incomplete, by reason."""
        self.settled = 0
        """URLs settled in any way. One that is visited again counts each time."""
        self.redirects = 0
        self.responses: Counter[int] = Counter()
        """Responses by status."""
        self.bytes_received = 0
        """Bytes of bodies, as received."""
        self.failures: Counter[str] = Counter()
        """Failed fetches by kind of failure or by status. Each attempt counts."""
        self.retries = 0
        self.failed = 0
        """URLs that the crawl has given up."""
        self.excluded: Counter[str] = Counter()
        """URLs that a rule excludes, by rule."""
        self.read_in_part = 0
        """Documents of which only a part was read, because there was too much to parse."""
        self.links = 0
        """Links in scope; a link counts again on each page that has it."""
        self.admitted = 0
        """Links that were new."""
        self.refused: Counter[str] = Counter()
        """Links that were not admitted, by reason."""
        self.robots_asked = 0
        self.in_flight: dict[int, InFlight] = {}
        """By the number of the lease."""

    def begin_storing(self, number: int, now: float) -> None:
        """From `now` on, the lease of that number waits until what became of its URL is stored."""
        work = self.in_flight[number]
        work.stage, work.since = "the storing", now

    def count_new(self, links: int, /) -> None:
        """Count links that were new."""
        self.admitted += links

    def count_links(self, found: int, refused: Mapping[str, int], /) -> None:
        """Count links that may be followed, and those that may not, by reason."""
        self.links += found
        for reason, count in refused.items():  # `update` takes 2 us to begin
            self.refused[reason] += count

    def count_read(self, extract: Extract | None, /) -> None:
        """Count what was read of a document."""
        if extract is not None and extract.error is not None and extract.error.startswith(READ_IN_PART):
            self.read_in_part += 1

    def count_page(self, fetched: Fetched, /) -> None:
        """Count a page that is settled."""
        self.pages += 1
        if isinstance(fetched, Page) and fetched.truncated is not None:
            self.truncated[fetched.truncated] += 1

    def count_response(self, fetched: Fetched, /) -> None:
        """Count what came of a request. A failure is none."""
        if isinstance(fetched, WithBody):
            self.responses[fetched.status] += 1
            self.bytes_received += len(fetched.raw_body)
        elif isinstance(fetched, NotModified):
            self.responses[fetched.status] += 1
