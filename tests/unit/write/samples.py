"""Pages and records to write, and readers that are not ours."""

import gzip
from collections.abc import Iterable
from pathlib import Path

import msgspec
from fastwarc.warc import ArchiveIterator as FastArchiveIterator
from warcio.archiveiterator import ArchiveIterator
from warcio.recordloader import ArcWarcRecord

from crawler.page import Page
from crawler.testing.sink import pages
from crawler.testing.sink.pages import NOON, lease, record_of
from crawler.write.cdxj.making import archives
from crawler.write.warc_records import NUMBER_FIELD

__all__ = [
    "HTML",
    "NOON",
    "SENT",
    "Archived",
    "archived",
    "lease",
    "numbers",
    "numbers_by_fastwarc",
    "page",
    "record_of",
]

HTML = pages.page(0).headers
SENT = pages.page(0).request_headers


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
    sample = pages.page(number)
    text = sample.body if body is None else body
    return msgspec.structs.replace(
        sample,
        status=status,
        reason=reason,
        http_version=http_version,
        headers=list(headers),
        body=text,
        raw_body=text if raw_body is None else raw_body,
        truncated=truncated,
    )


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
    for path in archives(directory):
        gzip.decompress(path.read_bytes())  # warcio passes over a torn end
        with path.open("rb") as stream:
            found += [_archived(path.name, record) for record in ArchiveIterator(stream, check_digests="raise")]
    return found


def numbers(directory: Path) -> list[int]:
    """The record numbers of the responses and revisits of a directory, in order."""
    main = {"response", "revisit"}
    return [entry.number for entry in archived(directory) if entry.kind in main and entry.number is not None]


def numbers_by_fastwarc(directory: Path) -> list[int]:
    """The same as `numbers`, read ten times as fast. Fails on a wrong digest or a torn file, too."""
    found = []
    for path in archives(directory):
        gzip.decompress(path.read_bytes())
        for record in FastArchiveIterator(str(path), parse_http=False):
            assert record.verify_block_digest()
            if record.headers["WARC-Type"] in {"response", "revisit"}:
                found.append(int(record.headers[NUMBER_FIELD]))
    return found


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
