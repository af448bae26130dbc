"""Reads HTML by the trees of lexbor (`selectolax`), which parses as browsers do and is the fastest."""

from collections.abc import Iterator
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawler.page import LinkKind
from crawler.read.abstract import abstract_of
from crawler.read.elements.element_reader import Attributes, Document, ElementReader
from crawler.read.elements.foreign import may_link_formulas, may_style_shapes, read_formulas, read_shapes
from crawler.read.elements.link_tables import DATA_LINKS, UNSHOWN
from crawler.read.elements.readers_by_tag import is_shadow_root, readers_by_tag
from crawler.read.options import DEFAULT_OPTIONS, Options

_SELECTOR: Final = (
    "[href],[src],[srcset],[imagesrcset],[content],[background],[poster],[data],html,style,title"
    ",[data-src],[data-srcset],[data-original],[data-lazy-src],[data-lazy-srcset]"
    ",iframe[srcdoc],noframes,template[shadowrootmode]"
)
"""Selects the elements with URLs or metadata. Selecting by attribute is faster than by element name, and in a large
page far faster than a walk over all elements; but each document pays for parsing the selector."""
_STYLED: Final = ':is([style*="url(" i],[style*="image-set(" i])'
_SMALL_BYTES: Final = 16_384
MAX_NODES: Final = 200_000
"""How many nodes of a document are visited for the texts of elements with scripts or style sheets in them. Such
elements may lie in one another, so that each node is visited for each of them."""
_LAST_KNOWN: Final = 10_000
"""Lexbor numbers the elements that it knows from 1 on. Others, such as <use>, get another number in each document."""


class LexborTrees:
    """Reads documents by their trees."""

    def __init__(self, options: Options = DEFAULT_OPTIONS) -> None:
        # Outside of SVG, lexbor turns <image> into <img>.
        self._readers = readers_by_tag(options) | {"image": ElementReader.svg_reference, "template": _shadow_root}
        self._readers_by_id = {
            number: read_element
            for tag, read_element in self._readers.items()
            if (number := _tag_id(tag)) <= _LAST_KNOWN
        }
        self._selector = (
            f"{_SELECTOR}{',script' if options.scripts else ''}{',form,[formaction]' if options.forms else ''}"
        )

    def read(self, document: Document) -> ElementReader[LexborNode]:
        tree = LexborHTMLParser(document.html)
        lower = document.html.lower()
        text_of = _Texts(tree).of
        reader: ElementReader[LexborNode] = ElementReader(
            document,
            text_of=text_of,
            tags_around=_tags_around,
            has_svg=b"<svg" in lower,
        )
        readers = self._readers_by_id.get
        last = 0
        small = len(document.html) < _SMALL_BYTES
        for node in tree.tags("*") if small else tree.css(self._selector):
            number = node.tag_id
            read_element = readers(number)
            if read_element is None and number > _LAST_KNOWN:
                read_element = self._readers.get(node.tag or "")
            # Lexbor yields an element that matches twice, twice in a row.
            if read_element is not None and (address := node.mem_id) != last:
                last = address
                read_element(reader, node.attributes, node)
        if b"url(" in lower or b"image-set(" in lower:
            for node in tree.css(_STYLED):
                reader.inline_style(node.attributes.get("style"))
            if may_style_shapes(lower):
                read_shapes(reader, (node.attributes for node in tree.css(":is(svg,svg *)")))
        if may_link_formulas(lower):
            formulas = ((node.tag or "", node.attributes) for node in tree.css(":is(math,math *)[href]"))
            read_formulas(reader, formulas, self._readers)
        if b"data-bg" in lower:
            for node in tree.css("[data-bg]"):
                reader.background(node.attributes.get("data-bg"))
        if document.options.data_links:
            for name in DATA_LINKS:
                for node in tree.css(f"[{name}]"):
                    reader.add(node.attributes.get(name), LinkKind.SPECULATIVE)
        if reader.description is None:
            reader.abstract = abstract_of(tree.tags("p"), text_of, _tags_around)
        return reader


def _shadow_root(reader: ElementReader[LexborNode], attributes: Attributes, node: LexborNode) -> None:
    # The contents of a template are not in lexbor's tree, but in the HTML of its node. Within SVG and MathML they are
    # in the tree, because it is no template there. A page can nest thousands of these.
    if is_shadow_root(attributes) and node.child is None:
        reader.add_nested(f"<div{(node.html or '').removeprefix('<template')}")


def _tag_id(tag: str) -> int:
    """Lexbor's number of an element, which only nodes have."""
    return LexborHTMLParser("").create_node(tag).tag_id


def _parent_tag(node: LexborNode) -> str | None:
    return node.parent.tag if node.parent is not None else None


def _tags_around(node: LexborNode) -> Iterator[str]:
    parent = node.parent
    while parent is not None:
        yield parent.tag or ""
        parent = parent.parent


def _around_unshown(tree: LexborHTMLParser) -> set[int]:
    """The elements in which there are scripts or style sheets, by `mem_id`."""
    found: set[int] = set()
    for tag in UNSHOWN:
        for node in tree.tags(tag):
            parent = node.parent
            while parent is not None and parent.mem_id not in found:
                found.add(parent.mem_id)
                parent = parent.parent
    return found


class _Texts:
    """The texts of the elements of a tree, without scripts and style sheets."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._around_unshown = _around_unshown(tree)
        self._nodes_left = MAX_NODES

    def of(self, node: LexborNode) -> str:
        """Empty once the budget is spent."""
        if node.mem_id not in self._around_unshown:
            return node.text_lexbor()
        texts: list[str] = []
        for each in node.traverse(include_text=True):
            self._nodes_left -= 1
            if self._nodes_left < 0:
                return ""
            if each.is_text_node and _parent_tag(each) not in UNSHOWN:
                texts.append(each.text_lexbor())
        return "".join(texts)
