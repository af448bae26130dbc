"""Reads plain text that lists URLs, which is a sitemap too (https://www.sitemaps.org/protocol.html)."""

import re
from collections.abc import Callable
from typing import Final

import msgspec

from crawler.page import Link, LinkKind
from crawler.url.urls import host_of

MAX_LINKS: Final = 50_000
"""URLs of one sitemap, by its protocol; further ones are ignored."""

_HOST: Final = re.compile(r"((?:[\w-]+\.)+[\w-]+)(?::[0-9]{1,5})?(?=[/?#]|\Z)")
_LINE: Final = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
"""A line, as `str.splitlines` splits text."""


def scheme_adder(url: str, /) -> Callable[[str], str]:
    """A function that adds the scheme to URLs without one that begin with the host of the sitemap at `url`, such as
    `example.org/a`. Without it, such a URL would be read as a path."""
    own = host_of(url).removeprefix("www.") if url else ""
    scheme = url.partition(":")[0]

    def add_scheme(href: str) -> str:
        if not own or not (found := _HOST.match(href)):
            return href
        host = found[1].lower()
        return f"{scheme}://{href}" if host == own or host.endswith(f".{own}") else href

    return add_scheme


class Listing(msgspec.Struct, frozen=True):
    """The links of a sitemap, a feed or a list of URLs."""

    links: list[Link]
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
        if " " in href or not (href := add_scheme(href))[:8].lower().startswith(("http://", "https://")):
            others += 1
            continue
        if len(links) >= MAX_LINKS:
            trouble = f"lists more than {MAX_LINKS} URLs; the rest is not read"
            break
        links.append(Link(href, LinkKind.LISTED))
    return Listing(links, trouble) if others <= len(links) else NO_LINKS
