"""Links of XML documents made for machines: sitemaps (https://www.sitemaps.org/protocol.html), RSS and Atom; and of
plain text that lists URLs, which is a sitemap too.

XML is read as a stream and as far as it goes: a sitemap may be of fifty megabytes, and feeds are often broken. Entities
are not expanded, and nothing is loaded from elsewhere.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from html.entities import html5
from itertools import chain
from typing import Final, cast

import lxml.etree
import msgspec

from crawler.page import Link, LinkKind
from crawler.read.bases import Bases

MAX_LINKS: Final = 50_000
"""URLs that one sitemap may hold, by its protocol; what follows is ignored."""

MAX_LINKS_AND_EXTENSIONS: Final = 500_000
"""With the translations, images and videos of these URLs."""
_MAX_DATE_CHARACTERS: Final = 40
_ENTRIES: Final = frozenset({"url", "sitemap", "item", "entry"})
_OTHER_AMPERSAND: Final = re.compile(
    rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});)(?:([A-Za-z][A-Za-z0-9]{0,31};))?"
)
"""What begins no reference that XML knows, and the name behind it."""
_TORN: Final = re.compile(rb"(?:&[#0-9A-Za-z]{0,33}|<(?:!(?:\[(?:C(?:D(?:A(?:TA?)?)?)?)?)?)?|\]{1,2})\Z")
"""The end of a piece that may mean something else with what follows."""
_MAX_TORN_BYTES: Final = 40
_CHUNK_BYTES: Final = 1 << 16
_SITEMAP_EXTENSIONS: Final = frozenset({"image", "video", "news"})


def xml_links(pieces: Iterable[bytes], /, *, url: str = "") -> list[Link]:
    """Links of a sitemap, a sitemap index, a feed, in document order; none for any other XML. The document is in UTF-8,
    and of any number of pieces, of which no more are asked for than are needed. `url` is where it comes from: what has
    another base (`xml:base`) is absolute."""
    parser = lxml.etree.XMLPullParser(
        events=("start", "end"),
        recover=True,
        resolve_entities=False,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
        encoding="utf-8",
    )
    links: list[Link] = []
    reader: Callable[[lxml.etree._Element], Iterator[Link]] | None = None
    entries = entry_at = 0
    bases = Bases(url)
    read_bytes = 0
    for piece in _mended(_begun(pieces)):
        parser.feed(piece)
        read_bytes += len(piece)
        for event, found in parser.read_events():
            element = cast(lxml.etree._Element, found)
            if event == "start":
                if reader is None:
                    reader = _READERS.get(_local(element))
                    if reader is None:
                        return links
                elif _local(element) in _ENTRIES:
                    entry_at = len(links)
                bases.begin(element)
            elif reader is not None:
                links.extend(bases.resolved(reader(element), read_bytes=read_bytes))
                bases.end(element)
                if len(links) >= MAX_LINKS_AND_EXTENSIONS:
                    return links
                if _local(element) in _ENTRIES:
                    _date(links, entry_at, element)
                    _forget(element)
                    entries += 1
                    if entries >= MAX_LINKS:
                        return links
    return links


def _begun(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Without white space before the document, which XML does not allow, and in pieces of a bearable size."""
    has_begun = False
    for piece in pieces:
        start = 0
        if not has_begun:
            start = len(piece) - len(piece.lstrip()) if piece[:1].isspace() else 0
            has_begun = start < len(piece)
        for at in range(start, len(piece), _CHUNK_BYTES):
            yield piece[at : at + _CHUNK_BYTES]


