"""Reads attributes that any element of SVG or MathML may have. They are rare, so pages without them pay nothing."""

import re
from collections.abc import Collection, Iterable
from typing import Any, Final

from crawler.page import LinkKind
from crawler.read.elements.element_reader import Attributes, ElementReader

_STYLES: Final = (
    "fill",
    "stroke",
    "filter",
    "mask",
    "clip-path",
    "marker-start",
    "marker-mid",
    "marker-end",
    "cursor",
)
"""Presentation attributes of SVG whose value may be a URL."""
_STYLED: Final = re.compile(
    rb"=(?=(?>[\t\n\f\r ]*)(?:[\"'](?>[\t\n\f\r ]*))?url\((?>(?:[\t\n\f\r \"']|&quot;|&#3[49];)*)(?!#))"
    rb"(?:%b|(?<=[\t\n\f\r ]=))" % b"|".join(b"(?<=%b=)" % name.encode() for name in _STYLES)
)
"""Such an attribute whose URL is outside of the page, or any with white space before its `=`."""


def may_style_shapes(lower: bytes, /) -> bool:
    """Whether elements of SVG may have presentation attributes with a URL outside of the page. `lower` is the page in
    lower case."""
    return b"<svg" in lower and b"url(" in lower and _STYLED.search(lower) is not None


def read_shapes(reader: ElementReader[Any], elements: Iterable[Attributes], /) -> None:
    """Read the presentation attributes of elements of SVG that begin with `url(`."""
    for attributes in elements:
        for name in _STYLES:
            value = attributes.get(name)
            if value and value.lstrip("\t\n\f\r ")[:4].lower() == "url(":
                reader.inline_style(value)


def may_link_formulas(lower: bytes, /) -> bool:
    """Whether elements of MathML may be links."""
    return b"<math" in lower and b"href" in lower


def read_formulas(
    reader: ElementReader[Any], elements: Iterable[tuple[str, Attributes]], read: Collection[str], /
) -> None:
    """Read the `href` of elements of MathML, which come with their names. Those in `read` are read elsewhere."""
    for tag, attributes in elements:
        if tag not in read:
            reader.add(attributes.get("href"), LinkKind.LINK)
