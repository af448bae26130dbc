"""A page read without building a tree, where it is sure that a tree would say the same.

To build a tree and look through it takes most of the time of a page. What is read of it rarely depends on the tree:
which tags and attributes there are is settled before, by the tokenizer, and the text of an anchor ends with its end
tag. `_scan`, compiled C, walks through the tags once. Whenever what it meets might be moved, opened again or ignored by
the standard's tree construction in a way that changes what is read, it gives up, and lexbor reads the page instead. So
the two never differ, and tests hold them against each other.

It takes no part in what makes parsers slow: time is in proportion to the page, whatever is nested in it.
"""

from html.entities import html5
from typing import Final

from crawler.page import Link, LinkKind
from crawler.read.abstract import summary
from crawler.read.elements.element_reader import MAX_LINKS, ElementReader
from crawler.read.elements.link_tables import KEPT_META, KIND_OF_REL, PREVIEW_IMAGES
from crawler.read.elements.readers_by_tag import readers_by_tag
from crawler.read.pages import Document

try:
    from crawler.read.html import _scan as compiled
except ImportError:
    # The extension is optional.
    _COMPILED_VERSION = 0
else:
    _COMPILED_VERSION = getattr(compiled, "VERSION", 0)

IS_COMPILED: Final = _COMPILED_VERSION == 8
"""False also where the extension was compiled from older code."""


_PLAIN_RELS: Final[dict[str, LinkKind | None]] = {
    rel: kind for rel, kind in KIND_OF_REL.items() if kind is not LinkKind.CANONICAL
}
"""Of a <link> with one of these and no other, nothing more is to be read."""


def scan(document: Document, /) -> ElementReader[str] | None:
    """What a tree of the page would tell; None if only a tree can."""
    if not IS_COMPILED:
        return None
    options = document.options
    if options.data_links or (options.amp_images and b"amp-img" in document.html.lower()):
        return None
    found = compiled.scan(
        document.html,
        html5,
        Link,
        LinkKind.LINK,
        LinkKind.EMBED,
        LinkKind.CSS,
        _PLAIN_RELS,
        document.robots_names | KEPT_META | PREVIEW_IMAGES
        if options.preview_images
        else document.robots_names | KEPT_META,
        options.scripts,
    )
    if found is None:
        return None
    links, elements, paragraphs, styles = found
    reader: ElementReader[str] = ElementReader(
        text_of=str,
        parent_tag_of=lambda _: None,
        size=len(document.html),
        robots_names=document.robots_names,
        options=options,
        has_svg=False,
    )
    # <image> is met in SVG alone; elsewhere a tree is needed.
    readers = readers_by_tag(options) | {"image": ElementReader.svg_reference}
    ready = 0
    for before, tag, attributes, text in elements:
        reader.links.extend(links[ready:before])
        ready = before
        if read_element := readers.get(tag):
            read_element(reader, attributes, text)
    reader.links.extend(links[ready:])
    del reader.links[MAX_LINKS:]
    for style in styles:
        reader.inline_style(style)
    if reader.description is None:
        reader.abstract = summary(paragraphs)
    return reader
