"""Undoing Content-Encoding within limits. Pure.

A few kilobytes can unfold into gigabytes, so every decoder is asked for a bounded piece at a time, and stops at the
limit with what it has. What servers get wrong and browsers forgive is forgiven: rubbish behind the end of the stream,
a missing end, raw deflate, an unknown coding.
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO

import brotli
import msgspec
import zstandard

_PIECE_BYTES = 256 * 1024
"""How much may come out at a time."""
_PART_BYTES = 32 * 1024
"""How much goes in at a time: what is left over is copied at the end of each member."""
_MAX_MEMBERS = 10_000
_MAX_CODINGS = 4
_MAX_ZSTD_WINDOW_BYTES = 8 << 20
"""What RFC 9659 asks decoders of Content-Encoding to support, and not more."""
_RATIO_COUNTS_FROM_BYTES = 1 << 20
"""Below this size a body may be as well compressed as it likes: pages of a few repeated lines are."""


class Decoded(msgspec.Struct, frozen=True):
    """What came out of a coded body."""

    body: bytes
    truncated: bool = False
    """Over the limit."""
    error: str | None = None
    """Why the rest could not be decoded; `body` is what came before."""


def codings(content_encoding: str, /) -> list[str]:
    """The codings that were applied and can be undone, the last one first; those nobody knows count as none."""
    named = [token.strip().lower() for token in content_encoding.split(",")]
    return [name for name in reversed(named) if name in _DECODERS]


def decode(raw: bytes, applied: list[str], /, *, max_bytes: int, max_ratio: float) -> Decoded:
    """Undo the codings `applied`, as `codings` gives them.

    The result has at most `max_bytes`, and is cut where it unfolds to more than `max_ratio` times `raw`, once that is
    over a megabyte. Raises nothing for what `raw` contains.
    """
    if len(applied) > _MAX_CODINGS:
        return Decoded(b"", error=f"{len(applied)} content codings, at most {_MAX_CODINGS} are undone")
    limit = min(max_bytes, max(_RATIO_COUNTS_FROM_BYTES, int(len(raw) * max_ratio)))
    body, truncated, error = raw, False, None
    for name in applied:
        body, cut, failed = _collect(_DECODERS[name](body), limit)
        truncated = truncated or cut
        error = error or failed
    return Decoded(body, truncated, error)


def _collect(pieces: Iterator[bytes], limit: int) -> tuple[bytes, bool, str | None]:
    # Unlike a list that is joined, it never holds everything twice.
    collected = BytesIO()
    try:
        for piece in pieces:
            collected.write(piece)
            if collected.tell() > limit:
                collected.truncate(limit)
                return collected.getvalue(), True, None
    except (zlib.error, brotli.error, zstandard.ZstdError) as error:
        return collected.getvalue(), False, str(error)
    return collected.getvalue(), False, None


def _inflate(raw: bytes, wbits: int) -> Iterator[bytes]:
    """Members one after the other; what does not begin a member, after the first, is rubbish behind the end."""
    view = memoryview(raw)
    position = members = 0
    while position < len(view) and members < _MAX_MEMBERS:
        decoder = zlib.decompressobj(wbits)
        try:
            while not decoder.eof and position < len(view):
                part = view[position : position + _PART_BYTES]
                position += len(part)
                before = decoder.copy()
                try:
                    piece = decoder.decompress(part, _PIECE_BYTES)
                except zlib.error:
                    # zlib keeps to itself what it had of a part with damage in it, as is a wrong sum at the end of all.
                    yield from _up_to_damage(before, part)
                    raise
                yield piece
                # Once at the end, zlib leaves in `unconsumed_tail` what is also in `unused_data`.
                while decoder.unconsumed_tail and not decoder.eof:
                    yield decoder.decompress(decoder.unconsumed_tail, _PIECE_BYTES)
            yield decoder.flush()
        except zlib.error:
            if members == 0:
                raise
            return
        position -= len(decoder.unused_data)
        members += 1
    if position < len(view):
        raise zlib.error(f"more than {_MAX_MEMBERS} members")


def _up_to_damage(decoder: "zlib._Decompress", part: memoryview) -> Iterator[bytes]:
    with suppress(zlib.error):
        for at in range(len(part)):
            yield decoder.decompress(part[at : at + 1], _PIECE_BYTES)


def _gzip(raw: bytes) -> Iterator[bytes]:
    return _inflate(raw, 31)


def _deflate(raw: bytes) -> Iterator[bytes]:
    """RFC 9110 says zlib, many servers send raw deflate; the first two bytes tell (RFC 1950, section 2.2)."""
    wrapped = len(raw) >= 2 and raw[0] & 0x0F == 8 and int.from_bytes(raw[:2]) % 31 == 0
    return _inflate(raw, 15 if wrapped else -15)


def _br(raw: bytes) -> Iterator[bytes]:
    decoder = brotli.Decompressor()
    piece = decoder.process(raw, output_buffer_limit=_PIECE_BYTES)
    while piece:
        yield piece
        piece = b"" if decoder.is_finished() else decoder.process(b"", output_buffer_limit=_PIECE_BYTES)


def _zstd(raw: bytes) -> Iterator[bytes]:
    decoder = zstandard.ZstdDecompressor(max_window_size=_MAX_ZSTD_WINDOW_BYTES)
    with decoder.stream_reader(BytesIO(raw), read_across_frames=True) as reader:
        while piece := reader.read(_PIECE_BYTES):
            yield piece


_DECODERS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "x-deflate": _deflate,
    "br": _br,
    "zstd": _zstd,
}

ACCEPTED = "gzip, deflate, br, zstd"
"""For Accept-Encoding."""
