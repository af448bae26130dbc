"""Elements of XML that is made for machines, looked at without their name spaces, which many get wrong."""

from collections.abc import Iterator
from typing import cast

import lxml.etree

from crawler.page import Link, LinkKind


def local_name(element: lxml.etree._Element, /) -> str:
    """The name without its name space, or without a prefix that nobody declared, in lower case."""
    tag = element.tag
    return tag.rpartition("}")[2].rpartition(":")[2].lower() if isinstance(cast(object, tag), str) else ""


def text_of(element: lxml.etree._Element, /) -> str:
    """The text of an element that holds a URL. Half a URL is none: a reference to what is not read makes it empty."""
    for child in element:
        if not isinstance(cast(object, child.tag), str):
            return ""
    return (element.text or "").strip()


def link_to(href: str | None, kind: LinkKind, /, *, rel: str = "") -> Iterator[Link]:
    """One link, or none to nothing."""
    href = (href or "").strip()
    if href:
        yield Link(href, kind, "", rel.lower())
