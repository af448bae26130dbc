"""Reads HTML with turbohtml, which parses as browsers do and is the fastest."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from turbohtml import Document as Tree
from turbohtml import Element, Namespace, Text, parse

from crawler.page import LinkKind
from crawler.read.abstract import abstract_of
from crawler.read.descriptor import Descriptor
from crawler.read.elements.element_reader import Attributes, Document, ElementReader
from crawler.read.elements.foreign import may_link_formulas, may_style_shapes, read_formulas, read_shapes
from crawler.read.elements.link_tables import DATA_LINKS, UNSHOWN, WITH_BACKGROUND
from crawler.read.elements.readers_by_tag import is_shadow_root, readers_by_tag
from crawler.read.options import DEFAULT_OPTIONS, Options
from crawler.read.pages import PageReader

_ANYWHERE: Final = '[style*="url(" i],[style*="image-set(" i],[data-bg],[background]'
"""Selects elements by attributes that any of them may have, and few have."""


class _Attributes:
    """The attributes of one element after another. A dict for each element takes ten times as long."""

    __slots__ = ("get",)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __getitem__(self, name: str) -> str | None:
        return self.get(name)

    def of(self, element: Element) -> "_Attributes":
        self.get = element.attr
        return self


class TurboHtmlTrees:
    """Reads documents by their trees."""

    def __init__(self, options: Options = DEFAULT_OPTIONS) -> None:
        # Outside of SVG, turbohtml turns <image> into <img>. Within, it spells names as the standard does.
        self._readers = readers_by_tag(options) | {
            "feImage": ElementReader.svg_reference,
            "image": ElementReader.svg_reference,
            "use": _use,
        }
        del self._readers["feimage"]
        self._tags = tuple(self._readers)
        self._tags_without_background = tuple(self._readers.keys() - WITH_BACKGROUND)

    def read(self, document: Document) -> ElementReader[Element]:
        # No template becomes a shadow root: its contents are a document of their own.
        tree = parse(document.html.decode("utf-8", "replace"), positions=False, allow_declarative_shadow_roots=False)
        text_of = partial(_text, _around_unshown(tree))
        reader: ElementReader[Element] = ElementReader(
            document,
            text_of=text_of,
            tags_around=_tags_around,
            has_svg=tree.find("svg") is not None,
        )
        shadow_roots = _empty_templates(tree)
        special = tree.select(_ANYWHERE)
        has_background = any(element.attr("background") is not None for element in special)
        tags = self._tags if has_background else self._tags_without_background
        readers, given = self._readers, _Attributes()
        for element in tree.iter_elements((*tags, "template") if shadow_roots else tags):
            read_element = readers.get(element.tag)
            if read_element is not None:
                given.get = element.attr
                read_element(reader, given, element)
            else:
                reader.add_nested(shadow_roots.get(element))
        for element in special:
            reader.inline_style(element.attr("style"))
        lower = document.html.lower()
        if may_style_shapes(lower):
            read_shapes(reader, (_Attributes().of(element) for element in tree.select("svg,svg *")))
        if may_link_formulas(lower):
            formulas = ((each.tag, _Attributes().of(each)) for each in tree.select("math[href],math [href]"))
            read_formulas(reader, formulas, self._readers)
        for element in special:
            reader.background(element.attr("data-bg"))
        if document.options.data_links:
            for name in DATA_LINKS:
                for element in tree.select(f"[{name}]"):
                    reader.add(element.attr(name), LinkKind.SPECULATIVE)
        if reader.description is None:
            reader.abstract = abstract_of(tree.iter_elements(("p",)), text_of, _tags_around)
        return reader


def turbohtml_extractor(*, agent: str = "", options: Options = DEFAULT_OPTIONS) -> PageReader:
    """An extractor that reads pages as browsers do."""
    return PageReader(TurboHtmlTrees(options).read, agent=agent, options=options)


DESCRIPTOR: Final = Descriptor(
    name="turbohtml", make=lambda parameters, _: turbohtml_extractor(agent=parameters.agent, options=parameters.reads)
)


def _empty_templates(tree: Tree) -> dict[Element, str]:
    """Remove the contents of templates, which are not part of the document, from its tree. Returns the HTML of those
    that browsers show."""
    shadow_roots: dict[Element, str] = {}
    for template in tree.select("template"):
        if is_shadow_root(_Attributes().of(template)):
            shadow_roots[template] = template.inner_html
        template.clear()
    return shadow_roots


def _use(reader: ElementReader[Element], attributes: Attributes, node: Element) -> None:
    if node.namespace is Namespace.SVG:
        reader.svg_reference(attributes, node)


def _around_unshown(tree: Tree) -> set[object]:
    """The elements in which there are scripts or style sheets."""
    found: set[object] = set()
    for element in tree.iter_elements(UNSHOWN):
        for parent in element.ancestors:
            if parent in found:
                break
            found.add(parent)
    return found


def _text(unshown: set[object], element: Element) -> str:
    if element not in unshown:
        return element.text
    texts = (each for each in element.descendants if isinstance(each, Text))
    return "".join(each.data for each in texts if _parent_tag(each) not in UNSHOWN)


def _tags_around(element: Element) -> Iterator[str]:
    return (each.tag for each in element.ancestors if isinstance(each, Element))


def _parent_tag(element: Element | Text) -> str | None:
    parent = element.parent
    return parent.tag if isinstance(parent, Element) else None
