"""What became of each URL."""

from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path

import msgspec

from crawler.control.replies import ExportPiece
from crawler.control.requests import Export
from crawler.operate.actions.exported import Line
from crawler.operate.reach import ReachedCrawl
from crawler.write.records import read_records_as, record_files


class Visit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A URL that is settled: some fields of its record."""

    number: int
    url: str
    state: str
    kind: str = "link"
    visit: int = 1
    depth: int = 0
    content_type: str | None = None
    status: int | None = None
    reason: str | None = None
    fetched_at: str | None = None
    duration_s: float | None = None
    received_bytes: int | None = None
    size_bytes: int | None = None
    refused: dict[str, int] | None = None


def recorded_visits(*directories: Path) -> Iterator[Visit]:
    """From the records in these directories. A URL that was fetched again has several visits."""
    return read_records_as(Visit, *directories, last_only=True)


def may_have_repeats(*directories: Path) -> bool:
    """Whether any URL may have been fetched again. Records tell the number of a visit from the second on."""
    return any(_contains(path, b'"visit":') for each in directories for path in record_files(each))


def _contains(path: Path, text: bytes) -> bool:
    if not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        return content.find(text) >= 0


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
