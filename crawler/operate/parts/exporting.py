"""Merges the ledgers of all parts of a crawl in the order of canonical URLs, in pieces."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import Final

import msgspec

from crawler.control.replies import ExportPiece
from crawler.control.requests import Export

_PART_BYTES: Final = 1 << 16
"""What is read from a part at once. What a merged piece does not use of it is read again for the next."""
_PIECE_BYTES: Final = 1 << 21
_PIECE_S: Final = 1.0
"""A piece ends after this time, even if it is empty, as with few waiting URLs among many settled ones."""

Read = Callable[[Export], Awaitable[ExportPiece]]
"""Reads a piece of one part's ledger."""


async def merge_exports(
    parts: Sequence[Read], request: Export, *, piece_bytes: int = _PIECE_BYTES, piece_s: float = _PIECE_S
) -> ExportPiece:
    """A piece of all ledgers together: its lines have at least so many bytes, or took so long."""
    ledgers = [_Ledger(read, request) for read in parts]
    lines: list[msgspec.Raw] = []
    size, until = 0, perf_counter() + piece_s
    while True:
        first = min((each for each in ledgers if each.lines), key=lambda each: each.lines[0][0], default=None)
        behind = [each for each in ledgers if each.is_behind(first)]
        if not behind:
            if first is None:
                return ExportPiece(lines=lines, after=None, damaged=_damaged(ledgers))
            canonical, line = first.lines.popleft()
            lines.append(line)
            size += len(bytes(line))
            if size >= piece_bytes:
                return ExportPiece(lines=lines, after=canonical, damaged=_damaged(ledgers))
        elif perf_counter() >= until and (after := min(each.position for each in behind)) > request.after:
            return ExportPiece(lines=lines, after=after, damaged=_damaged(ledgers))
        else:
            await asyncio.gather(*(each.read_on() for each in behind))


def _damaged(ledgers: Sequence["_Ledger"]) -> list[str]:
    return [key for each in ledgers for key in each.damaged]


class _Line(msgspec.Struct):
    """What decides the place of a line."""

    url: str
    canonical: str | None = None


class _Ledger:
    """How far the ledger of one part has been read."""

    def __init__(self, read: Read, request: Export) -> None:
        self._read = read
        self._request = request
        self.lines: deque[tuple[str, msgspec.Raw]] = deque()
        """Read and not merged, by canonical URL."""
        self.position = request.after
        """All URLs up to this one have been read."""
        self._is_at_end = False
        self.damaged: list[str] = []

    def is_behind(self, first: "_Ledger | None") -> bool:
        """Whether this one may have a URL before those that have been read of the others."""
        if self._is_at_end or self.lines:
            return False
        return first is None or self.position < first.lines[0][0]

    async def read_on(self) -> None:
        request = msgspec.structs.replace(self._request, after=self.position, max_bytes=_PART_BYTES)
        piece = await self._read(request)
        for line in piece.lines:
            place = msgspec.json.decode(line, type=_Line)
            self.lines.append((place.canonical or place.url, line))
        self.damaged += piece.damaged
        self._is_at_end = piece.after is None
        self.position = self.position if piece.after is None else piece.after
