"""Links of XML documents made for machines: sitemaps, RSS and Atom.

XML is read as a stream and as far as it goes: a sitemap may be of fifty megabytes, and feeds are often broken. Nothing
is loaded from elsewhere.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, cast

import lxml.etree
import msgspec

from crawler.page import Link, LinkKind
from crawler.read.feeds.json_feed import Markup
from crawler.read.feeds.sitemaps import (
    MAX_LINKS,
    Listing,
    sitemap_links,
    with_scheme,
)
from crawler.read.feeds.xml_base import Bases
from crawler.read.feeds.xml_elements import link_to, local_name, text_of
from crawler.read.feeds.xml_fixups import MendedXml

MAX_LINKS_AND_EXTENSIONS: Final = 500_000
"""With the translations, images and videos of the URLs of a sitemap."""
MAX_DEPTH: Final = 256
_WRAPPERS: Final = 50
"""Elements around the document. To the parser an end tag too many ends what is open, and after the last of them it
reads no more; a second root it would not read either."""
_MAX_DATE_CHARACTERS: Final = 40
_RDF: Final = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_ENTRIES: Final = frozenset({"url", "sitemap", "item", "entry"})
_WITH_MARKUP: Final = frozenset({"item", "entry"})
_MARKUP: Final = frozenset({"encoded", "description", "content", "summary"})

Reader = Callable[[lxml.etree._Element], Iterator[Link]]


def xml_links(pieces: Iterable[bytes], /, *, url: str = "", markup: Markup | None = None) -> Listing:
    """Links of a sitemap, a sitemap index, a feed, in document order; none for any other XML. The document is in UTF-8,
    and of any number of pieces, of which no more are asked for than are needed. `url` is where it comes from: what has
    another base (`xml:base`) is absolute. `markup` reads the HTML of a feed's entries."""
    document = MendedXml(pieces)
    links: list[Link] = []
    trouble = _read(document, links, url, markup)
    return Listing(links, trouble or document.trouble)


def _read(document: MendedXml, links: list[Link], url: str, markup: Markup | None) -> str | None:
    """Adds the links; returns why it did not read to the end."""
    parser = lxml.etree.XMLPullParser(
        events=("start", "end"),
        recover=True,
        resolve_entities=False,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
        encoding="utf-8",
        huge_tree=True,
    )
    parser.feed(b"<document>" * _WRAPPERS)
    readers = _readers(url)
    reader: Reader | None = None
    entries = entry_at = 0
    depth = -_WRAPPERS
    bases = Bases(url)
    for piece in document:
        parser.feed(piece)
        for event, found in parser.read_events():
            element = cast(lxml.etree._Element, found)
            if event == "start":
                depth += 1
                if depth <= 0:
                    continue
                name = local_name(element)
                if depth > MAX_DEPTH:
                    return f"is nested deeper than {MAX_DEPTH} elements, of which the rest is not read"
                if name in readers and (reader is None or (depth == 1 and name not in _ENTRIES)):
                    reader = readers[name]
                elif name in _ENTRIES:
                    if entries == MAX_LINKS:
                        return f"lists more than {MAX_LINKS} URLs, of which the rest is not read"
                    entry_at = len(links)
                bases.begin(element)
                continue
            depth -= 1
            if element.tag == "document" or reader is None:
                continue
            links.extend(bases.resolved(reader(element), read_bytes=document.read_bytes))
            name = local_name(element)
            if name in _WITH_MARKUP and markup is not None:
                for html, base in _markup_of(element, bases):
                    links.extend(bases.resolved(markup(html, base or url), read_bytes=document.read_bytes, base=base))
            bases.end(element)
            if len(links) > MAX_LINKS_AND_EXTENSIONS:
                del links[MAX_LINKS_AND_EXTENSIONS:]
                return f"names more than {MAX_LINKS_AND_EXTENSIONS} URLs, of which the rest is not read"
            if name in _ENTRIES:
                _date(links, entry_at, element)
                _forget(element)
                entries += 1
    if reader is not None and depth > 0 and not document.has_end:
        return "ends in the middle"
    return "has too many end tags, behind which nothing is read" if depth <= -_WRAPPERS else None


def _date(links: list[Link], start: int, entry: lxml.etree._Element) -> None:
    """Put the <lastmod> of an entry to the link that its <loc> made."""
    texts = (child.text for child in entry if local_name(child) == "lastmod")
    last_modified = (next(texts, None) or "").strip()
    if last_modified and len(last_modified) <= _MAX_DATE_CHARACTERS:
        for index in range(start, len(links)):
            if links[index].kind in (LinkKind.SITEMAP, LinkKind.LISTED):
                links[index] = msgspec.structs.replace(links[index], last_modified=last_modified)
                return


