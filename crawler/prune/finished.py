"""The files of records and archives that are complete, and what is in them."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import read_layout
from crawler.page.number_set import NumberSet
from crawler.write.cdxj.lines import parse
from crawler.write.cdxj.making import OPEN, archives, final_path, index_of, lines_of
from crawler.write.cdxj.sorting import sorted_lines
from crawler.write.records import record_files
from crawler.write.warc_reader import number_at


class OutputFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file with output of a crawl, with its index."""

    directory: Path
    """That has the output."""
    path: Path
    bytes: int
    """With its index."""
    written_at: float
    """When its last page was written, in seconds since 1970."""
    is_finished: bool
    """Whether nothing is written to it any more."""

    @property
    def name(self) -> str:
        """From the directory on."""
        return str(self.path.relative_to(self.directory))

    @property
    def is_archive(self) -> bool:
        return self.path.parent.name == "warc"


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a file."""

    numbers: NumberSet
    records: int
    first: str | None
    last: str | None
    digest: str


def output_files(directories: Sequence[CrawlDirectory]) -> list[OutputFile]:
    """The files of records, then the archives, of each directory, in the order they were written. A file that goes away
    meanwhile is left out, and so is one whose name is not UTF-8. Raises `DirectoryRefused`."""
    return [file for each in directories for file in _files(each, has_ended=_is_replaced(each.original))]


def _is_replaced(directory: Path) -> bool:
    """Whether a directory has only output from before its crawl was divided as it is now, so that nothing is written
    there any more."""
    place = Path(os.path.normpath(directory.absolute()))
    if read_layout(place) is not None:
        return True
    whole = read_layout(place.parent)
    return whole is not None and place.name in whole.earlier


def _files(directory: CrawlDirectory, *, has_ended: bool) -> Iterator[OutputFile]:
    paths = record_files(directory.records) if directory.records.is_dir() else []
    for path in paths:
        yield from _file(directory, path, [path], is_finished=has_ended or path != paths[-1])
    for path in archives(directory.warc):
        is_finished = has_ended or not path.name.endswith(OPEN)
        yield from _file(directory, path, [path, index_of(path)], is_finished=is_finished)


def _file(directory: CrawlDirectory, path: Path, paths: Sequence[Path], *, is_finished: bool) -> Iterator[OutputFile]:
    try:
        path.name.encode()
    except UnicodeEncodeError:
        return  # we did not write it, and the list of what was pruned could not name it
    try:
        sizes = [each.stat().st_size for each in paths if each is path or each.exists()]
        written_at = path.stat().st_mtime
    except FileNotFoundError:
        return
    yield OutputFile(
        directory=directory.path, path=path, bytes=sum(sizes), written_at=written_at, is_finished=is_finished
    )


def sound_lines(archive: Path) -> Iterator[bytes]:
    """The lines of the index of an archive, sorted. If it is open, or a line of its index is damaged, the archive is
    read for them. The crawl may complete it meanwhile. Raises `FileNotFoundError`."""
    try:
        yield from _index_lines(archive) if _has_sound_index(archive) else sorted_lines(lines_of(archive))
    except FileNotFoundError:
        if not archive.name.endswith(OPEN):
            raise
        yield from sound_lines(final_path(archive))


def _has_sound_index(archive: Path) -> bool:
    size = archive.stat().st_size
    if archive.name.endswith(OPEN) or not index_of(archive).exists():
        return False
    return all(_place(line, size) is not None for line in _index_lines(archive))


def _index_lines(archive: Path) -> Iterator[bytes]:
    with index_of(archive).open("rb") as lines:
        for line in lines:
            yield line.rstrip(b"\n")


def read_content(file: OutputFile) -> Content:
    """Read what is in a file. Takes some seconds for each gigabyte. Raises `OSError`."""
    facts = _captured(file.path) if file.is_archive else _recorded(file.path)
    numbers, records, first, last = NumberSet(), 0, None, None
    for number, moment in facts:
        records += 1
        if number is not None:
            numbers.add(number)
        if moment is not None:
            first, last = min(first or moment, moment), max(last or moment, moment)
    with file.path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return Content(numbers=numbers, records=records, first=first, last=last, digest=digest)


class _Recorded(msgspec.Struct, gc=False):
    number: Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
    """A line with another one is damaged."""
    fetched_at: str | None = None


def _recorded(path: Path) -> Iterator[tuple[int | None, str | None]]:
    decoder = msgspec.json.Decoder(_Recorded)
    with path.open("rb") as lines:
        for line in lines:
            try:
                record = decoder.decode(line)
            except UNREADABLE:
                continue
            yield record.number, record.fetched_at


def _captured(path: Path) -> Iterator[tuple[int | None, str | None]]:
    with path.open("rb") as archive:
        size = os.fstat(archive.fileno()).st_size
        for line in sound_lines(path):
            place = _place(line, size)
            if place is not None:
                yield number_at(archive, place.offset, place.length), place.at


class _Place(msgspec.Struct, gc=False):
    """Where and when a page was archived."""

    offset: int
    length: int
    at: str


def _place(line: bytes, size: int) -> _Place | None:
    """What a line of an index says, of an archive of that size; None if the line is damaged."""
    try:
        _, moment, capture = parse(line)
        offset, length = capture.place()
        at = datetime.strptime(moment, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    # Without a type, nobody knows whether the body is here or in another archive.
    if capture.mime is None or not (offset < size and 0 < length <= size):
        return None
    return _Place(offset, length, at.isoformat().replace("+00:00", "Z"))
