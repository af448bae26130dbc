"""Reads XML elements without their name spaces, because many documents get these wrong."""

from collections.abc import Iterator
from typing import cast

import lxml.etree

from crawler.page import Link, LinkKind


def local_name(element: lxml.etree._Element, /) -> str:
    """The name in lower case, without its name space or an undeclared prefix."""
    tag = element.tag
    return tag.rpartition("}")[2].rpartition(":")[2].lower() if isinstance(cast(object, tag), str) else ""


def text_of(element: lxml.etree._Element, /) -> str:
    """The URL in an element. Empty if it contains an unresolved reference, because half a URL is useless."""
    for child in element:
        if not isinstance(cast(object, child.tag), str):
            return ""
    return (element.text or "").strip()


def link_to(href: str | None, kind: LinkKind, /, *, rel: str = "") -> Iterator[Link]:
    """One link; none for an empty href."""
    href = (href or "").strip()
    if href:
        yield Link(href, kind, "", rel.lower())
