"""Reads HTML with lxml (libxml2): nearly as fast as lexbor, but it repairs broken pages in its own way."""

import re
from collections.abc import Iterator
from typing import Final, cast

import lxml.etree

from crawler.page import LinkKind
from crawler.read.abstract import abstract_of
from crawler.read.descriptor import Descriptor
from crawler.read.elements.element_reader import Attributes, Document, ElementReader
from crawler.read.elements.foreign import may_link_formulas, may_style_shapes, read_formulas, read_shapes
from crawler.read.elements.link_tables import DATA_LINKS, UNSHOWN
from crawler.read.elements.readers_by_tag import is_shadow_root, readers_by_tag
from crawler.read.options import DEFAULT_OPTIONS, Options
from crawler.read.pages import PageReader

_END_OF_DOCUMENT = re.compile(rb"</(?:html|body)\b[^>]*(?:>|\Z)", re.IGNORECASE)
"""libxml2 ignores what follows; by the standard it belongs to the body."""
_ENDS_MATTER: Final = frozenset(
    b"html head body template a p script style title textarea iframe noembed noframes xmp plaintext".split()
)
_HOLDS_URL: Final = re.compile(r"(?:url|image-set)\(", re.IGNORECASE)
_LONGEST_NAME: Final = max(map(len, _ENDS_MATTER)) + 1
_MARKED_AS_CLOSED = re.compile(
    rb"<(?:(?P<foreign>/?(?:svg|math)(?=[\t\n\f\r />])[^<>]*+)"
    rb"|(?P<tag>(?:%b)(?:[\t\n\f\r ][^<>]*+)?)(?:(?<=/)|/)>)" % b"|".join(_ENDS_MATTER),
    re.IGNORECASE,
)

_SHOWN: Final = lxml.etree.XPath(
    f"descendant::text()[not({' or '.join(f'parent::{tag}' for tag in UNSHOWN)})]", smart_strings=False
)


def lxml_extractor(*, agent: str = "", options: Options = DEFAULT_OPTIONS) -> PageReader:
    """An extractor by the tree of libxml2."""
    return PageReader(_read, agent=agent, options=options)


DESCRIPTOR: Final = Descriptor(
    name="lxml", make=lambda parameters, _: lxml_extractor(agent=parameters.agent, options=parameters.reads)
)


def _read(document: Document) -> ElementReader[lxml.etree._Element]:
    reader: ElementReader[lxml.etree._Element] = ElementReader(document, text_of=_text, tags_around=_tags_around)
    root = _root(document.html)
    if root is None:
        return reader
    for template in list(root.iter("template")):
        # libxml2 treats the contents of a template as part of the document.
        if not is_shadow_root(cast(Attributes, template.attrib)):
            del template[:]
    readers = readers_by_tag(document.options)
    for element in root.iter(*readers):
        readers[element.tag](reader, cast(Attributes, element.attrib), element)
    lower = document.html.lower()
    if b"url(" in lower or b"image-set(" in lower:
        for style in cast(list[str], root.xpath("//@style")):
            if _HOLDS_URL.search(style):
                reader.inline_style(style)
        if may_style_shapes(lower):
            shapes = cast(list[lxml.etree._Element], root.xpath("//*[ancestor-or-self::svg]"))
            read_shapes(reader, (cast(Attributes, each.attrib) for each in shapes))
    if may_link_formulas(lower):
        formulas = cast(list[lxml.etree._Element], root.xpath("//*[@href][ancestor-or-self::math]"))
        read_formulas(reader, ((each.tag, cast(Attributes, each.attrib)) for each in formulas), readers)
    if b"data-bg" in lower:
        for value in cast(list[str], root.xpath("//@data-bg")):
            reader.background(value)
    if document.options.data_links:
        for name in DATA_LINKS:
            for value in cast(list[str], root.xpath(f"//@{name}")):
                reader.add(value, LinkKind.SPECULATIVE)
    if reader.description is None:
        reader.abstract = abstract_of(root.iter("p"), _text, _tags_around)
    return reader


def _root(html: bytes) -> lxml.etree._Element | None:
    parser = lxml.etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    if b"\0" in html:
        html = html.replace(b"\0", b"\xef\xbf\xbd")
    parser.feed(_END_OF_DOCUMENT.sub(b"", _drop_slashes(html)))
    try:
        return parser.close()
    except lxml.etree.XMLSyntaxError:
        # libxml2 raises it for documents without any element.
        return None


def _drop_slashes(html: bytes) -> bytes:
    """Drop the slash of tags like `<html lang="de" />`. By the standard it has no meaning outside of SVG and MathML,
    but libxml2 closes the element, and ignores what follows an empty root."""
    # Nearly all such tags are void elements like <br>; this test is faster than the expression.
    starts = (piece[piece.rfind(b"<") + 1 :][:_LONGEST_NAME] for piece in html.split(b"/>")[:-1])
    if _ENDS_MATTER.isdisjoint(start.split(None, 1)[0].lower() for start in starts if start[:1].isalpha()):
        return html
    in_foreign = False

    def tag(found: re.Match[bytes]) -> bytes:
        nonlocal in_foreign
        if foreign := found["foreign"]:
            in_foreign = not foreign.startswith(b"/") and not foreign.endswith(b"/")
            return found[0]
        attributes = found["tag"].removesuffix(b"/")
        if in_foreign or attributes.rstrip().endswith(b"="):
            return found[0]
        if b"=" in attributes and not attributes.endswith((b'"', b"'", b" ", b"\t", b"\n", b"\r")):
            # The slash belongs to an unquoted value.
            return found[0]
        return b"<%b>" % attributes

    return _MARKED_AS_CLOSED.sub(tag, html)


def _text(element: lxml.etree._Element) -> str:
    # Most anchors contain only text, and an iterator is expensive.
    if not len(element):
        return element.text or ""
    return "".join(cast(list[str], _SHOWN(element)))


def _tags_around(element: lxml.etree._Element) -> Iterator[str]:
    return (parent.tag for parent in element.iterancestors())
