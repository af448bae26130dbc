"""Reads sitemaps, RSS and Atom with a parser, element by element. It loads nothing from elsewhere."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Final, cast

import lxml.etree

from crawler.page import Link
from crawler.read.feeds.elements import feed_link, html_of, local_name, name_of, sitemap_link
from crawler.read.feeds.entries import DATES, Entries
from crawler.read.feeds.json_feed import ReadHtml
from crawler.read.feeds.sitemaps import MAX_LINKS
from crawler.read.feeds.xml_base import Bases
from crawler.read.feeds.xml_fixups import RepairedXml

MAX_LINKS_AND_EXTENSIONS: Final = 500_000
"""Includes the translations, images and videos of a sitemap's URLs."""
MAX_DEPTH: Final = 256
MAX_HELD: Final = 500_000
"""Elements, attributes and unknown references that are in memory at once, 50 to 250 bytes each. Entries are freed when
they end."""
_WRAPPERS: Final = 50
"""Elements that we put around the document. A surplus end tag closes one of them, and the parser reads on; without
them it would stop there, and before a second root."""
_SITEMAP_ENTRIES: Final = frozenset({"url", "sitemap"})
_FEED_ENTRIES: Final = frozenset({"item", "entry"})
_FEED_ENTRY: Final = re.compile(rb"<(?:[\w.-]{1,32}:)?(?:item|entry)[\s>]", re.IGNORECASE)
_MAX_DRIFT: Final = 20
"""Elements. Entries may lie in others, a little deeper."""
_ENTRIES: Final = _SITEMAP_ENTRIES | _FEED_ENTRIES
_SITEMAP_ROOTS: Final = ("urlset", "sitemapindex", "sitemaps", "sitemap")
_HINTS: Final = frozenset({"changefreq", *DATES})

Reader = Callable[[lxml.etree._Element, str], Link | None]
"""Finds the link of a complete element with that local name."""


