"""Decodes Content-Encoding within limits. Pure.

A few kilobytes can expand to gigabytes, so every decoder returns limited pieces, and we stop at the limit. We accept
the same errors as browsers: garbage after the end of the stream, a missing checksum, raw deflate, an unknown coding. Of
a stream without an end, we return what there is, marked as unfinished.

Most bodies are one whole stream. ISA-L decodes these, in half the time of zlib: 240 KB in 0.17 ms instead of 0.38. All
others are left to zlib, which tells us how far they can be read.
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from itertools import chain

import brotli
import msgspec
from backports import zstd
from isal import isal_zlib

_PIECE_BYTES = 256 * 1024
"""Output of a decoder at a time."""
_PART_BYTES = 32 * 1024
"""Input of a decoder at a time. The unused rest is copied at the end of each member."""
_MAX_MEMBERS = 10_000
_MAX_CODINGS = 4
_MAX_ZSTD_WINDOW_LOG = 23
"""8 MB, which RFC 9659 requires of decoders for Content-Encoding."""
_ZSTD_OPTIONS = {int(zstd.DecompressionParameter.window_log_max): _MAX_ZSTD_WINDOW_LOG}
_RATIO_COUNTS_FROM_BYTES = 1 << 20
"""Below this size any ratio is allowed: pages of a few repeated lines compress well."""


class Decoded(msgspec.Struct, frozen=True):
    """A decoded body."""

    body: bytes
    truncated: bool = False
    """Cut at the limit."""
    error: str | None = None
    """Why the rest could not be decoded."""
    unfinished: bool = False
    """The stream has no errors, but also no end."""


class _Unfinished(Exception):
    """A stream ends before its end."""


class _TooManyMembers(Exception):
    """A stream has more than `_MAX_MEMBERS`."""


def codings(content_encoding: str, /) -> list[str]:
    """The known codings of a Content-Encoding header, the last one first. Unknown ones are ignored."""
    named = [token.strip().lower() for token in content_encoding.split(",")]
    return [name for name in reversed(named) if name in _DECODERS]


def decode(raw: bytes, applied: list[str], /, *, max_bytes: int, max_ratio: float) -> Decoded:
    """Decode the codings `applied`, a result of `codings`.

    The result is cut at `max_bytes`, and beyond a megabyte also at `max_ratio` times the size of `raw`. Never raises,
    whatever `raw` contains.
    """
    if len(applied) > _MAX_CODINGS:
        return Decoded(b"", error=f"{len(applied)} content codings, at most {_MAX_CODINGS} are undone")
    limit = min(max_bytes, max(_RATIO_COUNTS_FROM_BYTES, int(len(raw) * max_ratio)))
    decoded = Decoded(raw)
    for name in applied:
        inner = _whole(name, decoded.body, limit) or _collect(name, _DECODERS[name](decoded.body), limit)
        decoded = Decoded(
            inner.body,
            decoded.truncated or inner.truncated,
            decoded.error or inner.error,
            decoded.unfinished or inner.unfinished,
        )
    return decoded


def _whole(name: str, raw: bytes, limit: int) -> Decoded | None:
    """Decode a body that is one stream without faults, and nothing else. None for all others."""
    wbits = _WBITS.get(name)
    # ISA-L ignores the reserved flags of gzip.
    if wbits is None or (wbits > 15 and raw[3:4] > b"\x1f"):
        return None
    decoder = isal_zlib.decompressobj(wbits)
    try:
        body = decoder.decompress(raw, limit + 1)
    except _IsalError:
        return None
    if len(body) > limit:
        return Decoded(body[:limit], truncated=True)
    return Decoded(body) if decoder.eof and not decoder.unused_data else None


def _collect(name: str, pieces: Iterator[bytes], limit: int) -> Decoded:
    # A joined list would need all of it twice.
    collected = BytesIO()
    error, unfinished = None, False
    try:
        for piece in pieces:
            collected.write(piece)
            if collected.tell() > limit:
                collected.truncate(limit)
                return Decoded(collected.getvalue(), truncated=True)
    except _Unfinished:
        unfinished = True
    except _TooManyMembers:
        error = f"more than {_MAX_MEMBERS} members of {name}"
    except (zlib.error, brotli.error, zstd.ZstdError):
        error = f"not {name}" if not collected.tell() else f"damage in the {name}"
    return Decoded(collected.getvalue(), error=error, unfinished=unfinished)


def _inflate(raw: bytes, wbits: int) -> Iterator[bytes]:
    """Decode the stream, and further members of gzip. Other data after the end is garbage."""
    view = memoryview(raw)
    position = members = 0
    while position < len(view) and members < _MAX_MEMBERS:
        if members and not (wbits > 15 and _GZIP_MAGIC.startswith(view[position : position + 2])):
            return
        decoder = zlib.decompressobj(wbits)
        try:
            while not decoder.eof and position < len(view):
                part = view[position : position + _PART_BYTES]
                position += len(part)
                before = decoder.copy()
                try:
                    piece = decoder.decompress(part, _PIECE_BYTES)
                except zlib.error:
                    # zlib returns nothing of a damaged part, not even if only the checksum at its end is wrong.
                    yield from _up_to_damage(before, part)
                    raise
                yield piece
                # After the end, `unconsumed_tail` repeats what is in `unused_data`.
                while decoder.unconsumed_tail and not decoder.eof:
                    yield decoder.decompress(decoder.unconsumed_tail, _PIECE_BYTES)
            yield decoder.flush()
        except zlib.error:
            if members == 0:
                raise
            return
        if not decoder.eof and not (wbits > 0 and _lacks_only_checksum(decoder)):
            raise _Unfinished
        position -= len(decoder.unused_data)
        members += 1
    if position < len(view):
        raise _TooManyMembers


def _lacks_only_checksum(decoder: "zlib._Decompress") -> bool:
    """Whether all data is there, and only the checksum after it is missing. If we feed zeros, zlib complains about the
    checksum within four bytes, which are too few to end a block first."""
    guess = decoder.copy()
    try:
        guess.decompress(bytes(4))
    except zlib.error as error:
        return str(error).endswith(("incorrect data check", "incorrect length check"))
    return guess.eof


def _up_to_damage(decoder: "zlib._Decompress", part: memoryview) -> Iterator[bytes]:
    with suppress(zlib.error):
        for at in range(len(part)):
            yield decoder.decompress(part[at : at + 1], _PIECE_BYTES)


_GZIP_MAGIC = b"\x1f\x8b"
_WBITS = {"gzip": 31, "x-gzip": 31, "deflate": 15, "x-deflate": 15}
_IsalError: type[Exception] = isal_zlib.error  # type: ignore[assignment] # its stub takes the class for an instance


def _gzip(raw: bytes) -> Iterator[bytes]:
    """As curl and wget2, we accept zlib too: PHP's gzcompress writes it, whatever its name says."""
    return _inflate(raw, 15 if _is_zlib(raw) else 31)


