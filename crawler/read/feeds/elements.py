"""Reads the elements of sitemaps (https://www.sitemaps.org/protocol.html), RSS and Atom, without their name spaces,
because many documents get these wrong."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

import lxml.etree

from crawler.page import Link, LinkKind
from crawler.read.feeds.entries import link_to
from crawler.read.feeds.xml_base import Bases

_EXTENSIONS: Final = frozenset({"image", "video", "news"})
_HTML: Final = frozenset({"encoded", "description", "content", "summary"})
_RDF: Final = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_LONGEST_REMEMBERED: Final = 200
"""Characters of a name with its name space."""
_CDATA: Final = "<![CDATA["
_CDATA_END: Final = "]]>"


def local_name(element: lxml.etree._Element, /) -> str:
    """The name in lower case, without its name space or an undeclared prefix."""
    tag: object = element.tag
    return name_of(tag) if isinstance(tag, str) else ""


def name_of(tag: str, /) -> str:
    """The local name by the tag of an element. Only what is no element, such as a reference, has no text as its tag."""
    return _known_local_name(tag) if len(tag) <= _LONGEST_REMEMBERED else _local_name(tag)


def _local_name(tag: str) -> str:
    return tag.rpartition("}")[2].rpartition(":")[2].lower()


# A sitemap has a handful of names, and asks for each of them several times for each URL.
_known_local_name = lru_cache(maxsize=256)(_local_name)


def text_of(element: lxml.etree._Element, /) -> str:
    """The URL in an element, also in a CDATA section whose marks were escaped, as by a generator that escapes twice.
    Empty if it contains an unresolved reference, because half a URL is useless."""
    for child in element:
        tag: object = child.tag
        if not isinstance(tag, str):
            return ""
    text = (element.text or "").strip()
    is_escaped = text.startswith(_CDATA) and text.endswith(_CDATA_END)
    return text[len(_CDATA) : -len(_CDATA_END)].strip() if is_escaped else text


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


def feed_link(element: lxml.etree._Element, name: str, /) -> Link | None:
    """The link of a complete element of a feed. `name` is its local name."""
    match name:
        case "link":
            href = element.get("href")
            if href is None:
                return link_to(text_of(element), LinkKind.FEED)
            rel = (element.get("rel") or "alternate").lower()
            if rel in ("hub", "edit", "edit-media", "replies-edit", "search"):
                return None
            return link_to(href, LinkKind.EMBED if rel == "enclosure" else LinkKind.FEED, rel=rel)
        case "enclosure" | "content" if (url := element.get("url")) is not None:
            # Media RSS has the same files in <media:content>.
            return link_to(url, LinkKind.EMBED, rel="enclosure")
        case "thumbnail" if (url := element.get("url")) is not None:
            return link_to(url, LinkKind.EMBED)
        case "image" if (href := element.get("href") or _of_rdf(element, "resource")) is not None:
            return link_to(href, LinkKind.EMBED)
        case "icon" | "logo":
            return link_to(text_of(element), LinkKind.EMBED)
        case "player" if (url := element.get("url")) is not None:
            return link_to(url, LinkKind.FRAME)
        case "source" if (url := element.get("url")) is not None:
            return link_to(url, LinkKind.FEED)
        case "uri" if (parent := element.getparent()) is not None and local_name(parent) in ("author", "contributor"):
            return link_to(text_of(element), LinkKind.FEED)
        case "content" if (src := element.get("src")) is not None:
            return link_to(src, LinkKind.FEED)
        case "url" if (parent := element.getparent()) is not None and local_name(parent) == "image":
            return link_to(text_of(element), LinkKind.EMBED)
        case "guid" if _is_link(element):
            return _guid_link(element)
        case "item":
            # Without a link, the identifier is all there is, even if it claims not to be a link.
            children = {local_name(child): child for child in element}
            if "link" in children:
                return None
            guid = children.get("guid")
            if guid is None:
                return link_to(_of_rdf(element, "about"), LinkKind.FEED)
            return None if _is_link(guid) else _guid_link(guid)
        case "li":
            return link_to(_of_rdf(element, "resource"), LinkKind.FEED)
        case "comments" | "commentrss":
            return link_to(text_of(element), LinkKind.FEED)
    return None


def html_of(entry: lxml.etree._Element, bases: Bases, /) -> Iterator[tuple[str, str | None]]:
    """The HTML in an entry of a feed, each with its base if that differs from the feed's. RSS has no bases: its links
    are relative to the page that the entry describes."""
    named = [(local_name(child), child) for child in entry]
    texts = [child for name, child in named if name in _HTML and child.get("type") != "text"]
    if not texts:
        return
    links = (child for name, child in named if name == "link" and (child.get("rel") or "alternate") == "alternate")
    first = next(links, None)
    about = None if first is None or local_name(entry) != "item" else first.get("href") or text_of(first)
    for text in texts:
        if len(text):
            html = "".join(lxml.etree.tostring(each, encoding="unicode", method="html") for each in text)
        else:
            html = text.text or ""
        if "<" in html:
            yield html, bases.of(text, default=about)


def _of_rdf(element: lxml.etree._Element, name: str) -> str | None:
    """The value of an RDF attribute, in which RSS 1.0 keeps its URLs."""
    return element.get(f"{_RDF}{name}") or element.get(f"rdf:{name}")


def _is_link(guid: lxml.etree._Element) -> bool:
    return (guid.get("isPermaLink") or "true").lower() == "true"


def _guid_link(guid: lxml.etree._Element) -> Link | None:
    text = text_of(guid)
    return link_to(text, LinkKind.FEED) if text.startswith(("http://", "https://")) else None
