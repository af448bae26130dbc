"""Writes one WARC record as one gzip member. Pure.

A body of megabytes is never copied as a whole: it is compressed piece by piece, and stays in pieces. Levels 1 to 3 are
those of ISA-L: on pages of documentation, level 3 takes a quarter of the time of zlib's level 6, and 15 % more space.
Levels 4 to 9 are those of zlib.
"""

import re
import uuid
import zlib
from collections.abc import Iterable
from typing import Final

from isal import isal_zlib

from crawler.page import body_digest

_GZIP: Final = 16 + zlib.MAX_WBITS
_PIECE_BYTES: Final = 1 << 20
_LINE_BREAKS: Final = re.compile(r"[\r\n]+[ \t]*")

Field = tuple[str, str]


def member(kind: str, fields: Iterable[Field], *block: bytes, level: int, urn: str | None = None) -> list[bytes]:
    """One WARC record as one gzip member. The result and `block` are in pieces."""
    lines = [
        "WARC/1.1",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:{urn or f'uuid:{uuid.uuid4()}'}>",
        *[f"{name}: {value}" for name, value in fields],
        f"Content-Length: {sum(map(len, block))}",
        f"WARC-Block-Digest: {body_digest(*block)}",
        "\r\n",
    ]
    head = "\r\n".join(lines)
    if head.count("\n") != len(lines) or head.count("\r") != len(lines):  # a value must not begin a field of its own
        head = "\r\n".join([_LINE_BREAKS.sub(" ", line) for line in lines[:-1]] + lines[-1:])
    return _compress([head.encode("utf-8", "replace"), *block, b"\r\n\r\n"], level)


def _compress(parts: list[bytes], level: int) -> list[bytes]:
    fast = level <= isal_zlib.ISAL_BEST_COMPRESSION
    if sum(map(len, parts)) <= _PIECE_BYTES:
        record = b"".join(parts)
        return [isal_zlib.compress(record, level, wbits=_GZIP) if fast else zlib.compress(record, level, wbits=_GZIP)]
    compressor = isal_zlib.compressobj(level, wbits=_GZIP) if fast else zlib.compressobj(level, wbits=_GZIP)
    compressed = [
        compressor.compress(memoryview(part)[at : at + _PIECE_BYTES])
        for part in parts
        for at in range(0, len(part), _PIECE_BYTES)
    ]
    compressed.append(compressor.flush())
    return [piece for piece in compressed if piece]
