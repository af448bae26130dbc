"""HTML by lxml (libxml2): nearly as fast as lexbor, and repairs broken pages in its own way."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final, cast

import lxml.etree

from crawler.page import Extract, Page
from crawler.read.document import Attributes, Reading, takers
from crawler.read.pages import Document, PageReader, summary
from crawler.read.wishes import NO_WISHES, Wishes

_MAX_PARAGRAPHS: Final = 20
_END_OF_DOCUMENT = re.compile(rb"</(?:html|body)\b[^>]*>", re.IGNORECASE)
"""libxml2 ignores what follows; to the standard it belongs to the body."""


class LxmlExtractor:
    """Links and metadata, from a tree of libxml2."""

    def __init__(self, *, agent: str = "", wishes: Wishes = NO_WISHES) -> None:
        self._pages = PageReader(_read, agent=agent, wishes=wishes)

    def extract(self, page: Page, /) -> Extract:
        return self._pages.extract(page)


def _read(document: Document) -> Reading[lxml.etree._Element]:
    reading: Reading[lxml.etree._Element] = Reading(
        text_of=_text,
        parent_tag_of=_parent_tag,
        size=len(document.html),
        robots_names=document.robots_names,
        wishes=document.wishes,
    )
    root = _root(document.html)
    if root is None:
        return reading
    for template in list(root.iter("template")):
        # To libxml2 the contents of a template are part of the document.
        del template[:]
    taker_of = takers(document.wishes)
    for element in root.iter(*taker_of):
        taker_of[element.tag](reading, cast(Attributes, element.attrib), element)
    if b"url(" in document.html.lower():
        for style in cast(list[str], root.xpath("//@style")):
            if "url(" in style.lower():
                reading.inline_style(style)
    if reading.description is None:
        reading.abstract = summary(_paragraphs(root))
    return reading


def _root(html: bytes) -> lxml.etree._Element | None:
    parser = lxml.etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    if b"\0" in html:
        html = html.replace(b"\0", b"\xef\xbf\xbd")
    parser.feed(_END_OF_DOCUMENT.sub(b"", html))
    try:
        return parser.close()
    except lxml.etree.XMLSyntaxError:
        # It says so of documents without any element.
        return None


def _text(element: lxml.etree._Element) -> str:
    # Most anchors have nothing but text in them, and an iterator is dear.
    if not len(element):
        return element.text or ""
    return "".join(cast(Iterator[str], element.itertext()))


def _parent_tag(element: lxml.etree._Element) -> str | None:
    parent = element.getparent()
    return parent.tag if parent is not None else None


def _paragraphs(root: lxml.etree._Element) -> Iterator[str]:
    for element in islice(root.iter("p"), _MAX_PARAGRAPHS):
        yield _text(element)
