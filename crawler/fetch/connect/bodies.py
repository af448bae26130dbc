"""Bodies of responses: how they arrive, and how they ended."""

import asyncio
import re
import sys
from collections.abc import Callable, Mapping
from ssl import SSLError
from typing import Any, Final

import aiohttp
import msgspec
from aiohttp import hdrs
from aiohttp.http_parser import RawResponseMessage
from aiohttp.streams import StreamReader

from crawler.fetch.connect.response_heads import PlainHead

_HELD_BYTES: Final = 512 * 1024
"""So much of a body may wait to be read before we stop receiving it."""
MAX_OVERHEAD_BYTES: Final = 512 * 1024
_MAX_OVERHEAD_RATIO: Final = 4
"""Bytes of a response beside its body: so many, and so many more for each byte of the body."""
_MAX_INFORMATIONAL: Final = 50
"""Informational responses before the final one. Each takes much more time than its few bytes show."""
_UNKNOWN_LENGTH: Final = sys.maxsize
"""More bytes than any body has."""
MAX_HEADERS_BYTES: Final = 256 * 1024
"""All header lines together, as in Chromium."""
PARSER_OPTIONS: Final[Mapping[str, Any]] = {
    "read_until_eof": True,
    "auto_decompress": False,
    "max_line_size": 65536,
    "max_field_size": MAX_HEADERS_BYTES,
    "max_headers": 5000,
}
"""Limits of aiohttp's parser. curl accepts as many header lines, and Chromium any number. aiohttp's own limits, 8 KiB
for a line and 128 lines, refuse real sites."""
_MAX_LINE_BYTES: Final = 16 * 1024
"""The longest line between chunks, as in Chromium."""
_MAX_SIZE_DIGITS: Final = 16
_LINE_ENDS = (b"\r\n", b"\n")
_SOUND_SIZE = re.compile(rb"([0-9A-Fa-f]++)(?:[ \t]*+;[^\r\n\0]*+)?\r\n")
_SIZE = re.compile(rb"([0-9A-Fa-f]++)[ \t]*+(?:;[^\n]*+|\r)?\n")
_SIZE_BEGINS = re.compile(rb"[0-9A-Fa-f]*+[ \t]*+(?:;[^\n]*+|\r)?")
_SOUND_TRAILER = re.compile(rb"(?:[-!#$%&'*+.^_`|~0-9A-Za-z]++:[^\r\n\0]*+)?\r\n")
"""The empty line, too."""


class BodyEnd(msgspec.Struct):
    """How the body of one response ended, as its connection saw it."""

    broken: aiohttp.ClientPayloadError | None = None
    """Why the body ended early; None while there is no sign of that."""
    alert: SSLError | None = None
    """The TLS alert that ended the connection. With TLS 1.3, a server refuses a client only after the handshake."""
    by_close: bool = False
    """Only the end of the connection marks the end of the body."""
    lacks_close_notify: bool = False
    """The connection ended without the close_notify of TLS, so anybody may have ended it."""


class Overhead(msgspec.Struct):
    """What one response has beside its body."""

    received_bytes: int = 0
    """What has arrived of the response, its body included."""
    informational: int = 0
    """How many informational responses came before it."""

    def is_too_much(self, body: "StreamReader | PlainBody | None") -> bool:
        """Whether too many bytes have arrived beside the body. They have not unless `received_bytes` exceed
        `MAX_OVERHEAD_BYTES`."""
        body_bytes = 0 if body is None else body.total_bytes
        return self.received_bytes - body_bytes > MAX_OVERHEAD_BYTES + _MAX_OVERHEAD_RATIO * body_bytes

    def add_head(self) -> bool:
        """Count an informational response; returns whether there are too many."""
        self.informational += 1
        return self.informational > _MAX_INFORMATIONAL


def body_length(message: RawResponseMessage, /) -> int | None:
    """Bytes of the body behind a head that aiohttp's parser has read; None if it comes in chunks, or ends with the
    connection. A transfer coding hides the length (RFC 9112, section 6.3)."""
    length = None if hdrs.TRANSFER_ENCODING in message.headers else message.headers.get(hdrs.CONTENT_LENGTH)
    return None if length is None else int(length.lstrip("0") or "0")  # int() refuses 4300 digits, zeros or not


