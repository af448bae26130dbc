"""HTML by lexbor (`selectolax`): parses as browsers do, and fastest."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawler.page import Extract, Page
from crawler.read.document import Reading, takers
from crawler.read.pages import Document, PageReader, summary
from crawler.read.scan import scanned
from crawler.read.wishes import NO_WISHES, Wishes

_MAX_PARAGRAPHS: Final = 20


_SELECTOR: Final = (
    "[href],[src],[srcset],[imagesrcset],[content],[background],[poster],[data],html,style,title"
    ",img[data-src],source[data-src],[data-srcset],iframe[data-src]"
)
"""What holds a URL or metadata. To look for attributes is faster than for the names of elements, and in a large page
far faster than to look at each element here; but a parser of selectors is made for each document."""
_SMALL_BYTES: Final = 16_384
_LAST_KNOWN: Final = 10_000
"""Lexbor numbers the elements that it knows from 1 on. Others, as <use>, have another number in each document."""


class LexborTrees:
    """Reads documents as trees."""

    def __init__(self, wishes: Wishes = NO_WISHES) -> None:
        self._taker_of_id = {_tag_id(tag): take for tag, take in takers(wishes).items() if tag != "use"}
        self._selector = (
            f"{_SELECTOR}{',script' if wishes.scripts else ''}{',form,[formaction]' if wishes.forms else ''}"
        )

    def read(self, document: Document) -> Reading[LexborNode]:
        tree = LexborHTMLParser(document.html)
        reading: Reading[LexborNode] = Reading(
            text_of=LexborNode.text_lexbor,
            parent_tag_of=_parent_tag,
            size=len(document.html),
            robots_names=document.robots_names,
            wishes=document.wishes,
        )
        taker_of = self._taker_of_id.get
        last = 0
        small = len(document.html) < _SMALL_BYTES
        for node in tree.tags("*") if small else tree.css(self._selector):
            number = node.tag_id
            take = taker_of(number)
            if take is None and number > _LAST_KNOWN and node.tag == "use":
                take = Reading.svg_reference
            # An element that matches twice is given twice in a row.
            if take is not None and (address := node.mem_id) != last:
                last = address
                take(reading, node.attributes, node)
        if b"url(" in document.html.lower():
            for node in tree.css('[style*="url(" i]'):
                reading.inline_style(node.attributes.get("style"))
        if reading.description is None:
            reading.abstract = summary(_paragraphs(tree))
        return reading


class LexborExtractor:
    """Links and metadata, as from a tree that browsers build; most pages need none."""

    def __init__(self, *, agent: str = "", wishes: Wishes = NO_WISHES) -> None:
        self._pages = PageReader(LexborTrees(wishes).read, scan=scanned, agent=agent, wishes=wishes)

    def extract(self, page: Page, /) -> Extract:
        return self._pages.extract(page)


def _tag_id(tag: str) -> int:
    """Lexbor's number of an element, which it tells of nodes only."""
    return LexborHTMLParser("").create_node(tag).tag_id


def _parent_tag(node: LexborNode) -> str | None:
    return node.parent.tag if node.parent is not None else None


def _paragraphs(tree: LexborHTMLParser) -> Iterator[str]:
    for node in islice(tree.tags("p"), _MAX_PARAGRAPHS):
        yield node.text_lexbor()
