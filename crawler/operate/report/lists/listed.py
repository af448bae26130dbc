"""What is read of each record."""

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


def named_in_sitemap(listed: Listed) -> list[str]:
    """What a page names as a sitemap does, in canonical form. A feed does so if robots.txt, or another sitemap, has
    named it as a sitemap (https://www.sitemaps.org/protocol.html#otherformats)."""
    kinds = _IN_FEEDS if listed.kind == LinkKind.SITEMAP else _IN_SITEMAPS
    return [link.canonical or link.url for link in listed.link_details or () if link.kind in kinds]
