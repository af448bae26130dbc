"""What became of each URL."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from crawler.control.replies import ExportPiece
from crawler.control.requests import Export
from crawler.operate.actions.exported import Line
from crawler.operate.reach import ReachedCrawl
from crawler.write.records import read_records_as


class Visit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A URL that is settled: some fields of its record."""

    number: int
    url: str
    state: str
    kind: str = "link"
    status: int | None = None
    reason: str | None = None
    fetched_at: str | None = None
    duration_s: float | None = None
    received_bytes: int | None = None
    size_bytes: int | None = None
    refused: dict[str, int] | None = None


def recorded_visits(*directories: Path) -> Iterator[Visit]:
    """From the records in these directories. Of a URL that was fetched again, the last visit."""
    return read_records_as(Visit, *directories, last_only=True)


def ledger_visits(crawl: ReachedCrawl) -> Iterator[Visit]:
    """From the ledger, piece by piece, so that a running crawl goes on. Raises `Refused` and `NoAnswer`."""
    after: str | None = ""
    while after is not None:
        piece = crawl.ask(Export(after=after), ExportPiece)
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
                    fetched_at=None if line.fetched_at is None else str(line.fetched_at),
                )
