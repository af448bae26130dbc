"""Sitemaps that are kept compressed: unpacked in pieces, so that they never lie in memory whole."""

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

MAX_SITEMAP_BYTES: Final = 50_000_000
"""Unpacked, by the sitemap protocol; what follows is ignored."""
PIECE_BYTES: Final = 1 << 16
_PART_BYTES: Final = 1 << 12
"""How much goes in at a time: of a part with damage in it nothing is had."""
_MAX_MEMBERS: Final = 10_000


class Unpacked:
    """What a gzip file holds, in pieces of at least `PIECE_BYTES` but for the last, up to `MAX_SITEMAP_BYTES`; of a
    broken one what comes before the damage. Can be gone through once."""

    def __init__(self, packed: Iterable[bytes], /) -> None:
        self.trouble: str | None = None
        """Why there is no more, once all was given, if there should be."""
        self._packed = packed

    def __iter__(self) -> Iterator[bytes]:
        gathered = bytearray()
        for piece in self._members():
            gathered += piece
            if len(gathered) >= PIECE_BYTES:
                yield bytes(gathered)
                gathered.clear()
        if gathered:
            yield bytes(gathered)

    def _members(self) -> Iterator[bytes]:
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        left = MAX_SITEMAP_BYTES
        members = 0
        begun = False
        for given in _parts(self._packed):
            part = given
            while part:
                try:
                    piece = unpacker.decompress(part, min(PIECE_BYTES, left) or 1)
                except zlib.error as error:
                    # What is no member behind the last one is padding.
                    if begun or not members:
                        self.trouble = f"its compressed data is damaged: {error}"
                    return
                if left < len(piece):
                    self.trouble = f"unpacks to more than {MAX_SITEMAP_BYTES} bytes, of which the rest is not read"
                    return
                begun = True
                left -= len(piece)
                yield piece
                part = unpacker.unconsumed_tail
                if unpacker.eof:
                    part = unpacker.unused_data
                    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
                    begun = False
                    members += 1
                    if members == _MAX_MEMBERS:
                        self.trouble = f"has {_MAX_MEMBERS} compressed members or more, of which the rest is not read"
                        return
        if begun:
            self.trouble = "its compressed data ends in the middle"


def _parts(packed: Iterable[bytes]) -> Iterator[bytes]:
    for piece in packed:
        view = memoryview(piece)
        for at in range(0, len(piece), _PART_BYTES):
            yield bytes(view[at : at + _PART_BYTES])
