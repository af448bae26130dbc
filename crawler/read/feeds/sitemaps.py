"""What elements of a sitemap mean (https://www.sitemaps.org/protocol.html), and plain text that lists URLs, which is a
sitemap too."""

import re
from collections.abc import Callable, Iterator
from typing import Final

import lxml.etree
import msgspec

from crawler.page import Link, LinkKind
from crawler.read.feeds.xml_elements import link_to, local_name, text_of
from crawler.url.urls import host_of

MAX_LINKS: Final = 50_000
"""URLs that one sitemap may hold, by its protocol; what follows is ignored."""

_EXTENSIONS: Final = frozenset({"image", "video", "news"})
_HOST: Final = re.compile(r"((?:[\w-]+\.)+[\w-]+)(?::[0-9]{1,5})?(?=[/?#]|\Z)")
_LINE: Final = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
"""As `str.splitlines` has it."""


def sitemap_links(element: lxml.etree._Element, whole: Callable[[str], str], /) -> Iterator[Link]:
    """Links of an element of a sitemap or a sitemap index whose end was met; `whole` gives a URL its scheme."""
    match local_name(element):
        case "loc":
            parent = element.getparent()
            of = local_name(parent) if parent is not None else ""
            if of == "sitemap":
                kind = LinkKind.SITEMAP
            else:
                kind = LinkKind.EMBED if of in _EXTENSIONS else LinkKind.LISTED
            yield from link_to(whole(text_of(element)), kind)
        case "url" | "sitemap" as name if (text := (element.text or "").strip()).startswith(("http://", "https://")):
            # Some leave the <loc> out.
            yield from link_to(text, LinkKind.SITEMAP if name == "sitemap" else LinkKind.LISTED)
        case "content_loc" | "thumbnail_loc":
            yield from link_to(text_of(element), LinkKind.EMBED)
        case "player_loc":
            yield from link_to(text_of(element), LinkKind.FRAME)
        case "link":
            yield from link_to(element.get("href"), LinkKind.ALTERNATE, rel=element.get("rel") or "")


def with_scheme(url: str, /) -> Callable[[str], str]:
    """What gives a URL of a sitemap from `url` its scheme, where it has none but begins with the name of its site:
    `example.org/a`. Joined to the URL of the sitemap, it would be a path."""
    own = host_of(url).removeprefix("www.") if url else ""
    scheme = url.partition(":")[0]

    def whole(href: str) -> str:
        if not own or not (found := _HOST.match(href)):
            return href
        host = found[1].lower()
        return f"{scheme}://{href}" if host == own or host.endswith(f".{own}") else href

    return whole


class Listing(msgspec.Struct, frozen=True):
    """Links of a document that is made for machines."""

    links: list[Link]
    trouble: str | None = None
    """Why some are missing, if any are."""


NOTHING: Final = Listing([])


def listed_urls(text: str, /, *, url: str = "") -> Listing:
    """Links of a plain text whose lines are absolute URLs; none if more of them are something else. A list may have a
    heading or a mistake in it. `url` is where it comes from."""
    whole = with_scheme(url)
    links: list[Link] = []
    trouble = None
    others = 0
    for line in _LINE.finditer(text):  # a list of all lines may take ten times as much as the text
        href = line[0].strip()
        if not href:
            continue
        if " " in href or not (href := whole(href))[:8].lower().startswith(("http://", "https://")):
            others += 1
            continue
        if len(links) >= MAX_LINKS:
            trouble = f"lists more than {MAX_LINKS} URLs, of which the rest is not read"
            break
        links.append(Link(href, LinkKind.LISTED))
    return Listing(links, trouble) if others <= len(links) else NOTHING
