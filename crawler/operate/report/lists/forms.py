"""What the lists of a report hold."""

from typing import Final, Literal

import msgspec

ListName = Literal[
    "dead-links",
    "broken-anchors",
    "orphans",
    "unlisted",
    "mislisted",
    "redirects",
    "duplicates",
    "refused",
    "slowest",
    "largest",
]

REDIRECT: Final = "redirect"
ERROR: Final = "error"


class DeadLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link from a page to a URL that leads to an error."""

    url: str
    leads_to: str | None
    """Where redirects lead from there; None if it is no redirect."""
    status: int | None
    """The status at the end; None if there was no answer."""
    reason: str | None
    page: str | None
    """None if no page is known to link to it, as to a seed."""
    anchor: str | None
    """The text of the link. Without `output.link_details` it is known only of the first link that the crawl found."""
    kind: str | None
    """Likewise."""
    external: bool = False
    """Whether the URL is out of scope, and was only checked."""


class DeadLinkList(msgspec.Struct, frozen=True, kw_only=True):
    """All links to URLs that lead to an error."""

    urls: int
    """How many URLs lead to an error, with those that the crawl has guessed, or to which no page links any more."""
    is_whole: bool
    """Whether each page is listed that links to them. Without `output.link_details` and `output.links`, only the first
    one is known."""
    links: list[DeadLink]


class BrokenAnchor(msgspec.Struct, frozen=True, kw_only=True):
    """A link to a part of a page that the page does not have."""

    url: str
    """With the fragment."""
    page: str
    anchor: str | None
    """The text of the link; None for links within a page."""
    kind: str


class BrokenAnchorList(msgspec.Struct, frozen=True, kw_only=True):
    """All of these, of the pages that tell their anchors."""

    pages: int
    """How many do: those that were fetched with `output.check_fragments`."""
    links: list[BrokenAnchor]


class FoundPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page, and how the crawl has found it first."""

    url: str
    kind: str
    """`listed` is by a sitemap."""
    via: str | None
    """Where: in that sitemap, for example; None for seeds."""


class OrphanList(msgspec.Struct, frozen=True, kw_only=True):
    """All pages to which no page links."""

    unread: int
    """HTML pages that were fetched without `output.link_details`. If there are any, nobody knows which pages are
    orphans, and none is listed."""
    pages: list[FoundPage]


class UnlistedList(msgspec.Struct, frozen=True, kw_only=True):
    """All pages that no sitemap names, although one should."""

    sitemaps: int
    """How many name pages."""
    unread: int
    """Sitemaps that were read without `output.link_details`. If there are any, no page is listed."""
    pages: list[FoundPage]


class MislistedUrl(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that a sitemap names, although it should not."""

    url: str
    """As the sitemap has it."""
    reason: str
    """`redirect`; `error`, which is an answer; `noindex`; `canonical`, of a page that names another one; or why it was
    not fetched, such as `robots`, `out-of-scope` or `dns`."""
    status: int | None
    """None if there was no answer."""
    leads_to: str | None
    """Where redirects lead in the end, or the canonical URL that the page names."""
    end_status: int | None
    """Of a redirect, as of a `RedirectLink`."""
    end_reason: str | None
    sitemap: str


class MislistedList(msgspec.Struct, frozen=True, kw_only=True):
    """All URLs that sitemaps name, although they should not, for each sitemap."""

    sitemaps: int
    """As of an `UnlistedList`."""
    unread: int
    """Likewise."""
    entries: list[MislistedUrl]


class RedirectLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link from a page to a URL that redirects."""

    url: str
    status: int | None
    hops: int
    leads_to: str
    end_status: int | None
    """The status there; None if it was not fetched, or had no answer."""
    end_reason: str | None
    page: str | None
    """None if no page is known to link to it."""
    anchor: str | None
    """As of a `DeadLink`."""
    kind: str | None
    external: bool = False
    """As of a `DeadLink`."""


class RedirectList(msgspec.Struct, frozen=True, kw_only=True):
    """All links to URLs that redirect."""

    urls: int
    """How many URLs redirect, with those that the crawl has guessed."""
    is_whole: bool
    """As of a `DeadLinkList`."""
    links: list[RedirectLink]


class Duplicate(msgspec.Struct, frozen=True, kw_only=True):
    """A page that is the same as another, or almost."""

    url: str
    of: str
    by: Literal["body", "canonical", "text"]
    """Because it has the same body, because it names the other as its canonical URL, or because its text is almost the
    same."""
    bytes: int | None
    distance: int | None = None
    """The number of bits in which the fingerprints of their texts differ."""


class RefusedExample(msgspec.Struct, frozen=True, kw_only=True):
    """A link that was refused, and a page with it."""

    url: str
    page: str


class RefusedRow(msgspec.Struct, frozen=True, kw_only=True):
    """Links that a rule has refused."""

    rule: str
    links: int
    examples: list[RefusedExample]
    """A few, with `output.refusals`."""


class FetchedRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a URL took to fetch."""

    url: str
    status: int | None
    duration_s: float | None
    received_bytes: int | None
    size_bytes: int | None


class Lists(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Lists of URLs; None if nobody has asked for them."""

    dead_links: DeadLinkList | None = None
    broken_anchors: BrokenAnchorList | None = None
    orphans: OrphanList | None = None
    unlisted: UnlistedList | None = None
    mislisted: MislistedList | None = None
    redirects: RedirectList | None = None
    duplicates: list[Duplicate] | None = None
    refused: list[RefusedRow] | None = None
    """Links that were not admitted, by rule."""
    slowest: list[FetchedRow] | None = None
    largest: list[FetchedRow] | None = None
    more: dict[str, int] = {}
    """How many rows lists have beyond the limit, by the name of the list; only lists that have any."""
