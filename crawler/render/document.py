"""Takes the document of a page from its browser."""

from importlib.resources import files
from typing import Final

import msgspec

from crawler.render.devtools import Call

_PIECE_CHARACTERS: Final = 1_000_000
"""The document is transferred in pieces of this size: at most 6 MB as JSON."""
_DOCUMENT: Final = files("crawler.render").joinpath("document.js").read_text(encoding="utf-8")
_PIECE: Final = """(from, length) => {
    const past = (at) => at > 0 && (kept.charCodeAt(at - 1) & 0xfc00) === 0xd800 ? at + 1 : at;
    return kept.slice(past(from), past(from + length));
}"""
"""A pair of surrogates at the end of a piece belongs to it: half of one is no valid JSON."""


class ShadowLink(msgspec.Struct, frozen=True):
    """A link in a shadow tree."""

    href: str
    kind: str
    text: str = ""
    rel: str = ""


class Document(msgspec.Struct, frozen=True):
    """What a page is now."""

    text: bytes
    """In UTF-8."""
    is_cut: bool
    is_broken: bool
    """Whether it is XHTML that the browser could not read to its end."""
    links: list[ShadowLink]
    """Those that are not in the text."""


class _Summary(msgspec.Struct, frozen=True):
    characters: int
    cut: bool
    broken: bool
    links: list[ShadowLink]


async def read_document(call: Call, url: str, *, max_bytes: int, max_links: int) -> Document:
    """The document of the page with that URL. `call` must call all functions in the same isolated world."""
    summary = msgspec.convert(await call(_DOCUMENT, url, max_bytes, max_links), _Summary)
    starts = range(0, summary.characters, _PIECE_CHARACTERS)
    pieces = [await call(_PIECE, start, _PIECE_CHARACTERS) for start in starts]
    text = "".join(pieces).encode("utf-8", "replace")
    if len(text) > max_bytes:
        return Document(text[:max_bytes].decode("utf-8", "ignore").encode(), True, summary.broken, summary.links)
    return Document(text, summary.cut, summary.broken, summary.links)