def _mended(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """With each `&` that begins no reference as `&amp;`: many write URLs as they are, and a parser would wait for the
    end of the reference to the end of the document. References that only HTML knows are made such as XML knows too."""
    held = b""
    in_cdata = False
    for piece in chain(pieces, (b"",)):
        text = held + piece
        torn = _TORN.search(text, max(0, len(text) - _MAX_TORN_BYTES)) if piece else None
        held = text[torn.start() :] if torn else b""
        text = text[: torn.start()] if torn else text
        made: list[bytes] = []
        position = 0
        while position < len(text):
            mark = b"]]>" if in_cdata else b"<![CDATA["
            at = text.find(mark, position)
            part = text[position : len(text) if at < 0 else at + len(mark)]
            made.append(part if in_cdata else _OTHER_AMPERSAND.sub(_in_xml, part))
            position += len(part)
            in_cdata ^= at >= 0
        yield b"".join(made)


def _in_xml(found: re.Match[bytes]) -> bytes:
    if found[1] is None:
        return b"&amp;"
    characters = html5.get(found[1].decode("ascii"))
    # It may be declared in the document.
    return found[0] if characters is None else "".join(f"&#{ord(char)};" for char in characters).encode("ascii")


def _date(links: list[Link], start: int, entry: lxml.etree._Element) -> None:
    """Put the <lastmod> of an entry to the link that its <loc> made."""
    texts = (child.text for child in entry if _local(child) == "lastmod")
    last_modified = (next(texts, None) or "").strip()
    if last_modified and len(last_modified) <= _MAX_DATE_CHARACTERS:
        for index in range(start, len(links)):
            if links[index].kind in (LinkKind.SITEMAP, LinkKind.LISTED):
                links[index] = msgspec.structs.replace(links[index], last_modified=last_modified)
                return


def _forget(entry: lxml.etree._Element) -> None:
    """Free what was read, but not below an entry, whose parts are looked at together."""
    entry.clear()
    parent = entry.getparent()
    while parent is not None and entry.getprevious() is not None:
        del parent[0]


def _local(element: lxml.etree._Element) -> str:
    """The name without its name space, or without a prefix that nobody declared."""
    tag = element.tag
    return tag.rpartition("}")[2].rpartition(":")[2].lower() if isinstance(cast(object, tag), str) else ""


def _sitemap_links(element: lxml.etree._Element) -> Iterator[Link]:
    match _local(element):
        case "loc":
            parent = element.getparent()
            of_image = parent is not None and _local(parent) in _SITEMAP_EXTENSIONS
            if parent is not None and _local(parent) == "sitemap":
                kind = LinkKind.SITEMAP
            else:
                kind = LinkKind.EMBED if of_image else LinkKind.LISTED
            yield from _link(element.text, kind)
        case "url" | "sitemap" as name if (text := (element.text or "").strip()).startswith(("http://", "https://")):
            # Some leave the <loc> out.
            yield from _link(text, LinkKind.SITEMAP if name == "sitemap" else LinkKind.LISTED)
        case "content_loc" | "thumbnail_loc":
            yield from _link(element.text, LinkKind.EMBED)
        case "player_loc":
            yield from _link(element.text, LinkKind.FRAME)
        case "link":
            yield from _link(element.get("href"), LinkKind.ALTERNATE, rel=element.get("rel") or "")


def _feed_links(element: lxml.etree._Element) -> Iterator[Link]:
    match _local(element):
        case "link":
            href = element.get("href")
            if href is None:
                yield from _link(element.text, LinkKind.FEED)
                return
            rel = (element.get("rel") or "alternate").lower()
            if rel in ("hub", "edit", "edit-media", "replies-edit", "search"):
                return
            yield from _link(href, LinkKind.EMBED if rel == "enclosure" else LinkKind.FEED, rel=rel)
        case "enclosure" | "content" | "thumbnail" if (url := element.get("url")) is not None:
            yield from _link(url, LinkKind.EMBED)
        case "image" if (href := element.get("href")) is not None:
            yield from _link(href, LinkKind.EMBED)
        case "icon" | "logo":
            yield from _link(element.text, LinkKind.EMBED)
        case "player" if (url := element.get("url")) is not None:
            yield from _link(url, LinkKind.FRAME)
        case "source" if (url := element.get("url")) is not None:
            yield from _link(url, LinkKind.FEED)
        case "uri" if (parent := element.getparent()) is not None and _local(parent) in ("author", "contributor"):
            yield from _link(element.text, LinkKind.FEED)
        case "content" if (src := element.get("src")) is not None:
            yield from _link(src, LinkKind.FEED)
        case "url" if (parent := element.getparent()) is not None and _local(parent) == "image":
            yield from _link(element.text, LinkKind.EMBED)
        case "guid" if _is_link(element):
            yield from _guid_link(element)
        case "item":
            # Where there is no link, the identifier is all there is, whatever it says of itself.
            children = {_local(child): child for child in element}
            if "link" not in children and (guid := children.get("guid")) is not None and not _is_link(guid):
                yield from _guid_link(guid)
        case "comments" | "commentrss":
            yield from _link(element.text, LinkKind.FEED)


def _is_link(guid: lxml.etree._Element) -> bool:
    return (guid.get("isPermaLink") or "true").lower() == "true"


def _guid_link(guid: lxml.etree._Element) -> Iterator[Link]:
    text = (guid.text or "").strip()
    if text.startswith(("http://", "https://")):
        yield from _link(text, LinkKind.FEED)


def _link(href: str | None, kind: LinkKind, *, rel: str = "") -> Iterator[Link]:
    href = (href or "").strip()
    if href:
        yield Link(href, kind, "", rel.lower())


_READERS: Final[dict[str, Callable[[lxml.etree._Element], Iterator[Link]]]] = {
    "urlset": _sitemap_links,
    "sitemapindex": _sitemap_links,
    "rss": _feed_links,
    "rdf": _feed_links,
    "feed": _feed_links,
}
"""By the local name of the root, whatever its name space: many get that wrong."""


_LINE: Final = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
"""As `str.splitlines` has it."""


def listed_urls(text: str, /) -> list[Link]:
    """Links of a plain text whose lines are absolute URLs; none if more of them are something else. A list may have a
    heading or a mistake in it."""
    links: list[Link] = []
    others = 0
    for line in _LINE.finditer(text):  # a list of all lines may take ten times as much as the text
        url = line[0].strip()
        if not url:
            continue
        if not url[:8].lower().startswith(("http://", "https://")) or " " in url:
            others += 1
            continue
        links.append(Link(url, LinkKind.LISTED))
        if len(links) >= MAX_LINKS:
            break
    return links if others <= len(links) else []
