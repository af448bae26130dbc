"""Reads HTML with Beautiful Soup on Python's own parser: slow, and without any compiled code.

Markup is rewritten first, so that the `html.parser` of any Python reads it as the standard's tokenizer does. Older
versions read the contents of `title` and `textarea` as markup, `&region=` in an attribute as `®ion=`, and `<!-->` as
the start of a comment. They recognise the end of a script only if `>` follows at once. All versions read `<script/>` as
a complete script, and `<![endif]-->` as a section that ends with the next `]>`.
"""

import re
from collections.abc import Iterator
from html.entities import html5
from itertools import takewhile
from typing import Final, cast

from bs4 import BeautifulSoup
from bs4.element import NavigableString, Tag

from crawler.page import LinkKind
from crawler.read.abstract import abstract_of
from crawler.read.descriptor import Descriptor
from crawler.read.elements.element_reader import Attributes, Document, ElementReader
from crawler.read.elements.flatten import raw_content
from crawler.read.elements.foreign import may_link_formulas, may_style_shapes, read_formulas, read_shapes
from crawler.read.elements.link_tables import DATA_LINKS
from crawler.read.elements.markup import ATTRIBUTE
from crawler.read.elements.readers_by_tag import is_shadow_root, readers_by_tag
from crawler.read.options import DEFAULT_OPTIONS, Options
from crawler.read.pages import PageReader

_HOLDS_URL = re.compile(r"(?:url|image-set)\(", re.IGNORECASE)
_TOKEN: Final = re.compile(
    rb"<(?:(?P<comment>!--)|(?P<end>/)?(?P<name>[a-z][^\t\n\f\r />]*+)(?P<attributes>(?>(?:%b)*))"
    rb"(?P<closed>[\t\n\f\r /]*+)(?P<complete>>)?|(?P<section>!\[)|\?(?P<declaration>xml)(?=[\t\n\f\r ]))" % ATTRIBUTE,
    re.IGNORECASE,
)
_COMMENT_END: Final = re.compile(rb"--!?>")
_SCRIPTS: Final = frozenset({b"script", b"style"})
_TEXTS: Final = frozenset({b"title", b"textarea", b"iframe", b"xmp", b"noembed", b"noframes", b"plaintext"})
"""Elements whose content is text, not markup."""
_FOREIGN: Final = frozenset({b"svg", b"math"})
_REFERENCE: Final = re.compile(rb"&([A-Za-z][A-Za-z0-9]*)(;?)(=?)")
_TORN: Final = re.compile(rb"<[a-z!/?]", re.IGNORECASE)


def bs4_extractor(*, agent: str = "", options: Options = DEFAULT_OPTIONS) -> PageReader:
    """An extractor by the tree of `html.parser`."""
    return PageReader(_read, agent=agent, options=options)


DESCRIPTOR: Final = Descriptor(
    name="bs4", make=lambda parameters, _: bs4_extractor(agent=parameters.agent, options=parameters.reads)
)


def _read(document: Document) -> ElementReader[Tag]:
    soup = BeautifulSoup(
        # The line end keeps Beautiful Soup from warning about a page that consists of a URL only.
        f"{_fix_html(document.html).decode('utf-8', 'replace')}\n",
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


def _fix_html(html: bytes, /) -> bytes:
    """Rewrite a page in UTF-8; empties its comments."""
    output: list[bytes] = []
    position = 0
    in_foreign = in_anchor = False
    while token := _TOKEN.search(html, position):
        output.append(html[position : token.start()])
        position = token.end()
        if token["declaration"]:
            # Drop `xml`: Beautiful Soup would warn that this is not an XML parser.
            output.append(b"<?")
        elif token["comment"]:
            # `<!-->` is a complete comment.
            end = _COMMENT_END.search(html, position - 2)
            position = end.end() if end else len(html)
            output.append(b"<!-- -->")
        elif token["section"]:
            # Outside of SVG and MathML, where it may be CDATA, a comment up to the next `>`, as in `<![endif]-->`.
            if not in_foreign:
                position = html.find(b">", position) + 1 or len(html)
            output.append(token[0] if in_foreign else b"<!-- -->")
        elif token["end"] or not token["complete"]:
            name = token["name"].lower()
            in_foreign = in_foreign and name not in _FOREIGN
            in_anchor = in_anchor and name != b"a"
            output.append(token[0])
        else:
            name = token["name"].lower()
            is_closed = b"/" in token["closed"]
            in_foreign = in_foreign or (name in _FOREIGN and not is_closed)
            attributes = _REFERENCE.sub(_escape_false_reference, token["attributes"])
            if (name in _SCRIPTS and not (in_foreign and is_closed)) or (name in _TEXTS and not in_foreign):
                content, position = raw_content(html, position, name)
                content = content if name in _SCRIPTS else content.replace(b"<", b"&lt;")
                output.append(b"<%b%b >%b</%b>" % (name, attributes, content, name))
            else:
                if name == b"a" and not in_foreign:
                    # In this parser anchors nest; by the standard the next anchor ends an open one.
                    output.append(b"</a>" * in_anchor)
                    in_anchor = True
                # Outside of SVG and MathML the slash has no meaning, but this parser would close the element.
                closed = token["closed"] if in_foreign or name in _FOREIGN else b" " * bool(token["closed"])
                output.append(b"<%b%b%b>" % (name, attributes, closed))
    output.append(html[position:])
    return _drop_torn_tag(b"".join(output))


def _escape_false_reference(found: re.Match[bytes]) -> bytes:
    """Escape the `&` of what is not a reference. In an attribute, a name without semicolon is no reference if `=` or
    another letter follows it."""
    name = found[1].decode("ascii")
    is_reference = f"{name};" in html5 if found[2] else name in html5 and not found[3]
    return found[0] if is_reference else b"&amp;" + found[0][1:]


def _drop_torn_tag(html: bytes) -> bytes:
    """Drop an incomplete tag or comment at the end of the page. The standard ignores it, and the `html.parser` of older
    Pythons needs quadratic time for many of them (CVE-2025-6069)."""
    torn = _TORN.search(html, html.rfind(b">") + 1)
    return html if torn is None else html[: torn.start()]
