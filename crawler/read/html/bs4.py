"""Reads HTML with Beautiful Soup on Python's own parser: slow, and without any compiled code."""

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Final, cast

from bs4 import BeautifulSoup
from bs4.element import NavigableString, Tag

from crawler.page import LinkKind
from crawler.read.abstract import abstract_of
from crawler.read.descriptor import Descriptor
from crawler.read.elements.element_reader import Attributes, Document, ElementReader
from crawler.read.elements.foreign import may_link_formulas, may_style_shapes, read_formulas, read_shapes
from crawler.read.elements.link_tables import DATA_LINKS
from crawler.read.elements.readers_by_tag import is_shadow_root, readers_by_tag
from crawler.read.html.html_fixups import fix_html
from crawler.read.options import DEFAULT_OPTIONS, Options
from crawler.read.pages import PageReader

_HOLDS_URL = re.compile(r"(?:url|image-set)\(", re.IGNORECASE)


def bs4_extractor(*, agent: str = "", options: Options = DEFAULT_OPTIONS) -> PageReader:
    """An extractor by the tree of `html.parser`."""
    return PageReader(_read, agent=agent, options=options)


DESCRIPTOR: Final = Descriptor(
    name="bs4", make=lambda parameters, _: bs4_extractor(agent=parameters.agent, options=parameters.reads)
)


def _read(document: Document) -> ElementReader[Tag]:
    soup = BeautifulSoup(
        # The line end keeps Beautiful Soup from warning about a page that consists of a URL only.
        f"{fix_html(document.html).decode('utf-8', 'replace')}\n",
        "html.parser",
        # Plain values, not lists of class names. By the standard, the first of repeated attributes counts.
        multi_valued_attributes=None,
        on_duplicate_attribute="ignore",
    )
    reader: ElementReader[Tag] = ElementReader(document, text_of=Tag.get_text, tags_around=_tags_around)
    for template in soup.find_all("template"):
        # This parser treats the contents of a template as part of the document.
        if not is_shadow_root(cast(Attributes, template.attrs)):
            template.clear()
    readers = readers_by_tag(document.options)
    for node in soup.descendants:
        if isinstance(node, Tag) and (read_element := readers.get(node.name)):
            read_element(reader, cast(Attributes, node.attrs), node)
    for node in soup.find_all(style=_HOLDS_URL):
        reader.inline_style(cast(str, node["style"]))
    lower = document.html.lower()
    if may_style_shapes(lower):
        read_shapes(reader, (cast(Attributes, node.attrs) for node in _within(soup, "svg")))
    if may_link_formulas(lower):
        formulas = ((node.name, cast(Attributes, node.attrs)) for node in _within(soup, "math"))
        read_formulas(reader, formulas, readers)
    for node in soup.css.select("[data-bg]"):
        reader.background(cast(str, node["data-bg"]))
    for name in DATA_LINKS if document.options.data_links else ():
        for node in soup.css.select(f"[{name}]"):
            reader.add(cast(str, node[name]), LinkKind.SPECULATIVE)
    if reader.description is None:
        reader.abstract = abstract_of(soup.find_all("p"), _text_of_paragraph, _tags_around)
    return reader


def _within(soup: BeautifulSoup, name: str) -> Iterator[Tag]:
    """The elements of that name and all within them, each once. A selector would look at all around each element."""
    met: set[int] = set()
    for root in soup.find_all(name):
        if id(root) not in met:
            inside = [root, *root.find_all(True)]
            met.update(map(id, inside))
            yield from inside


def _tags_around(tag: Tag) -> Iterator[str]:
    return (parent.name for parent in tag.parents)


def _text_of_paragraph(paragraph: Tag) -> str:
    # In this parser the next paragraph does not end an open one, but lies within it.
    within = takewhile(lambda node: not isinstance(node, Tag) or node.name != "p", paragraph.descendants)
    return "".join(node for node in within if type(node) is NavigableString)
