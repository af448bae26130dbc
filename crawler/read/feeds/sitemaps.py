"""Reads plain text that lists URLs, which is a sitemap too (https://www.sitemaps.org/protocol.html)."""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from crawler.page import Link, LinkKind
from crawler.url.seeds import scheme_adder

MAX_LINKS: Final = 50_000
"""URLs of one sitemap, by its protocol; further ones are ignored."""
MAX_DATE_CHARACTERS: Final = 40
"""Of an entry; a longer date is ignored."""

_LINE: Final = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
"""A line, as `str.splitlines` splits text."""


class Listing(msgspec.Struct, frozen=True):
    """The links of a sitemap, a feed or a list of URLs."""

    links: Sequence[Link]
    trouble: str | None = None
    """Why links are missing, if any are."""


NO_LINKS: Final = Listing([])


def parse_url_list(text: str, /, *, url: str = "") -> Listing:
    """Links of a plain text from `url` whose lines are absolute URLs. A list may contain a heading or a mistake; if
    most lines are something else, the text has no links."""
    add_scheme = scheme_adder(url)
    links: list[Link] = []
    trouble = None
    others = 0
    for line in _LINE.finditer(text):  # a list of all lines may take ten times the memory of the text
        href = line[0].strip()
        if not href:
            continue
        # A tab would join what stands on its two sides, because a URL loses it.
        has_gap = " " in href or "\t" in href
        if has_gap or not (href := add_scheme(href))[:8].lower().startswith(("http://", "https://")):
            others += 1
            continue
        if len(links) >= MAX_LINKS:
            trouble = f"lists more than {MAX_LINKS} URLs; the rest is not read"
            break
        links.append(Link(href, LinkKind.LISTED))
    return Listing(links, trouble) if others <= len(links) else NO_LINKS
