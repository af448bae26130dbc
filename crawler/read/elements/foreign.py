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
_URL: Final = re.compile(rb"url\((?>(?:[\t\n\f\r \"']|&quot;|&#3[49];)*)(?!#)")
_BEFORE_URL: Final = re.compile(rb"(?:%b)[\t\n\f\r ]*=[\t\n\f\r ]*[\"']?[\t\n\f\r ]*\Z" % "|".join(_STYLES).encode())
_LONGEST_BEFORE: Final = 40


def may_style_shapes(lower: bytes, /) -> bool:
    """Whether elements of SVG may have presentation attributes with a URL outside of the page. `lower` is the page in
    lower case."""
    return b"<svg" in lower and any(
        _BEFORE_URL.search(lower, max(0, found.start() - _LONGEST_BEFORE), found.start())
        for found in _URL.finditer(lower)
    )


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
