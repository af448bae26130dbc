"""What other packages may bring to a crawl. These protocols know pages alone, so every room may use them."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from crawler.page import Extract, Fetched, Link, Page, PageRecord, Request, Verdict


class Fetches(Protocol):
    """Fetches one URL from its server.

    Whatever a server or the network does is a returned value, never an exception. Redirects are returned and not
    followed. Cancelling a fetch closes its connection.
    """

    async def fetch(self, request: Request, /) -> Fetched: ...


class Fetcher(Fetches, Protocol):
    """Fetches URLs until it is closed."""

    async def aclose(self) -> None: ...


class Robots(Protocol):
    """Says whether robots.txt allows a URL, and how slowly its host wants to be asked.

    `allows` may have to fetch robots.txt first. However many callers ask at the same time, it sends at most one
    request. The verdict says whether it sent one, so that the host can rest. It also says whether the answer is
    `known`: if robots.txt redirects, the caller must ask again after that rest.
    """

    def prerequisite(self, url: str, /) -> str | None:
        """The URL that `allows` has to fetch next, if it is on another host: the caller must first wait for the turn of
        that host. None if there is no such URL."""
        ...

    def is_known(self, url: str, /) -> bool:
        """Whether `allows` would answer now without a request. May be False for a URL that robots.txt disallows."""
        ...

    async def allows(self, url: str, /, *, prerequisite: str | None = None) -> Verdict:
        """`prerequisite` is the URL for whose host the caller has waited. If `allows` would need another request than
        that, it sends none, and the verdict is not `known`."""
        ...

    def crawl_delay(self, url: str, /) -> float | None:
        """Crawl-delay in seconds for the URL's host; None if it is not known or not given."""
        ...

    def new_sitemaps(self, url: str, /) -> Sequence[Link]:
        """The sitemaps that the robots.txt of the URL's host names, as written there, each with a text; if it names
        none, the URLs where one may be, without.

        It returns them once for each time that the file is fetched, and again after a restart, because a crash may have
        come before they were admitted."""
        ...


class LinkExtractor(Protocol):
    """Reads a page. Pure and synchronous; never raises, whatever a page contains. It must be safe in threads: large
    pages are read in two of them."""

    def extract(self, page: Page, /) -> Extract: ...


class NotTaken(Exception):
    """Raised by a sink that does not take a page now. The crawl waits, and says so, until the sink takes the page. If
    the crawl ends first, the page is not done: it is fetched again when the crawl goes on."""


class GivenBack(NotTaken):
    """Raised by the first sink alone, for a page that it will never take. Nothing waits: the URL of the page is handed
    back at once, and the page is fetched again later."""


class Sink(Protocol):
    """Where pages and records go."""

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        """Write a page and its record. Returns once they are as safe as the configured durability promises. `page` is
        None for a URL that was not fetched.

        A page is written again, with the same number, if the crawl crashed before it was done. If it can't be written,
        this raises `OSError`, or `NotTaken` if nothing is wrong, and leaves nothing of it in the output: the page is
        not done.
        """
        ...

    async def aclose(self) -> None:
        """Complete the files. Closing twice is harmless."""
        ...


@runtime_checkable
class TakesExchanges(Protocol):
    """What a sink may have beside the methods of `Sink`."""

    async def write_exchange(self, fetched: Fetched, purpose: str, /) -> None:
        """Write a request that was not for a page, and its response. `purpose` is `robots` for a robots.txt, and `load`
        for what a rendered page loads, which comes before its page. The promises are those of `write`, but a crash
        may lose what was being written: it has no number by which anybody would miss it."""
        ...


@runtime_checkable
class IsTold(Protocol):
    """What a sink may have beside the methods of `Sink`."""

    def tell(self, about: Mapping[str, str], /) -> None:
        """Called when the settings of the crawl have changed while it runs. `about` is what `Parameters.about` was when
        the sink was made, as it is now. What is written from now on says this about the crawl."""
        ...


@runtime_checkable
class Begins(Protocol):
    """What a sink may have beside the methods of `Sink`."""

    async def begin(self) -> None:
        """Called once, before the first page is written, such as to connect to a server. Raises ValueError for what
        waiting does not mend: then the crawl does not begin."""
        ...


class NoOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a component that has none."""
