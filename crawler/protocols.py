"""What the pipeline asks of its components. `seams` has the part that other packages may bring."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from crawler.page import Content, Extract, Link, LinkDetail, Page, PageRecord, Redirect, Repeat, Wanted
from crawler.steps import Steps
from frontier import CrawlUrl, LedgerEntry


class ContentReading(Protocol):
    """Reads the content of a page, such as its text. Pure and synchronous; never raises, whatever a page contains, and
    must be safe in threads."""

    def __call__(self, page: Page, extract: Extract, wanted: Wanted, /) -> Content: ...


class Addresses(Protocol):
    """Knows the addresses of hosts to which the crawl connects directly."""

    async def address(self, url: str, /) -> str | None:
        """The address to which the next connection for the URL's host will go. That is the address of the last
        connection, as long as the host still has it. None if none is known, or if the host is reached through a proxy.
        """
        ...


class Discovered(msgspec.Struct, frozen=True, kw_only=True):
    """The links of one page, resolved and judged."""

    urls: Sequence[CrawlUrl]
    """In scope, without repeats, in document order."""
    checks: list[CrawlUrl] = []
    """Out of scope, and to be checked."""
    self_links: int = 0
    """Links of the page to itself, without links to a mere fragment of it."""
    refused: dict[str, int]
    """How many links were refused, by reason."""
    refusals: list[tuple[str, str]] = []
    """Each of these, as a URL, or as written if it is not one, and the reason."""

    @property
    def to_add(self) -> Sequence[CrawlUrl]:
        """What the frontier gets."""
        return [*self.urls, *self.checks] if self.checks else self.urls


class Discovery(Protocol):
    """Turns the links of a page into URLs to crawl: resolves them, judges scope, canonicalizes, assigns queues. Pure.

    Work that grows with the page is done in steps of at most `LINKS_AT_ONCE` distinct links.
    """

    def seeds(self, urls: Sequence[str], /) -> list[CrawlUrl]:
        """Seeds, which may lack the scheme, as URLs of depth 0. Raises `ValueError`, which names the seed, if one can't
        be crawled."""
        ...

    def links(self, base_url: str, links: Sequence[Link], /, *, parent: CrawlUrl, about: str = "") -> Steps[Discovered]:
        """The links of a page. `about` is the page's title, description and first sentences."""
        ...

    def references(
        self, base_url: str, links: Sequence[Link], found: Discovered, /, *, parent: CrawlUrl
    ) -> Steps[list[str]]:
        """The canonical URLs of a page's links in document order, repeats included: those `found` there, and the page
        itself if it links to itself by more than a fragment. There are at most as many repeats as a page may have
        links."""
        ...

    def link_details(
        self, base_url: str, links: Sequence[Link], found: Discovered, /, *, parent: CrawlUrl
    ) -> Steps[list[LinkDetail]]:
        """A page's links in document order, with their texts: those `found` there, and as many others, repeats or
        refused, as a page may have links. Links to a mere fragment of the page are left out."""
        ...

    def sitemaps(self, links: Sequence[Link], /, *, parent: CrawlUrl) -> Steps[Discovered]:
        """The sitemaps that the robots.txt for `parent` names, at the depth of `parent`; none if that is an embed where
        nothing else is in scope."""
        ...

    def redirect(self, redirect: Redirect, /, *, parent: CrawlUrl) -> CrawlUrl | str:
        """The target as a URL to crawl, at the depth of `parent`; or the reason why it is refused."""
        ...


class Repeats(Protocol):
    """Finds out whether a page repeats another one."""

    async def judge(self, extract: Extract, /, *, url: CrawlUrl) -> Repeat | None:
        """What the page of a URL repeats, and what follows; None if nothing follows. A page that must be left out
        repeats one that the crawl has."""
        ...


class Quota(Protocol):
    """Limits the pages, or the sitemaps, that are fetched from a host or from a part of it."""

    def refusal(self, url: str, /) -> str | None:
        """Why the URL may no longer be fetched; None if it may."""
        ...

    def spend(self, url: str, /, received_bytes: int = 0) -> None:
        """Count a fetch of the URL, durably."""
        ...


class Planning(Protocol):
    """Plans when pages are visited again."""

    @property
    def follows_sitemaps(self) -> bool:
        """Whether pages are visited because of what sitemaps say."""
        ...

    def after_visit_s(self, url: CrawlUrl, record: PageRecord, /) -> float:
        """The interval to the next visit of a URL that is settled now."""
        ...

    def leave_out(self, url: CrawlUrl, /) -> None:
        """A URL is settled now that has no next visit."""
        ...

    def is_due(self, url: CrawlUrl, entry: LedgerEntry | None, /, *, last_modified: str | None, read_at: float) -> bool:
        """Whether a page is visited again because of a sitemap that was read at that time (seconds since 1970), and
        says when the page changed last and, in `url`, how often it changes."""
        ...
