"""Sitemaps that are kept compressed: unpacked in pieces, so that they never lie in memory whole."""

import zlib
from collections.abc import Iterator
from typing import Final

MAX_SITEMAP_BYTES: Final = 50_000_000
"""Unpacked, by the sitemap protocol; what follows is ignored."""
PIECE_BYTES: Final = 1 << 16
_PART_BYTES: Final = 1 << 12
"""How much goes in at a time: of a part with damage in it nothing is had."""
_MAX_MEMBERS: Final = 10_000


def unpacked(body: bytes, /) -> Iterator[bytes]:
    """What a gzip file holds, in pieces of at least `PIECE_BYTES` but for the last, up to `MAX_SITEMAP_BYTES`; of a
    broken one what comes before the damage."""
    gathered = bytearray()
    for piece in _members(body):
        gathered += piece
        if len(gathered) >= PIECE_BYTES:
            yield bytes(gathered)
            gathered.clear()
    if gathered:
        yield bytes(gathered)


def _members(body: bytes) -> Iterator[bytes]:
    view = memoryview(body)
    position = 0
    left = MAX_SITEMAP_BYTES
    for _ in range(_MAX_MEMBERS):
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not unpacker.eof:
            part: bytes | memoryview = unpacker.unconsumed_tail
            if not part:
                part = view[position : position + _PART_BYTES]
                position += len(part)
            if not part or left <= 0:
                return
            try:
                piece = unpacker.decompress(part, min(PIECE_BYTES, left))
            except zlib.error:
                return
            left -= len(piece)
            yield piece
        position -= len(unpacker.unused_data)
