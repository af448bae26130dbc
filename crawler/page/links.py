"""Links, and how URLs are found."""

from enum import StrEnum
from typing import Final

import msgspec


class LinkKind(StrEnum):
    """How a URL was found."""

    SEED = "seed"
    LINK = "link"
    """a, area"""
    EMBED = "embed"
    """img, script, stylesheet, source, …: what a page needs to be shown"""
    FRAME = "frame"
    FORM = "form"
    REDIRECT = "redirect"
    REFRESH = "refresh"
    CANONICAL = "canonical"
    ALTERNATE = "alternate"
    NEXT = "next"
    """rel=next and rel=prev"""
    HEADER = "header"
    """Link header"""
    CSS = "css"
    SITEMAP = "sitemap"
    """a sitemap itself, named by robots.txt, by a page or by a sitemap index"""
    LISTED = "listed"
    """a page that a sitemap or a list of URLs lists"""
    FEED = "feed"
    SPECULATIVE = "speculative"
    EXTERNAL = "external"
    """a URL out of scope, which is only asked whether it is there"""


SEED: Final = LinkKind.SEED
SITEMAP: Final = LinkKind.SITEMAP
EXTERNAL: Final = LinkKind.EXTERNAL
"""For what is asked once a page: to find a member in its class takes Python 3.11 as long as ten other steps."""
EMBEDDED: Final = frozenset({LinkKind.EMBED, LinkKind.CSS})
"""Kinds of links to what a page needs to be shown."""


class LinkDetail(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A link as records have it: where it leads, and what the page says of it."""

    url: str
    """Resolved, without fragment."""
    canonical: str | None = None
    """Its canonical form, if that is another."""
    kind: str
    text: str | None = None
    """Anchor text."""
    rel: str | None = None
    fragment: str | None = None
    refused: str | None = None
    """Why it was not followed."""


CHANGE_FREQUENCIES: Final = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})
"""The values of <changefreq> (https://www.sitemaps.org/protocol.html)."""


class Link(msgspec.Struct, frozen=True, gc=False):
    """A link as it stands in a document."""

    href: str
    """Stripped of white space, not yet resolved."""
    kind: LinkKind
    text: str = ""
    """Anchor text, white space collapsed, shortened to 200 characters."""
    rel: str = ""
    """Lower-case tokens, space-separated."""
    last_modified: str = ""
    """When the target last changed, as the sitemap writes it."""
    change_frequency: str = ""
    """How often the target changes, according to the sitemap: one of `CHANGE_FREQUENCIES`."""
    entry_date: str = ""
    """When the entry of a sitemap or feed that names it last changed, as it is written there."""
