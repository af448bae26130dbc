"""The bases that elements of a feed name by `xml:base`, for themselves and what is in them (RFC 4287, section 2)."""

from collections.abc import Iterable, Iterator
from typing import Final

import lxml.etree
import msgspec

from crawler.page import Link
from crawler.url.urls import MAX_URL_LENGTH, join

_BASE: Final = "{http://www.w3.org/XML/1998/namespace}base"
_GROWTH: Final = 4
"""Absolute URLs may have so many characters more than there are in the document; a long base would make many of few."""
_GROWTH_CHARACTERS: Final = 100_000


class Bases:
    """Told of each element where it begins and where it ends."""

    def __init__(self, url: str, /) -> None:
        """`url` is that of the document; without one, relative bases are none."""
        self._url = url
        self._open: list[tuple[lxml.etree._Element, str]] = []
        self._made_characters = 0

    def begin(self, element: lxml.etree._Element, /) -> None:
        own = element.get(_BASE)
        if own is None or len(own) > MAX_URL_LENGTH:
            return
        base = join(self._open[-1][1] if self._open else self._url, own)
        if base is not None and len(base) <= MAX_URL_LENGTH:
            self._open.append((element, base))

    def end(self, element: lxml.etree._Element, /) -> None:
        if self._open and self._open[-1][0] is element:
            self._open.pop()

    def of(self, element: lxml.etree._Element, /, *, otherwise: str | None = None) -> str | None:
        """The base of what is in an element within the one that is open; `otherwise` if none is named."""
        around = self._open[-1][1] if self._open else None
        own = element.get(_BASE)
        base = join(around or self._url, own) if own is not None and len(own) <= MAX_URL_LENGTH else None
        return base or around or (join(self._url, otherwise) if otherwise else None)

    def resolved(self, links: Iterable[Link], /, *, read_bytes: int, base: str | None = None) -> Iterator[Link]:
        """Links of an element that is open, absolute where they have another base than the document. `read_bytes` is
        how much of it was read."""
        base = base or (self._open[-1][1] if self._open else None)
        for link in links:
            if base is None:
                yield link
                continue
            href = join(base, link.href) or link.href
            if self._made_characters + len(href) <= _GROWTH * read_bytes + _GROWTH_CHARACTERS:
                self._made_characters += len(href)
                yield msgspec.structs.replace(link, href=href)
