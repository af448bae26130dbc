"""What the engine asks of its parts."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from crawler.page import Extract, Fetched, Link, Page, PageRecord, Redirect, Request, Verdict
from crawler.steps import Steps
from frontier import CrawlUrl


class Fetcher(Protocol):
    """Asks a server for one URL.

    Never raises for what a server or the network does: that is a value. Redirects are returned, not followed.
    Cancelled, it closes the connection.
    """

    async def fetch(self, request: Request, /) -> Fetched: ...

    async def aclose(self) -> None: ...


class Addresses(Protocol):
    """Tells where hosts are, as far as they are asked directly."""

    async def address(self, url: str, /) -> str | None:
        """The address at which the URL's host is about to be asked, which is the one that was asked last while it is
        one of the host's; None if none is known, or a proxy is asked."""
        ...


class LinkExtractor(Protocol):
    """Reads a page. Pure and synchronous; never raises for what a page contains. Large pages are read in
    threads, two at once."""

    def extract(self, page: Page, /) -> Extract: ...


class Robots(Protocol):
    """Says whether a URL may be fetched, and how slowly its host wants to be asked.

    `allows` may have to make a request first, one at most however many ask at the same time; the verdict tells whether
    it did, so that the host can rest, and whether it is `known`: robots.txt may redirect, and then whoever wants to
    know comes back after that rest.
    """

    def errand(self, url: str, /) -> str | None:
        """The URL that `allows` has to ask next where that is on another host, whose turn must be waited for."""
        ...

    async def allows(self, url: str, /, *, errand: str | None = None) -> Verdict:
        """`errand` is what was waited for. If anything else has to be asked, nobody is, and nothing is known."""
        ...

    def crawl_delay(self, url: str, /) -> float | None:
        """Crawl-delay in seconds for the URL's host; None if unknown or not stated."""
        ...

    def new_sitemaps(self, url: str, /) -> Sequence[str]:
        """The sitemaps that the robots.txt of the URL's host names, as they stand there, or where one may lie if it
        names none. Once per host and reading of that file: again after a restart, so that none is lost when they could
        not be admitted."""
        ...


class Discovered(msgspec.Struct, frozen=True, kw_only=True):
    """The links of one page, resolved and judged."""

    urls: list[CrawlUrl]
    """In scope, without repeats, in document order."""
    to_itself: int = 0
    """How often the page links to itself, by more than a fragment."""
    refused: dict[str, int]
    """How many others were refused, by reason."""
    refusals: list[tuple[str, str]] = []
    """Each of these with its reason, as a URL, or as it stands where it is none."""


class Discovery(Protocol):
    """Turns the links of a page into URLs to crawl: resolves, judges scope, canonicalizes, assigns queues. Pure.

    What grows with a page is done in steps, of `LINKS_AT_ONCE` links at most.
    """

    def seeds(self, urls: Sequence[str], /) -> list[CrawlUrl]:
        """Seeds as URLs of depth 0. Raises `ValueError`, naming the seed, if one can't be crawled."""
        ...

    def links(self, base_url: str, links: Sequence[Link], /, *, parent: CrawlUrl, about: str = "") -> Steps[Discovered]:
        """The links of a page. `about` is what the page says of itself: title, description, first sentences."""
        ...

    def references(
        self, base_url: str, links: Sequence[Link], found: Discovered, /, *, parent: CrawlUrl
    ) -> Steps[list[str]]:
        """The canonical URLs of a page's links as they stand in it: those `found` there, with their repeats, and the
        page itself where it is linked to by more than a fragment. Repeats are as many at most as a page may have links.
        """
        ...

    def sitemaps(self, hrefs: Sequence[str], /, *, parent: CrawlUrl) -> Steps[Discovered]:
        """Sitemaps named by the robots.txt that covers `parent`, at its depth."""
        ...

    def redirect(self, redirect: Redirect, /, *, parent: CrawlUrl) -> CrawlUrl | str:
        """The target as a URL to crawl, at its parent's depth, or the reason why it is refused."""
        ...


class Quota(Protocol):
    """Says when a host, or a part of it, has given enough pages, or enough sitemaps."""

    def refusal(self, url: str, /) -> str | None:
        """Why the URL may not be fetched any more; None if it may."""
        ...

    def spend(self, url: str, /, received_bytes: int = 0) -> None:
        """One was fetched from there. Noted durably."""
        ...


class Sink(Protocol):
    """Where pages and records go."""

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        """Returns once the page is as safe as the durability promises. `page` is None for a URL that was not fetched.

        A page is written again, with the same number, if the crawl died before it was done. Raises `OSError` when it
        can't write, and has then written nothing of it: the page is not done.
        """
        ...

    async def aclose(self) -> None:
        """Finish files. Closing twice is harmless."""
        ...
