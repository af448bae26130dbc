"""What is read of each record."""

from collections.abc import Callable
from typing import Final

import msgspec

from crawler.page import LinkDetail, LinkKind, counts_as_page

_HTML: Final = ("text/html", "application/xhtml+xml")
_IN_SITEMAPS: Final = frozenset({LinkKind.LISTED})
_IN_FEEDS: Final = frozenset({LinkKind.LISTED, LinkKind.FEED})


class Listed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A URL that is settled: some fields of its record."""

    number: int
    url: str
    state: str
    kind: str
    visit: int = 1
    status: int | None = None
    reason: str | None = None
    via: str | None = None
    anchor: str | None = None
    redirect: str | None = None
    canonical: str | None = None
    noindex: bool = False
    content_type: str | None = None
    digest: str | None = None
    duplicate_of: str | None = None
    near_duplicate_of: str | None = None
    near_distance: int | None = None
    duration_s: float | None = None
    received_bytes: int | None = None
    size_bytes: int | None = None
    references: list[str] | None = None
    link_details: list[LinkDetail] | None = None
    anchors: str | None = None
    broken_fragments: list[str] | None = None
    refused: dict[str, int] | None = None
    refusals: list[tuple[str, str]] | None = None


def is_html_page(listed: Listed) -> bool:
    return counts_as_page(listed) and listed.content_type in _HTML


def name_of(link: LinkDetail) -> str:
    """The name under which the crawl knows what a link leads to."""
    return link.canonical or link.url


def named_in_sitemap(listed: Listed) -> list[LinkDetail]:
    """What a page names as a sitemap does. A feed does so if robots.txt, or another sitemap, has named it as a sitemap
    (https://www.sitemaps.org/protocol.html#otherformats)."""
    kinds = _IN_FEEDS if listed.kind == LinkKind.SITEMAP else _IN_SITEMAPS
    return [link for link in listed.link_details or () if link.kind in kinds]


def other_canonical(listed: Listed, canonical: Callable[[str], str]) -> str | None:
    """The URL that a page names as its canonical one; None if it names none, or itself."""
    if listed.canonical is None or canonical(listed.canonical) == canonical(listed.url):
        return None
    return listed.canonical
