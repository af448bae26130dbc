"""Packs the archive of a crawl into a WACZ file."""

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.export.archives import Archive, archives_in, archives_of, members_of, nothing_to
from crawler.export.aside import ensure_writable, written_aside
from crawler.export.snapshot import BEGINNING, OnDamage, RecordFile, Snapshot, take_snapshot
from crawler.export.wacz.index import Index, write_index
from crawler.export.wacz.package import Member, Package
from crawler.export.wacz.unpacking import is_wacz
from crawler.export.writers import ExportRefused
from crawler.files.temporary import with_databases
from crawler.page import PageRecord, rfc3339
from crawler.status import number_of
from crawler.write.cdxj.heads import read_head
from crawler.write.gzip_members import GzipMember
from crawler.write.warc_records import warcinfo

_COPY_BYTES: Final = 1 << 20
_LARGE_BYTES: Final = 1 << 30
_MOST_COMPRESSED: Final = 64
"""How much larger text may be than the archive that has it."""
_HTML: Final = ("text/html", "application/xhtml+xml")
_REFERRED: Final = "referred.warc.gz"

Say = Callable[[str], None]


class WaczExport(msgspec.Struct, frozen=True, kw_only=True):
    directory: Path
    part: int | None
    crawl: str
    """Its name."""
    earlier: Sequence[Path]
    """Directories of crawls, or of WARC files, that may have what revisit records refer to."""
    may_lack: bool
    """Whether revisit records may refer to what is not there."""
    overwrite: bool
    rewrite: Callable[[bytes], bytes] | None = None
    """Changes a line of records before its page is listed, such as by reading its text. Raises what decoding raises."""
    now: float
    software: str


class Packed(msgspec.Struct, frozen=True, kw_only=True):
    archives: int
    captures: int
    pages: int


