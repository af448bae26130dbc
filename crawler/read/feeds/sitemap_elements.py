"""Reads the elements of a sitemap (https://www.sitemaps.org/protocol.html)."""

from collections.abc import Callable
from typing import Final

import lxml.etree

from crawler.page import Link, LinkKind
from crawler.read.feeds.links import link_to
from crawler.read.feeds.xml_elements import local_name, text_of

_EXTENSIONS: Final = frozenset({"image", "video", "news"})


def sitemap_link(element: lxml.etree._Element, name: str, /, *, add_scheme: Callable[[str], str]) -> Link | None:
    """The link of a complete element of a sitemap or a sitemap index. `name` is its local name; `add_scheme` completes
    its URL."""
    match name:
        case "loc":
            parent = element.getparent()
            of = local_name(parent) if parent is not None else ""
            if of == "sitemap":
                kind = LinkKind.SITEMAP
            else:
                kind = LinkKind.EMBED if of in _EXTENSIONS else LinkKind.LISTED
            return link_to(add_scheme(text_of(element)), kind)
        case "url" | "sitemap" if (text := (element.text or "").strip()).startswith(("http://", "https://")):
            # Some sitemaps omit the <loc>.
            return link_to(text, LinkKind.SITEMAP if name == "sitemap" else LinkKind.LISTED)
        case "content_loc" | "thumbnail_loc":
            return link_to(text_of(element), LinkKind.EMBED)
        case "player_loc":
            return link_to(text_of(element), LinkKind.FRAME)
        case "link":
            return link_to(element.get("href"), LinkKind.ALTERNATE, rel=element.get("rel") or "")
    return None
