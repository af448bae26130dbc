"""Reads XML elements without their name spaces, because many documents get these wrong."""

from functools import lru_cache
from typing import Final

import lxml.etree

_LONGEST_REMEMBERED: Final = 200
"""Characters of a name with its name space."""
_CDATA: Final = "<![CDATA["
_CDATA_END: Final = "]]>"


def local_name(element: lxml.etree._Element, /) -> str:
    """The name in lower case, without its name space or an undeclared prefix."""
    tag: object = element.tag
    return name_of(tag) if isinstance(tag, str) else ""


def name_of(tag: str, /) -> str:
    """The local name by the tag of an element. Only what is no element, such as a reference, has no text as its tag."""
    return _known_local_name(tag) if len(tag) <= _LONGEST_REMEMBERED else _local_name(tag)


def _local_name(tag: str) -> str:
    return tag.rpartition("}")[2].rpartition(":")[2].lower()


# A sitemap has a handful of names, and asks for each of them several times for each URL.
_known_local_name = lru_cache(maxsize=256)(_local_name)


def text_of(element: lxml.etree._Element, /) -> str:
    """The URL in an element, also in a CDATA section whose marks were escaped, as by a generator that escapes twice.
    Empty if it contains an unresolved reference, because half a URL is useless."""
    for child in element:
        tag: object = child.tag
        if not isinstance(tag, str):
            return ""
    text = (element.text or "").strip()
    is_escaped = text.startswith(_CDATA) and text.endswith(_CDATA_END)
    return text[len(_CDATA) : -len(_CDATA_END)].strip() if is_escaped else text
