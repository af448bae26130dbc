"""What became of each URL."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from crawler.control.requests import Export
from crawler.operate.actions.exported import Line
from crawler.operate.reach import ReachedCrawl
from crawler.write.records import Extents, read_extents

_BLOCK_BYTES: Final = 1 << 20


class Visit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A URL that is settled: some fields of its record."""

    number: int
    url: str
    state: str
    kind: str = "link"
    via: str | None = None
    visit: int = 1
    depth: int = 0
    content_type: str | None = None
    status: int | None = None
    reason: str | None = None
    redirect: str | None = None
    fetched_at: str | None = None
    duration_s: float | None = None
    received_bytes: int | None = None
    size_bytes: int | None = None
    refused: dict[str, int] | None = None
    message: str | None = None
    truncated: str | None = None


def recorded_visits(extents: Extents) -> Iterator[Visit]:
    """Read the visits from records. A URL that was fetched again has several."""
    return read_extents(Visit, extents, last_only=True)


def may_have_repeats(extents: Extents) -> bool:
    """Whether any URL may have been fetched again. Records tell the number of a visit from the second on."""
    return any(_contains(path, b'"visit":') for of_one in extents for path, _ in of_one)


def _contains(path: Path, text: bytes) -> bool:
    # A map of the file would end the process if the crawl takes back what finds no room.
    with suppress(FileNotFoundError), path.open("rb") as file:  # a running crawl may delete old files
        end = b""
        while block := file.read(_BLOCK_BYTES):
            end += block
            if text in end:
                return True
            end = end[1 - len(text) :]
    return False


def ledger_visits(crawl: ReachedCrawl) -> Iterator[Visit]:
    """Read the visits from the ledger, piece by piece, so that a running crawl goes on. Raises `Refused` and
    `NoAnswer`."""
    after: str | None = ""
    while after is not None:
        piece = crawl.ask(Export(after=after))
        after = piece.after
        for text in piece.lines:
            line = msgspec.json.decode(text, type=Line)
            if line.state != "pending":
                yield Visit(
                    number=0,  # the export has none, and nobody needs it
                    url=line.url,
                    state=line.state,
                    kind=line.kind,
                    status=line.status,
                    reason=line.reason,
                    fetched_at=line.fetched_at,
                )
