"""Resolves links against the `xml:base` of a feed's elements (RFC 4287, section 2)."""

from collections.abc import Iterable, Iterator
from typing import Final

import lxml.etree
import msgspec

from crawler.page import Link
from crawler.url.urls import MAX_URL_LENGTH, join

_BASE: Final = "{http://www.w3.org/XML/1998/namespace}base"
_GROWTH: Final = 4
"""Absolute URLs may have this many times the size of the document: a long base would multiply it."""
_GROWTH_CHARACTERS: Final = 100_000


class Bases:
    """The bases of the open elements. The caller reports where each element begins and ends."""

    def __init__(self, url: str, /) -> None:
        """`url` is that of the document; if it is empty, relative bases are ignored."""
        self.open: list[tuple[lxml.etree._Element, str]] = []
        """The open elements that name a base, with that; the innermost is the last."""
        self._url = url
        self._output_characters = 0

    def begin(self, element: lxml.etree._Element, /) -> None:
        own = element.get(_BASE)
        if own is None or len(own) > MAX_URL_LENGTH:
            return
        base = join(self.open[-1][1] if self.open else self._url, own)
        if base is not None and len(base) <= MAX_URL_LENGTH:
            self.open.append((element, base))

    def end(self, element: lxml.etree._Element, /) -> None:
        if self.open and self.open[-1][0] is element:
            self.open.pop()

    def forget_elements(self) -> None:
        """The open elements are gone without an end. Only the outermost base still holds."""
        self.open = [(lxml.etree.Element("document"), base) for _, base in self.open[:1]]

    def of(self, element: lxml.etree._Element, /, *, default: str | None = None) -> str | None:
        """The base for the contents of an element within the open one; `default` if no element names a base."""
        outer = self.open[-1][1] if self.open else None
        own = element.get(_BASE)
        base = join(outer or self._url, own) if own is not None and len(own) <= MAX_URL_LENGTH else None
        if base or outer or default is None or len(default) > MAX_URL_LENGTH:
            return base or outer
        return join(self._url, default)

    def resolve(self, links: Iterable[Link], /, *, read_bytes: int, base: str | None = None) -> Iterator[Link]:
        """Make the links of an open element absolute if their base differs from that of the document. `read_bytes`: how
        much of the document was read so far."""
        base = base or (self.open[-1][1] if self.open else None)
        for link in links:
            if base is None:
                yield link
                continue
            href = join(base, link.href) or link.href
            if self._output_characters + len(href) <= _GROWTH * read_bytes + _GROWTH_CHARACTERS:
                self._output_characters += len(href)
                yield msgspec.structs.replace(link, href=href)
