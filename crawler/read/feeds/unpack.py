"""Decompresses sitemaps piece by piece, so that they never lie in memory as a whole."""

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

MAX_SITEMAP_BYTES: Final = 50_000_000
"""Limit after decompression, by the sitemap protocol; the rest is ignored."""
PIECE_BYTES: Final = 1 << 16
_PART_BYTES: Final = 1 << 12
"""How much goes in at a time: if a part is damaged, all of it is lost."""
_MAX_MEMBERS: Final = 10_000


class GzipPieces:
    """The contents of a gzip file, up to `MAX_SITEMAP_BYTES`, and up to the damage if it is broken. Each piece but the
    last has at least `PIECE_BYTES`. Can be iterated over once."""

    def __init__(self, compressed: Iterable[bytes], /) -> None:
        self.trouble: str | None = None
        """After the iteration: why contents are missing, if any are."""
        self._compressed = compressed

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
        decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
        remaining = MAX_SITEMAP_BYTES
        members = 0
        in_member = False
        for input_part in _parts(self._compressed):
            part = input_part
            while part:
                try:
                    piece = decoder.decompress(part, min(PIECE_BYTES, remaining) or 1)
                except zlib.error as error:
                    # Bytes after the last member are padding.
                    if in_member or not members:
                        self.trouble = f"its compressed data is damaged: {error}"
                    return
                if remaining < len(piece):
                    self.trouble = f"decompresses to more than {MAX_SITEMAP_BYTES} bytes; the rest is not read"
                    return
                in_member = True
                remaining -= len(piece)
                yield piece
                part = decoder.unconsumed_tail
                if decoder.eof:
                    part = decoder.unused_data
                    decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
                    in_member = False
                    members += 1
                    if members == _MAX_MEMBERS:
                        self.trouble = f"has {_MAX_MEMBERS} compressed members or more; the rest is not read"
                        return
        if in_member:
            self.trouble = "its compressed data ends in the middle"


def _parts(compressed: Iterable[bytes]) -> Iterator[bytes]:
    for piece in compressed:
        view = memoryview(piece)
        for at in range(0, len(piece), _PART_BYTES):
            yield bytes(view[at : at + _PART_BYTES])
