"""Pages and records to write, and readers that are not ours."""

import gzip
from collections.abc import Iterable
from pathlib import Path

import msgspec
from warcio.archiveiterator import ArchiveIterator
from warcio.recordloader import ArcWarcRecord

from crawler.page import Extract, NotModified, Page, PageRecord, Redirect, body_sha1
from crawler.record import fetched_record
from crawler.write.warc_records import NUMBER_FIELD
from frontier import CrawlUrl, Lease

NOON = 1_700_000_000.25
HTML = [(b"Server", b"nginx"), (b"Content-Type", b"text/html; charset=utf-8")]
SENT = [("Host", "h1.sim.test:8080"), ("User-Agent", "onceover/1.0 (+https://example.org/)"), ("Accept", "*/*")]


def lease(number: int, *, url: str | None = None, attempt: int = 0) -> Lease:
    address = url or f"http://h1.sim.test:8080/page/{number}?a=b"
    return Lease(
        number=number,
        hit_count=3,
        url=CrawlUrl(
            url=address,
            canonical=address,
            queue_key="test,sim,h1",
            depth=2,
            via="http://h1.sim.test:8080/",
            anchor="a page",
            attempt=attempt,
        ),
    )


def page(
    number: int,
    body: bytes | None = None,
    *,
    raw_body: bytes | None = None,
    headers: Iterable[tuple[bytes, bytes]] = HTML,
    truncated: str | None = None,
    http_version: str = "1.1",
    status: int = 200,
    reason: str = "OK",
) -> Page:
    text = f"<title>Page {number}</title> <p>Number {number}.".encode() if body is None else body
    return Page(
        url=f"http://h1.sim.test:8080/page/{number}?a=b",
        status=status,
        reason=reason,
        http_version=http_version,
        headers=list(headers),
        request_headers=SENT,
        ip="127.0.0.1",
        port=8080,
        fetched_at=NOON + number % 1000,
        duration_s=0.0123,
        body=text,
        raw_body=text if raw_body is None else raw_body,
        truncated=truncated,
    )


def record_of(fetched: Page | Redirect | NotModified, number: int) -> PageRecord:
    extract = Extract(content_type="text/html", base_url=fetched.url, charset="UTF-8", title=f"Page {number}")
    sha1 = None if isinstance(fetched, NotModified) else body_sha1(fetched.body)
    return fetched_record(lease(number), fetched, extract=extract, references=["http://h1.sim.test:8080/"], sha1=sha1)


class Archived(msgspec.Struct, frozen=True, kw_only=True):
    """One WARC record, as warcio reads it."""

    file: str
    kind: str
    number: int | None
    fields: dict[str, str]
    status_line: str | None
    http_version: str | None
    http_headers: list[tuple[str, str]]
    payload: bytes


def archived(directory: Path) -> list[Archived]:
    """Every WARC record in the files of a directory, open ones included. Fails on a wrong digest or a torn file."""
    found: list[Archived] = []
    for path in sorted(directory.glob("*.warc.gz*")):
        gzip.decompress(path.read_bytes())  # warcio passes over a torn end
        with path.open("rb") as stream:
            found += [_archived(path.name, record) for record in ArchiveIterator(stream, check_digests="raise")]
    return found


def numbers(directory: Path) -> list[int]:
    """The record numbers of the responses and revisits of a directory, in order."""
    main = {"response", "revisit"}
    return [entry.number for entry in archived(directory) if entry.kind in main and entry.number is not None]


def _archived(file: str, record: ArcWarcRecord) -> Archived:
    payload = record.raw_stream.read()
    fields = dict(record.rec_headers.headers)
    number = fields.get(NUMBER_FIELD)
    head = record.http_headers
    return Archived(
        file=file,
        kind=record.rec_type,
        number=None if number is None else int(number),
        fields=fields,
        status_line=head.statusline if head else None,
        http_version=head.protocol if head else None,
        http_headers=head.headers if head else [],
        payload=payload,
    )