class XmlReader:
    """Collects the links of what is left of a document behind its plain `entries`."""

    def __init__(
        self,
        document: RepairedXml,
        entries: Entries,
        *,
        url: str,
        add_scheme: Callable[[str], str],
        read_html: ReadHtml | None,
    ) -> None:
        self._document = document
        self._entries = entries
        self._url = url
        self._read_html = read_html
        self._readers = _readers(add_scheme)
        self._reader: Reader | None = None
        """Reads elements of the kind of document that the root shows."""
        self._entry_names = _ENTRIES
        """Of that kind of document."""
        self._entry_depth = 2 if entries.count else None
        """That of the first entry."""
        self._elements = self._freed = 0
        """Elements with their attributes; and what was freed."""
        self._held_before: dict[int, int] = {}
        """What was held when the entry of a depth began."""
        self._depth = 0
        self._bases = Bases(url)

    def read(self, pieces: Iterable[bytes]) -> str | None:
        """Read what is left; returns why if it did not read to the end."""
        parser = _new_parser(_WRAPPERS)
        for piece in pieces:
            for part in self._split(piece):
                if self._has_drifted(part):
                    parser = self._begin_anew()
                parser.feed(part)
                for event, element in cast("Iterator[tuple[str, lxml.etree._Element]]", parser.read_events()):
                    trouble = self._begin(element) if event == "start" else self._end(element)
                    if trouble is not None:
                        return trouble
            if self._held > MAX_HELD:
                return f"has more than {MAX_HELD} elements and attributes in one entry or in none; the rest is not read"
        if self._reader is not None and self._depth > 0 and not self._document.has_end:
            return "ends in the middle"
        if self._depth <= -_WRAPPERS:
            return "has too many end tags; the rest is not read"
        return None if self._reader is None or _reads_on(parser) else "has broken markup; the rest is not read"

    def _split(self, piece: bytes) -> list[bytes]:
        """The piece, divided before each entry if it may be one of a feed."""
        if self._entry_names is _SITEMAP_ENTRIES:
            return [piece]
        # A pattern that only looks ahead could split the piece, but it tries each byte, where this one finds each `<`.
        starts = [found.start() for found in _FEED_ENTRY.finditer(piece)]
        return [piece[start:end] for start, end in pairwise((0, *starts, len(piece)))]

    def _has_drifted(self, part: bytes) -> bool:
        """Whether the part begins with an entry that lies much deeper or higher than the first one. In some feeds,
        descriptions have HTML without escapes, with tags that are not closed, or closed but not open."""
        drift = 0 if self._entry_depth is None else self._depth + 1 - self._entry_depth
        return abs(drift) > _MAX_DRIFT and _FEED_ENTRY.match(part) is not None

    def _begin_anew(self) -> lxml.etree.XMLPullParser:
        """A parser in which the next entry has the depth of the first one. What lies around it is forgotten."""
        self._entries.count += 1  # the one before, which has no end
        self._depth = (self._entry_depth or 1) - 1
        self._held_before.clear()
        self._freed = self._elements + self._document.unknown_references
        self._bases.forget_elements()
        return _new_parser(_WRAPPERS + self._depth)

    @property
    def _held(self) -> int:
        return self._elements + self._document.unknown_references - self._freed

    def _begin(self, element: lxml.etree._Element) -> str | None:
        self._depth += 1
        if self._depth <= 0:
            return None
        # The parser itself stops at 2048. Unclosed tags of an entry don't keep the next one from being read.
        if self._depth > MAX_DEPTH and (self._entry_depth is None or self._entry_names is not _FEED_ENTRIES):
            return f"is nested deeper than {MAX_DEPTH} elements; the rest is not read"
        name = name_of(element.tag)
        own = 1 + len(element.attrib)
        self._elements += own
        if name in self._readers and (self._reader is None or (self._depth == 1 and name not in _ENTRIES)):
            self._reader = self._readers[name]
            self._entry_names = _SITEMAP_ENTRIES if name in _SITEMAP_ROOTS else _FEED_ENTRIES
        elif name in self._entry_names:
            if self._entries.count >= MAX_LINKS:
                return f"lists more than {MAX_LINKS} URLs; the rest is not read"
            self._entries.begin()
            if self._entry_depth is None:
                self._entry_depth = self._depth
            self._held_before[self._depth] = self._held - own
        if own > 1:
            self._bases.begin(element)
        return None

    def _end(self, element: lxml.etree._Element) -> str | None:
        self._depth -= 1
        if self._reader is None:
            return None
        name = name_of(element.tag)
        if name == "document" and element.tag == name:
            return None
        links, bases, link = self._entries.links, self._bases, self._reader(element, name)
        if link is not None:
            links.extend(bases.resolve([link], read_bytes=self._document.read_bytes) if bases.open else [link])
        if name in _FEED_ENTRIES and self._read_html is not None:
            for html, base in html_of(element, bases):
                within = self._read_html(html, base or self._url)
                links.extend(bases.resolve(within, read_bytes=self._document.read_bytes, base=base))
        if bases.open:
            bases.end(element)
        if len(links) > MAX_LINKS_AND_EXTENSIONS:
            del links[MAX_LINKS_AND_EXTENSIONS:]
            return f"names more than {MAX_LINKS_AND_EXTENSIONS} URLs; the rest is not read"
        if name in self._entry_names:
            self._entries.set_hints(_hints_of(element), of_feed=self._entry_names is _FEED_ENTRIES)
            _free(element)
            held = self._held
            self._freed += held - self._held_before.pop(self._depth + 1, held)
            self._entries.count += 1
        return None


def _new_parser(depth: int) -> lxml.etree.XMLPullParser:
    """A parser within that many elements."""
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
    parser.feed(b"<document>" * depth)
    for _ in parser.read_events():
        pass
    return parser


def _reads_on(parser: lxml.etree.XMLPullParser) -> bool:
    """Whether the parser has not stopped: at an error beyond repair, it ignores the rest and reports nothing."""
    parser.feed(b"<end/>")
    return any(True for _ in parser.read_events())


def _hints_of(entry: lxml.etree._Element) -> Mapping[str, str]:
    """The texts of the elements that are hints, by their names."""
    texts: dict[str, str] = {}
    for child in entry:
        if (name := local_name(child)) in _HINTS and name not in texts:
            texts[name] = (child.text or "").strip()
    return texts


def _free(entry: lxml.etree._Element) -> None:
    """Free the memory of an entry and of all before it."""
    entry.clear()
    parent = entry.getparent()
    while parent is not None and entry.getprevious() is not None:
        del parent[0]


def _readers(add_scheme: Callable[[str], str]) -> dict[str, Reader]:
    """Readers by the local name of the root. Name spaces do not count, because many documents get them wrong."""
    by_root: dict[str, Reader] = dict.fromkeys(_SITEMAP_ROOTS, partial(sitemap_link, add_scheme=add_scheme))
    return by_root | dict.fromkeys(("rss", "rdf", "feed"), feed_link)
