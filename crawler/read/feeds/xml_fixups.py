"""XML as it is written, mended so that a parser reads it to its end.

A parser of XML must stop at the first mistake, and many sitemaps and feeds have one: text before the document, an `&`
in a URL, a second document behind the first, an end tag too many. Their authors test them with readers that bear it.
"""

import re
from collections.abc import Iterable, Iterator
from html.entities import html5
from itertools import chain
from typing import Final

from crawler.read.feeds.xml_prolog import (
    MAX_PROLOG_BYTES,
    READABLE,
    Entities,
    find_root,
)

_OTHER_AMPERSAND: Final = re.compile(
    rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});)(?:([A-Za-z_][A-Za-z0-9_.-]{0,31});)?"
)
"""What begins no reference that XML knows, and the name behind it."""
_TORN: Final = re.compile(rb"(?:&[#0-9A-Za-z_.-]{0,33}|<(?:!(?:\[(?:C(?:D(?:A(?:TA?)?)?)?)?)?)?|\]{1,2})\Z")
"""The end of a piece that may mean something else with what follows."""
_MAX_TORN_BYTES: Final = 40
_CHUNK_BYTES: Final = 1 << 16
_NEXT_PROLOG: Final = re.compile(rb"<\?xml[^<>]*\?>|<!DOCTYPE[^\[<>]*(?:\[[^\]]*\]\s*)?>")
"""What no parser bears within a document."""
_ROOT_END: Final = re.compile(rb"</(?:[\w.-]+:)?(?:%b)\s*>" % b"|".join(READABLE), re.IGNORECASE)
_MAX_BEHIND_BYTES: Final = 1000
"""What generators write behind it: how long it took them."""
_GROWTH: Final = 4
"""Expanded entities may have so many bytes more than there are in the document."""
_GROWTH_BYTES: Final = 100_000


class MendedXml:
    """A document in UTF-8 from its root on, in pieces. Can be gone through once; empty if no root is there that is
    read."""

    def __init__(self, pieces: Iterable[bytes], /) -> None:
        """Asks for no more pieces than are needed."""
        self.read_bytes = 0
        self.trouble: str | None = None
        """What was left out, if anything was."""
        self.has_end = False
        """Whether the last piece ends with the end of a root, whatever is left open before it."""
        self._pieces = pieces
        self._entities = Entities(b"")
        self._made_bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        """References that only HTML or the DTD knows are such as XML knows, and each `&` that begins none is `&amp;`: a
        parser would wait for the end of the reference to the end of the document."""
        held = b""
        in_cdata = False
        for piece in chain(self._from_root(), (b"",)):
            self.read_bytes += len(piece)
            text = held + piece
            torn = _TORN.search(text, max(0, len(text) - _MAX_TORN_BYTES)) if piece else None
            held = text[torn.start() :] if torn else b""
            text = text[: torn.start()] if torn else text
            made: list[bytes] = []
            position = 0
            while position < len(text):
                mark = b"]]>" if in_cdata else b"<![CDATA["
                at = text.find(mark, position)
                part = text[position : len(text) if at < 0 else at + len(mark)]
                made.append(part if in_cdata else self._mended(part))
                position += len(part)
                in_cdata ^= at >= 0
            whole = b"".join(made)
            if whole:
                self.has_end = _ROOT_END.search(whole, max(0, len(whole) - _MAX_BEHIND_BYTES)) is not None
            yield whole

    def _from_root(self) -> Iterator[bytes]:
        """Without what stands before the root, and in pieces of a bearable size."""
        head = b""
        has_begun = False
        for given in self._pieces:
            piece, start = given, 0
            if not has_begun:
                piece = head + given
                root = find_root(piece[:MAX_PROLOG_BYTES])
                if root is None or root.name not in READABLE:
                    if len(piece) >= MAX_PROLOG_BYTES:
                        return
                    head = piece
                    continue
                has_begun = True
                start = root.at
                self._entities = Entities(root.subset)
            for at in range(start, len(piece), _CHUNK_BYTES):
                yield piece[at : at + _CHUNK_BYTES]

    def _mended(self, text: bytes) -> bytes:
        if b"<?xml" in text or b"<!DOCTYPE" in text:
            text = _NEXT_PROLOG.sub(b"", text)
        return _OTHER_AMPERSAND.sub(self._in_xml, text) if b"&" in text else text

    def _in_xml(self, found: re.Match[bytes]) -> bytes:
        name = found[1]
        if name is None:
            return b"&amp;"
        if name in self._entities:
            meaning = self._entities.meaning(name)
            self.trouble = self.trouble or self._entities.trouble
            if meaning is None:
                return found[0]
            self._made_bytes += len(meaning)
            if self._made_bytes > _GROWTH * self.read_bytes + _GROWTH_BYTES:
                self.trouble = "its entities stand for many times its size, of which the rest is not read"
                return found[0]
            return meaning
        characters = html5.get(f"{name.decode('ascii')};")
        return found[0] if characters is None else "".join(f"&#{ord(char)};" for char in characters).encode("ascii")
