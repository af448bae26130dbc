"""HTML by lexbor (`selectolax`): parses as browsers do, and fastest."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawler.page import Extract, Page
from crawler.read.document import ELEMENTS, Reading
from crawler.read.pages import Document, PageReader, summary
from crawler.read.text import to_utf8
from crawler.read.wishes import NO_WISHES, Wishes

_MAX_PARAGRAPHS: Final = 20
_LARGE_BLOCK_BYTES: Final = 4 << 20


class LexborExtractor:
    """Links and metadata, from a tree as browsers build it."""

    def __init__(self, *, agent: str = "", wishes: Wishes = NO_WISHES) -> None:
        _settle_allocator()
        self._tag_of_id = _tag_ids()
        self._pages = PageReader(self._read, agent=agent, wishes=wishes)

    def extract(self, page: Page, /) -> Extract:
        return self._pages.extract(page)

    def _read(self, document: Document) -> Reading[LexborNode]:
        tree = LexborHTMLParser(to_utf8(document.body, document.encoding))
        reading: Reading[LexborNode] = Reading(
            text_of=LexborNode.text_lexbor,
            parent_tag_of=_parent_tag,
            size=len(document.body),
            robots_names=document.robots_names,
            wishes=document.wishes,
        )
        tag_of_id = self._tag_of_id
        take = reading.take
        # All elements, and then a look at their numbers: `css` sets up a parser of selectors for each document, and
        # takes the longer the more it is asked for.
        for node in tree.tags("*"):
            tag = tag_of_id.get(node.tag_id)
            if tag is not None:
                take(tag, node.attributes, node)
        if reading.description is None:
            reading.abstract = summary(_paragraphs(tree))
        return reading


def _settle_allocator() -> None:
    """Have glibc keep the memory of a parsed document for the next one.

    It gives freed memory back to the system, and asks for it again page by page, until a larger block than all before
    was once freed (mallopt(3), M_MMAP_THRESHOLD). A crawl of small pages frees none, and would spend half of its
    parsing time so. Does nothing with other allocators.
    """
    bytes(_LARGE_BLOCK_BYTES)


def _tag_ids() -> dict[int, str]:
    """Lexbor's numbers of the elements, which it tells of nodes only. Elements that lexbor doesn't know have another
    number in each document, so there must be none of these in `ELEMENTS`."""
    tree = LexborHTMLParser("")
    return {tree.create_node(tag).tag_id: tag for tag in ELEMENTS}


def _parent_tag(node: LexborNode) -> str | None:
    return node.parent.tag if node.parent is not None else None


def _paragraphs(tree: LexborHTMLParser) -> Iterator[str]:
    for node in islice(tree.tags("p"), _MAX_PARAGRAPHS):
        yield node.text_lexbor()
