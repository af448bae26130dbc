"""What a trial tells of each URL."""

import msgspec

from crawler.page import PageRecord


class TriedLink(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A link of a page, and what a crawl would make of it."""

    url: str
    """Absolute; as written if it is not a URL."""
    kind: str | None = None
    text: str | None = None
    refused: str | None = None
    """Why it would not be fetched; None if it would be enqueued."""


class Hop(msgspec.Struct, frozen=True, kw_only=True):
    """One URL of a chain of redirects."""

    url: str
    robots: str | None
    """allowed, disallowed, none (there is no robots.txt) or ignored; or why robots.txt could not be fetched. None if
    nobody asked."""
    crawl_delay_s: float | None
    protocol: str | None
    """As HTTP/1.1; None if no server answered."""
    request_headers: list[tuple[str, str]]
    """As sent, without credentials."""
    headers: list[tuple[str, str]]
    """As received."""
    record: PageRecord | None
    """As a crawl would write it; None if the URL would have to wait."""


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    """As it was given."""
    fetched: bool
    """Whether the crawl would have its page."""
    refused: str | None
    """Why a crawl would follow no link to it; None if it would, or if the URL is a seed."""
    waits_s: float | None
    """How long its host may not be asked, because of `politeness.hours`."""
    hops: list[Hop]
    """The URL, and then where it redirects to."""
    noindex: bool
    nofollow: bool
    """What the page asks for, whether the crawl obeys that or not."""
    links: list[TriedLink]
    """The links of the page, each URL once."""
    sitemaps: list[str]
    """Those that would be enqueued because robots.txt names them, or because they may be there."""
