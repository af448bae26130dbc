"""Writes one WARC record as one gzip member. Pure.

`_warc_members`, compiled C, writes the texts: a page has three records.

A body of megabytes is never copied as a whole: it is compressed piece by piece, and stays in pieces. Levels 1 to 3 are
those of ISA-L: on pages of documentation, level 2 takes half the time of level 3 and 2 to 4 % more space, and level 3 a
quarter of the time of zlib's level 6 and 15 % more space. Levels 4 to 9 are those of zlib.
"""

import hashlib
import os
import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import count
from string import hexdigits
from typing import Final, Protocol

from isal import isal_zlib

from crawler.page import body_digest, digest_text

try:
    from crawler.write import _warc_members as compiled
except ImportError:
    IS_COMPILED = False  # the extension is optional
else:
    IS_COMPILED = getattr(compiled, "VERSION", 0) == 4  # False if it was compiled from older code

_GZIP: Final = 16 + zlib.MAX_WBITS
_PIECE_BYTES: Final = 1 << 20
_LINE_BREAKS: Final = re.compile(rb"[\r\n]+[ \t]*")
_END: Final = b"\r\n\r\n"
_sha1: Final = partial(hashlib.sha1, usedforsecurity=False)
_FAST: Final = range(1, isal_zlib.ISAL_BEST_COMPRESSION + 1)
_COMPRESS: Final = {
    level: partial(isal_zlib.compress if level in _FAST else zlib.compress, level=level, wbits=_GZIP)
    for level in range(1, 10)
}
"""By level."""

Value = str | bytes | int | None
"""Text, bytes that stay as they are, a number, or nothing."""
Field = tuple[str | bytes, Value]
"""A name and its value."""


class Hash(Protocol):
    """What `hashlib` makes."""

    def digest(self) -> bytes: ...


def lines_in_python(first: Value, fields: Iterable[Field], /) -> bytes:
    """A first line, and a line `name: value` for each field, with their ends. What is None is left out. A value must
    not begin a field of its own, so each is made one line."""
    written = [] if first is None else [_encoded(first)]
    written += [b"%b: %b" % (_encoded(name), _encoded(value)) for name, value in fields if value is not None]
    return b"".join([_LINE_BREAKS.sub(b" ", line) + b"\r\n" for line in written])


def _encoded(value: str | bytes | int) -> bytes:
    if isinstance(value, int):
        return b"%d" % value
    return encoded(value) if isinstance(value, str) else value


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def member(kind: str, urn: str, common: bytes, fields: Iterable[Field], *block: bytes, level: int) -> list[bytes]:
    """One WARC record as one gzip member. `common` are headers that it shares with others, as `lines` makes them, and
    `fields` its own. The result and `block` are in pieces."""
    size = sum(map(len, block))
    if size > _PIECE_BYTES:
        head = _head(kind, urn, common + lines(None, fields), size, body_digest(*block))
        return _compress_in_pieces((head, *block, _END), level)
    return [_COMPRESS[level](record(_sha1, kind, urn, common, fields, block))]


def record_in_python(
    sha1: Callable[[bytes], Hash],
    kind: str,
    urn: str,
    common: bytes,
    fields: Iterable[Field],
    block: tuple[bytes, ...],
    /,
) -> bytes:
    """One record, not compressed."""
    content = b"".join(block)
    headers = common + lines_in_python(None, fields)
    return _head(kind, urn, headers, len(content), digest_text(sha1(content).digest())) + content + _END


def _head(kind: str, urn: str, headers: bytes, size: int, digest: str) -> bytes:
    first = f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:{urn}>\r\n"
    last = f"Content-Length: {size}\r\nWARC-Block-Digest: {digest}\r\n\r\n"
    return first.encode() + headers + last.encode()


lines = compiled.lines if IS_COMPILED else lines_in_python  # type: ignore[possibly-undefined]
record = compiled.record if IS_COMPILED else record_in_python


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
        return list(map(most.__add__, hexdigits[:wanted]))


def _compress_in_pieces(parts: Sequence[bytes], level: int) -> list[bytes]:
    compressor = isal_zlib.compressobj(level, wbits=_GZIP) if level in _FAST else zlib.compressobj(level, wbits=_GZIP)
    compressed = [
        compressor.compress(memoryview(part)[at : at + _PIECE_BYTES])
        for part in parts
        for at in range(0, len(part), _PIECE_BYTES)
    ]
    compressed.append(compressor.flush())
    return [piece for piece in compressed if piece]