class _Page(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of `pages.jsonl`."""

    id: str
    url: str
    ts: str
    title: str | None = None
    text: str | None = None
    """If the record has it: it lets viewers search the archive."""
    seed: bool = False


def export_wacz(export: WaczExport, to: Path, say: Say, on_damage: OnDamage) -> Packed:
    """Raises `ExportRefused`, `DirectoryRefused` and `OSError`."""
    ensure_writable(to, may_replace=export.overwrite)
    files = take_snapshot(export.directory, export.part)
    snapshot = Snapshot(export.directory, files, on_damage)
    archives = archives_of(export.directory, export.part)
    if not archives:
        raise nothing_to("pack", export.directory, export.part)
    to.parent.mkdir(parents=True, exist_ok=True)
    with (
        with_databases(),
        written_aside(to, may_replace=export.overwrite) as file,
        Package(file, is_large=_is_large(export, archives, files)) as package,
        Index() as index,
    ):
        return _pack(export, _Packing(package, index, say), archives, snapshot)


def _is_large(export: WaczExport, archives: Sequence[Archive], files: Sequence[RecordFile]) -> bool:
    """Whether a member may have 2 GiB; the list of pages is no larger than the records, or than the archive without
    compression."""
    earlier = (archive for place in export.earlier for archive in _earlier_archives(place))
    size = sum(each.size for each in chain[Archive | RecordFile](archives, earlier, files))
    return size >= (_LARGE_BYTES if export.rewrite is None else _LARGE_BYTES // _MOST_COMPRESSED)


def _pack(export: WaczExport, packing: "_Packing", archives: Sequence[Archive], snapshot: Snapshot) -> Packed:
    for archive in archives:
        packing.copy(archive)
    if export.earlier and packing.index.lacking():
        packing.copy_referred(export)
    if (lacking := packing.index.lacking()) and not export.may_lack:
        raise ExportRefused(
            f"revisit records refer to {number_of(lacking, 'body', 'bodies')} that {export.directory} does not have, "
            f"for example that of {packing.index.example()}: name the crawls that have what is missing by "
            "--earlier DIR, or pack without it by --incomplete"
        )
    write_index(packing.package, packing.index.lines())
    pages, first_seed = packing.write_pages(snapshot, export.rewrite)
    date = rfc3339(export.now)
    facts: dict[str, str] = {"title": export.crawl, "created": date, "modified": date, "software": export.software}
    if first_seed is not None:
        facts |= {"mainPageUrl": first_seed.url, "mainPageDate": first_seed.ts}
    packing.package.finish(facts)
    return Packed(archives=packing.archives, captures=packing.index.count(), pages=pages)


class _Packing:
    """Fills a package."""

    def __init__(self, package: Package, index: Index, say: Say) -> None:
        self.package = package
        self.index = index
        self._say = say
        self.archives = 0

    def copy(self, archive: Archive) -> None:
        """Copy the intact records of a file as they are, and index them."""
        self._say(f"archive/{archive.name}: {number_of(archive.size, 'byte')}")
        self.archives += 1
        with self.package.member(f"archive/{archive.name}", stored=True) as target:
            for member, file in members_of(archive, self._say):
                self._add(member, file, target, archive.name)

    def copy_referred(self, export: WaczExport) -> None:
        """Copy the records of earlier crawls that revisit records refer to."""
        with self.package.member(f"archive/{_REFERRED}", stored=True) as target:
            facts = (
                ("software", export.software),
                ("description", "what revisit records of this archive refer to"),
            )
            target.write(warcinfo(_REFERRED, facts, now=export.now, level=3))
            for archive in (each for place in export.earlier for each in _earlier_archives(place)):
                for member, file in members_of(archive, self._say):
                    head = read_head(member.content)
                    if head is not None and self.index.is_wanted(head):
                        self._add(member, file, target, _REFERRED)
        self.archives += 1

    def write_pages(self, snapshot: Snapshot, rewrite: Callable[[bytes], bytes] | None) -> tuple[int, _Page | None]:
        """Write the list of pages that replay. Returns their number, and the first seed."""
        count, missing, first_seed = 0, 0, None
        with self.package.member("pages/pages.jsonl") as target:
            target.write(msgspec.json.encode({"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}) + b"\n")
            for page in _pages(snapshot, rewrite):
                if not self.index.has(page.url, page.ts):
                    missing += 1
                    continue
                target.write(msgspec.json.encode(page) + b"\n")
                count += 1
                if page.seed and (first_seed is None or int(page.id) < int(first_seed.id)):
                    first_seed = page
        if missing:
            self._say(f"the list of pages leaves {missing:,} out, which the records have and the archive does not")
        return count, first_seed

    def _add(self, member: GzipMember, file: BinaryIO, target: Member, name: str) -> None:
        offset = target.size
        at = member.start
        while at < member.end:
            data = os.pread(file.fileno(), min(_COPY_BYTES, member.end - at), at)
            if not data:
                raise ExportRefused(f"{file.name} has become shorter while it was read; begin anew")
            target.write(data)
            at += len(data)
        head = read_head(member.content)
        if head is None:
            return
        if head.tells_failure:
            self.index.take_back(head)
        else:
            self.index.add(head, filename=name, offset=offset, length=member.end - member.start)


def _pages(snapshot: Snapshot, rewrite: Callable[[bytes], bytes] | None) -> Iterator[_Page]:
    decoder = msgspec.json.Decoder(PageRecord)
    for line in snapshot.last_lines(BEGINNING):
        try:
            record = decoder.decode(line.content if rewrite is None else rewrite(line.content))
        except UNREADABLE as error:
            snapshot.report(line, str(error))
            continue
        if (
            record.not_archived is None
            and record.status == 200
            and record.content_type in _HTML
            and record.fetched_at is not None
        ):
            # Many seeds redirect: to https, or to www.
            is_seed = record.kind == "seed" or (record.kind == "redirect" and record.depth == 0)
            yield _Page(
                id=str(record.number),
                url=record.url,
                ts=record.fetched_at,
                title=record.title,
                text=record.main_text,
                seed=is_seed,
            )


def earlier_archives(place: Path) -> list[Archive]:
    """The files of an earlier crawl, or of a folder of WARC files, or those beside an index."""
    if is_wacz(place):
        return []  # as long as it is not unpacked
    if place.is_file():
        return archives_in(place.parent, "")
    return archives_of(place, None) or archives_in(place, "")


def _earlier_archives(place: Path) -> list[Archive]:
    """Raises `ExportRefused` if there are none."""
    found = earlier_archives(place)
    if not found:
        raise ExportRefused(f"--earlier {place}: expected the directory of a crawl, or WARC files; found no *.warc.gz")
    return found