class PlainBody:
    """The body of a response, while it is received. It has the methods of aiohttp's streams that we use.

    Calls `pause` and `resume` when too much of it waits to be read, and when that has been read.
    """

    __slots__ = (
        "_chunks",
        "_ended",
        "_held",
        "_is_paused",
        "_on_eof",
        "_pause",
        "_resume",
        "_waiter",
        "is_whole",
        "length",
        "missing",
        "total_bytes",
    )

    def __init__(self, length: int | None, *, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self.length = length
        """Its bytes; None if only its last chunk or the end of the connection shows where it ends."""
        self.missing = _UNKNOWN_LENGTH if length is None else length
        """Bytes that have not arrived."""
        self.total_bytes = 0
        """Bytes that have arrived."""
        self.is_whole = False
        """Its last chunk has arrived, so nothing is missing but trailers."""
        self._pause = pause
        self._resume = resume
        self._chunks: list[bytes] = []
        self._held = 0
        self._is_paused = False
        self._ended = False
        self._waiter: asyncio.Future[None] | None = None
        self._on_eof: Callable[[], None] | None = None
        if length == 0:
            self._ended = True

    def is_eof(self) -> bool:
        """Whether nothing more will arrive."""
        return self._ended

    def on_eof(self, callback: Callable[[], None], /) -> None:
        """Call this when nothing more will arrive."""
        if self._ended:
            callback()
        else:
            self._on_eof = callback

    def feed(self, data: bytes, /) -> None:
        """Add data, which is not longer than what is missing."""
        self._chunks.append(data)
        size = len(data)
        self._held += size
        self.total_bytes += size
        self.missing -= size
        if not self.missing:
            self.feed_eof()
            return
        if self._held > _HELD_BYTES and not self._is_paused:
            self._is_paused = True
            self._pause()
        if self._waiter is not None:
            self._wake(self._waiter)

    def feed_eof(self) -> None:
        """End it, although data may be missing."""
        self._ended = True
        if self._waiter is not None:
            self._wake(self._waiter)
        if self._is_paused:
            self._go_on()
        callback, self._on_eof = self._on_eof, None
        if callback is not None:
            callback()

    def read_nowait(self) -> bytes:
        """What has arrived since it was read."""
        chunks, self._chunks, self._held = self._chunks, [], 0
        if self._is_paused:
            self._go_on()
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def readany(self) -> bytes:
        """Wait for data; nothing at the end."""
        while not self._chunks and not self._ended:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self.read_nowait()

    def _wake(self, waiter: asyncio.Future[None]) -> None:
        if not waiter.done():
            waiter.set_result(None)

    def _go_on(self) -> None:
        self._is_paused = False
        self._resume()


Received = tuple[RawResponseMessage | PlainHead, StreamReader | PlainBody]
"""A head, and the body that belongs to it."""


class Chunks:
    """The chunks in which a body arrives. The body, whose length is unknown, gets what is in them.

    Accepts what Chromium and curl accept: lines that end with LF alone, leading zeros, white space after the size, any
    extension and any trailer. It ignores the extensions and the trailers.
    """

    __slots__ = ("_after_chunk", "_body", "_line", "_missing", "are_sound", "have_ended")

    def __init__(self, body: PlainBody) -> None:
        self._body = body
        self._missing = 0
        """Bytes of the current chunk that have not arrived."""
        self._after_chunk = False
        """The line that ends a chunk is next."""
        self._line = b""
        """An incomplete line."""
        self.have_ended = False
        self.are_sound = True
        """They keep to RFC 9112, and no data follows them. Otherwise we may be wrong about where they end."""

    def feed(self, data: bytes, /) -> bool:
        """Add data. Returns whether it is valid; the body gets what is in front of invalid data. The caller ends the
        body."""
        if len(data) <= self._missing:
            self._missing -= len(data)
            self._body.feed(data)
            return True
        view = memoryview(data)
        pieces: list[memoryview] = []
        at, is_valid = 0, True
        while at < len(data) and is_valid and not self.have_ended:
            if self._missing:
                piece = view[at : at + self._missing]
                pieces.append(piece)
                at += len(piece)
                self._missing -= len(piece)
            else:
                end = data.find(b"\n", at) + 1 or len(data)
                is_valid = self._take_line(self._line + data[at:end])
                at = end
        if pieces:
            self._body.feed(b"".join(pieces))
        if at < len(data):
            self.are_sound = False
        return is_valid

    def _take_line(self, line: bytes) -> bool:
        """Take a line, or its beginning; returns whether it is valid."""
        if len(line) > _MAX_LINE_BYTES:
            return False
        if not line.endswith(b"\n"):
            self._line = line
            if self._after_chunk:
                return line == b"\r"
            return self._body.is_whole or _SIZE_BEGINS.fullmatch(line) is not None
        self._line = b""
        if self._after_chunk:
            self._after_chunk = False
            self.are_sound &= line == b"\r\n"
            return line in _LINE_ENDS
        if self._body.is_whole:
            self.are_sound &= _SOUND_TRAILER.fullmatch(line) is not None
            self.have_ended = line in _LINE_ENDS
            return True
        return self._take_size(line)

    def _take_size(self, line: bytes) -> bool:
        found = _SOUND_SIZE.fullmatch(line)
        if found is None:
            self.are_sound = False
            found = _SIZE.fullmatch(line)
            if found is None:
                return False
        digits = found[1]
        if len(digits) > _MAX_SIZE_DIGITS and len(digits.lstrip(b"0")) > _MAX_SIZE_DIGITS:
            return False
        self._missing = int(digits, 16)
        self._body.is_whole = not self._missing
        self._after_chunk = self._missing > 0
        return True