def _markup_of(entry: lxml.etree._Element, bases: Bases) -> Iterator[tuple[str, str | None]]:
    """The HTML in an entry of a feed, and the base of each that has another than the feed. RSS knows no bases: its
    links are relative to the page that the entry is about."""
    links = (
        child for child in entry if local_name(child) == "link" and (child.get("rel") or "alternate") == "alternate"
    )
    first = next(links, None)
    about = None if first is None else first.get("href") or text_of(first)
    for child in entry:
        if local_name(child) not in _MARKUP or child.get("type") == "text":
            continue
        if len(child):
            html = "".join(lxml.etree.tostring(each, encoding="unicode", method="html") for each in child)
        else:
            html = child.text or ""
        if "<" in html:
            yield html, bases.of(child, otherwise=about if local_name(entry) == "item" else None)


def _forget(entry: lxml.etree._Element) -> None:
    """Free what was read, but not below an entry, whose parts are looked at together."""
    entry.clear()
    parent = entry.getparent()
    while parent is not None and entry.getprevious() is not None:
        del parent[0]


def _feed_links(element: lxml.etree._Element) -> Iterator[Link]:
    match local_name(element):
        case "link":
            href = element.get("href")
            if href is None:
                yield from link_to(text_of(element), LinkKind.FEED)
                return
            rel = (element.get("rel") or "alternate").lower()
            if rel in ("hub", "edit", "edit-media", "replies-edit", "search"):
                return
            yield from link_to(href, LinkKind.EMBED if rel == "enclosure" else LinkKind.FEED, rel=rel)
        case "enclosure" | "content" | "thumbnail" if (url := element.get("url")) is not None:
            yield from link_to(url, LinkKind.EMBED)
        case "image" if (href := element.get("href") or _of_rdf(element, "resource")) is not None:
            yield from link_to(href, LinkKind.EMBED)
        case "icon" | "logo":
            yield from link_to(text_of(element), LinkKind.EMBED)
        case "player" if (url := element.get("url")) is not None:
            yield from link_to(url, LinkKind.FRAME)
        case "source" if (url := element.get("url")) is not None:
            yield from link_to(url, LinkKind.FEED)
        case "uri" if (parent := element.getparent()) is not None and local_name(parent) in ("author", "contributor"):
            yield from link_to(text_of(element), LinkKind.FEED)
        case "content" if (src := element.get("src")) is not None:
            yield from link_to(src, LinkKind.FEED)
        case "url" if (parent := element.getparent()) is not None and local_name(parent) == "image":
            yield from link_to(text_of(element), LinkKind.EMBED)
        case "guid" if _is_link(element):
            yield from _guid_link(element)
        case "item":
            # Where there is no link, the identifier is all there is, whatever it says of itself.
            children = {local_name(child): child for child in element}
            if "link" in children:
                return
            if (guid := children.get("guid")) is not None and not _is_link(guid):
                yield from _guid_link(guid)
            elif guid is None:
                yield from link_to(_of_rdf(element, "about"), LinkKind.FEED)
        case "li":
            yield from link_to(_of_rdf(element, "resource"), LinkKind.FEED)
        case "comments" | "commentrss":
            yield from link_to(text_of(element), LinkKind.FEED)


def _of_rdf(element: lxml.etree._Element, name: str) -> str | None:
    """An attribute of RSS 1.0, which names URLs by it."""
    return element.get(f"{_RDF}{name}") or element.get(f"rdf:{name}")


def _is_link(guid: lxml.etree._Element) -> bool:
    return (guid.get("isPermaLink") or "true").lower() == "true"


def _guid_link(guid: lxml.etree._Element) -> Iterator[Link]:
    text = (guid.text or "").strip()
    if text.startswith(("http://", "https://")):
        yield from link_to(text, LinkKind.FEED)


def _readers(url: str) -> dict[str, Reader]:
    """By the local name of the root, whatever its name space: many get that wrong."""
    whole = with_scheme(url)

    def of_sitemap(element: lxml.etree._Element) -> Iterator[Link]:
        return sitemap_links(element, whole)

    of_root: dict[str, Reader] = dict.fromkeys(("urlset", "sitemapindex", "sitemaps", "sitemap"), of_sitemap)
    return of_root | dict.fromkeys(("rss", "rdf", "feed"), _feed_links)
