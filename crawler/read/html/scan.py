"""Reads a page without building a tree, if the result is certain to be the same.

Most of the time for a page goes into building and searching its tree. But what we read rarely depends on the tree: the
tokenizer determines tags and attributes, and the text of an anchor ends with its end tag. `_scan`, compiled C, goes
through the tags once. It gives up where tree construction, by the standard, might move, repeat or ignore an element in
a way that changes the result; then lexbor reads the page. So the two never differ; the tests compare them.

Its time is proportional to the size of the page, however deep the page is nested.

Its links are a sequence that makes the objects when they are asked for. On a large page, two in three repeat another
one but for the fragment, and nearly all others lead to URLs that the crawl knows: `links.filter` asks for places
instead of links, so that only those of new URLs are made.
"""

from collections.abc import Sequence
from functools import lru_cache
from html.entities import html5
from typing import Final

from crawler.page import Link, LinkKind
from crawler.read.abstract import summary
from crawler.read.elements.element_reader import MAX_LINKS, Attributes, Document, ElementReader
from crawler.read.elements.link_tables import KEPT_META, KIND_OF_REL, PREVIEW_IMAGES, kinds_of_rel
from crawler.read.elements.readers_by_tag import ReadElement, readers_by_tag
from crawler.read.options import Options

try:
    from crawler.read.html import _scan as compiled
except ImportError:
    IS_COMPILED = False  # the extension is optional
else:
    IS_COMPILED = getattr(compiled, "VERSION", 0) == 27  # False if it was compiled from older code
    if IS_COMPILED:
        Sequence.register(compiled.Links)

_KINDS: Final = LinkKind.LINK, LinkKind.EMBED, LinkKind.CSS
"""Of the links that the scan makes."""
_WITHOUT_LINKS: Final = frozenset({"html", "title", "base"})
"""Elements that never add a link."""
_PLAIN_RELS: Final[dict[str, LinkKind | None]] = {
    rel: kinds_of_rel(rel)[0]
    for rel in (
        *KIND_OF_REL,
        *("shortcut icon", "alternate", "author", "copyright", "help", "license", "search", "shortlink"),
    )
}
"""The kinds of links by the whole rel of a <link>. One with another rel, or an alternate whose type may be that of a
feed, needs further reading."""


def scan(document: Document, /) -> ElementReader[str] | None:
    """Read a page without a tree; None if that needs a tree."""
    if not IS_COMPILED:
        return None
    options = document.options
    if options.data_links or (options.amp_images and b"amp-img" in document.html.lower()):
        return None
    readers, meta_names = _wanted(options, document.robots_names)
    found = compiled.scan(document.html, html5, Link, *_KINDS, _PLAIN_RELS, meta_names, options.scripts)
    if found is None:
        return None
    links, elements, paragraphs, styles, canonical = found
    reader: ElementReader[str] = ElementReader(document, text_of=str, tags_around=lambda _: (), has_svg=False)
    reader.canonical_href = canonical
    added = 0
    for before, tag, attributes, text in elements:
        if read_element := readers.get(tag):
            if added < before and _may_have_links(tag, attributes, options):
                reader.links += links[added:before]
                added = before
            read_element(reader, attributes, text)
    if not reader.links and not styles and len(links) <= MAX_LINKS:
        reader.scanned = links
    else:
        reader.links += links[added:]
        del reader.links[MAX_LINKS:]
    for style in styles:
        reader.inline_style(style)
    if reader.description is None:
        reader.abstract = summary(paragraphs)
    return reader


def _may_have_links(tag: str, attributes: Attributes, options: Options) -> bool:
    """Whether an element may add links to a page, or documents that stand between them."""
    if tag == "meta":
        return options.preview_images or "refresh" in (attributes.get("http-equiv") or "").lower()
    return tag not in _WITHOUT_LINKS


@lru_cache(maxsize=8)
def _wanted(options: Options, robots_names: frozenset[str]) -> tuple[dict[str, ReadElement], frozenset[str]]:
    """Which elements are read, and which names of <meta>."""
    # These occur in SVG only; otherwise the scan has given up.
    readers = readers_by_tag(options) | dict.fromkeys(("feimage", "image", "use"), ElementReader.svg_reference)
    return readers, robots_names | KEPT_META | (PREVIEW_IMAGES if options.preview_images else set())
