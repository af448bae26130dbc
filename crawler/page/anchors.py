"""The anchors of a page, to which links with a fragment lead. Pure.

A page may have thousands, so each is kept as a hash of four bytes. A fragment that leads nowhere passes for a good one
if it has the hash of an anchor of the page: on a page of a thousand anchors, one of four million.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote
from zlib import crc32

_BYTES: Final = 4
_DIRECTIVE: Final = ":~:"
"""Begins a part of the fragment that is for the browser, such as the text to scroll to."""


def packed(names: Iterable[str]) -> str:
    """The names of anchors as a record has them: sorted hashes in base64."""
    hashes = sorted({_hash(name) for name in names})
    return b64encode(b"".join(each.to_bytes(_BYTES, "big") for each in hashes)).decode()


class Anchors:
    """The anchors of a page, as its record has them."""

    def __init__(self, text: str) -> None:
        """What is no base64 has no anchors."""
        try:
            content = b64decode(text, validate=True)
        except ValueError:
            content = b""
        self._hashes = {int.from_bytes(content[at : at + _BYTES], "big") for at in range(0, len(content), _BYTES)}

    def have(self, fragment: str) -> bool:
        """Whether a fragment, without its #, leads to the page or to a part of it that is there."""
        name = fragment.partition(_DIRECTIVE)[0]
        if not name or name.lower() == "top":
            return True
        return _hash(name) in self._hashes or _hash(unquote(name)) in self._hashes


def _hash(name: str) -> int:
    return crc32(name.encode("utf-8", "surrogatepass"))
