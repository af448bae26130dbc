"""Bodies of responses: how they arrive, and how they ended."""

import asyncio
from collections.abc import Callable
from ssl import SSLError
from typing import Final

import aiohttp

_HELD_BYTES: Final = 512 * 1024
"""So much of a body may wait to be read before we stop receiving it."""
_MAX_OVERHEAD_BYTES: Final = 512 * 1024
_MAX_OVERHEAD_RATIO: Final = 4
"""Bytes of a response beside its body: so many, and so many more for each byte of the body."""
_MAX_INFORMATIONAL: Final = 50
"""Informational responses before the final one. Each takes much more time than its few bytes show."""


class BodyEnd:
    """How the body of one response ended, as its connection saw it."""

    __slots__ = ("alert", "broken", "by_close", "lacks_close_notify")

    def __init__(self) -> None:
        self.broken: aiohttp.ClientPayloadError | None = None
        """Why the body ended early; None while there is no sign of that."""
        self.alert: SSLError | None = None
        """The TLS alert that ended the connection. With TLS 1.3, a server refuses a client only after the handshake."""
        self.by_close = False
        """Only the end of the connection marks the end of the body."""
        self.lacks_close_notify = False
        """The connection ended without the close_notify of TLS, so anybody may have ended it."""


class Overhead:
    """What one response has beside its body."""

    __slots__ = ("_heads", "_received_bytes")

    def __init__(self) -> None:
        self._received_bytes = self._heads = 0

    def is_full(self, *, more_bytes: int = 0, body_bytes: int = 0, more_heads: int = 0) -> bool:
        """Count more bytes, of the body too, and informational responses; returns whether there are too many, with so
        many bytes of the body among them."""
        self._received_bytes += more_bytes
        self._heads += more_heads
        beside = self._received_bytes - body_bytes
        return self._heads > _MAX_INFORMATIONAL or beside > _MAX_OVERHEAD_BYTES + _MAX_OVERHEAD_RATIO * body_bytes


class PlainBody:
    """The body of a plain response (`response_heads.read_plain_head`), while it is received. It has the methods of
    aiohttp's streams that we use.

    Calls `pause` and `resume` when too much of it waits to be read, and when that has been read.
    """

    __slots__ = ("_chunks", "_ended", "_held", "_is_paused", "_on_eof", "_pause", "_resume", "_waiter", "missing")

    def __init__(self, length: int, *, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self.missing = length
        """Bytes that have not arrived."""
        self._pause = pause
        self._resume = resume
        self._chunks: list[bytes] = []
        self._held = 0
        self._is_paused = False
        self._ended = False
        self._waiter: asyncio.Future[None] | None = None
        self._on_eof: Callable[[], None] | None = None
        if not length:
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
        self._held += len(data)
        self.missing -= len(data)
        if not self.missing:
            self.feed_eof()
            return
        if self._held > _HELD_BYTES and not self._is_paused:
            self._is_paused = True
            self._pause()
        self._wake()

    def feed_eof(self) -> None:
        """End it, although data may be missing."""
        self._ended = True
        self._wake()
        self._go_on()
        callback, self._on_eof = self._on_eof, None
        if callback is not None:
            callback()

    def read_nowait(self) -> bytes:
        """What has arrived since it was read."""
        chunks, self._chunks, self._held = self._chunks, [], 0
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

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _go_on(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._resume()
