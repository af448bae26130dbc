"""Writes one WARC record as one gzip member. Pure.

A body of megabytes is never copied as a whole: it is compressed piece by piece, and stays in pieces. Levels 1 to 3 are
those of ISA-L: on pages of documentation, level 2 takes half the time of level 3 and 2 to 4 % more space, and level 3 a
quarter of the time of zlib's level 6 and 15 % more space. Levels 4 to 9 are those of zlib.
"""

import os
import re
import zlib
from collections.abc import Sequence
from itertools import count
from string import hexdigits
from typing import Final

from isal import isal_zlib

from crawler.page import body_digest

_GZIP: Final = 16 + zlib.MAX_WBITS
_PIECE_BYTES: Final = 1 << 20
_LINE_BREAKS: Final = re.compile(r"[\r\n]+[ \t]*")


def joined(lines: Sequence[str]) -> str:
    """The lines `name: value` with their ends. A value must not begin a field of its own, so each is made one line."""
    together = "".join(lines)
    if "\n" in together or "\r" in together:
        lines = [_LINE_BREAKS.sub(" ", line) for line in lines]
    return "\r\n".join([*lines, ""])


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def member(kind: str, lines: str, *block: bytes, level: int, urn: str) -> list[bytes]:
    """One WARC record as one gzip member. `lines` are its other headers, as `joined` makes them: most are those of
    all records of a page. The result and `block` are in pieces."""
    size = sum(map(len, block))
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:{urn}>\r\n{lines}"
        f"Content-Length: {size}\r\nWARC-Block-Digest: {body_digest(*block)}\r\n\r\n"
    )
    parts = (encoded(head), *block, b"\r\n\r\n")
    if size > _PIECE_BYTES:
        return _compress_in_pieces(parts, level)
    compress = isal_zlib.compress if level <= isal_zlib.ISAL_BEST_COMPRESSION else zlib.compress
    return [compress(b"".join(parts), level, wbits=_GZIP)]


class Urns:
    """Makes UUIDs: `uuid:…` (RFC 9562, version 8). They begin with the same 76 random bits, then they are numbered.

    What repeats takes less space: archives of pages of 8 KB are almost 2 % smaller than with random UUIDs. Several
    threads may use one of these."""

    def __init__(self) -> None:
        drawn = os.urandom(10).hex()
        self._beginning = f"uuid:{drawn[:8]}-{drawn[8:12]}-8{drawn[12:15]}-8{drawn[15:18]}-{drawn[18]}"
        self._numbers = count()
        [self.of_info] = self.draw(1)
        """That of the warcinfo record to which the others refer."""

    def draw(self, wanted: int) -> list[str]:
        """At most 16, which differ in their last digit."""
        most = f"{self._beginning}{next(self._numbers):010x}"
        return [most + digit for digit in hexdigits[:wanted]]


def _compress_in_pieces(parts: Sequence[bytes], level: int) -> list[bytes]:
    fast = level <= isal_zlib.ISAL_BEST_COMPRESSION
    compressor = isal_zlib.compressobj(level, wbits=_GZIP) if fast else zlib.compressobj(level, wbits=_GZIP)
    compressed = [
        compressor.compress(memoryview(part)[at : at + _PIECE_BYTES])
        for part in parts
        for at in range(0, len(part), _PIECE_BYTES)
    ]
    compressed.append(compressor.flush())
    return [piece for piece in compressed if piece]