def _deflate(raw: bytes) -> Iterator[bytes]:
    """RFC 9110 requires zlib, but many servers send raw deflate."""
    return _inflate(raw, 15 if _is_zlib(raw) else -15)


def _is_zlib(raw: bytes) -> bool:
    """Whether the first two bytes are those of zlib (RFC 1950, section 2.2)."""
    return len(raw) >= 2 and raw[0] & 0x0F == 8 and int.from_bytes(raw[:2]) % 31 == 0


def _br(raw: bytes) -> Iterator[bytes]:
    """Decode one stream. What follows it is garbage after the end."""
    view = memoryview(raw)
    decoder = brotli.Decompressor()
    size = position = 0
    try:
        while position < len(view) and not decoder.is_finished():
            for piece in _expand(decoder, view[position : position + _PART_BYTES]):
                size += len(piece)
                yield piece
            position += _PART_BYTES
    except brotli.error:
        # The decoder returns nothing of a part that has garbage or damage in it, and can't be copied as zlib's can.
        for piece in _br_up_to_damage(view, position):
            yield piece[size:]
            size -= min(size, len(piece))
    else:
        if raw and not decoder.is_finished():
            raise _Unfinished


def _br_up_to_damage(view: memoryview, sound: int) -> Iterator[bytes]:
    """Decode a stream that has damage, or garbage after its end, in the part behind the first `sound` bytes."""
    decoder = brotli.Decompressor()
    is_empty = True
    bytes_of_part = (view[at : at + 1] for at in range(sound, min(sound + _PART_BYTES, len(view))))
    for part in chain((view[:sound],), bytes_of_part):
        for piece in _expand(decoder, part):
            is_empty = False
            yield piece
        if decoder.is_finished():
            break
    if is_empty:  # some texts begin with a byte that is an empty stream
        raise brotli.error


def _expand(decoder: brotli.Decompressor, part: memoryview) -> Iterator[bytes]:
    piece = decoder.process(part, output_buffer_limit=_PIECE_BYTES)
    while piece:
        yield piece
        piece = b"" if decoder.is_finished() else decoder.process(b"", output_buffer_limit=_PIECE_BYTES)


def _zstd(raw: bytes) -> Iterator[bytes]:
    """Decode one frame after the other. After the first, data that is not a frame is garbage after the end."""
    view = memoryview(raw)
    position = frames = 0
    while position < len(view) and frames < _MAX_MEMBERS:
        decoder = zstd.ZstdDecompressor(options=_ZSTD_OPTIONS)
        try:
            while not decoder.eof and position < len(view):
                part = view[position : position + _PART_BYTES]
                position += len(part)
                yield decoder.decompress(part, _PIECE_BYTES)
                while not decoder.needs_input and not decoder.eof:
                    yield decoder.decompress(b"", _PIECE_BYTES)
        except zstd.ZstdError:
            if frames == 0:
                raise
            return
        if not decoder.eof:
            raise _Unfinished
        position -= len(decoder.unused_data)
        frames += 1
    if position < len(view):
        raise _TooManyMembers


_DECODERS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "x-deflate": _deflate,
    "br": _br,
    "zstd": _zstd,
}

ACCEPTED = "gzip, deflate, br, zstd"
"""The value of Accept-Encoding."""
