"""The WARC files of a crawl, as they are when an export begins; writes their indexes as one."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import filterfalse
from pathlib import Path
from typing import BinaryIO

import msgspec

from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import output_directories, record_directories
from crawler.disk.pruned import read_pruned
from crawler.export.aside import Target, ensure_writable, written_to
from crawler.export.writers import ExportRefused
from crawler.status import number_of
from crawler.write.cdxj.heads import may_follow
from crawler.write.cdxj.lines import is_unchanged
from crawler.write.cdxj.making import archives, final_path
from crawler.write.cdxj.merging import merged_index
from crawler.write.gzip_members import HEAD_BYTES, GzipMember, members
from crawler.write.warc_opening import is_ours


class Archive(msgspec.Struct, frozen=True):
    path: Path
    name: str
    """Unique in the crawl."""
    size: int

    @property
    def final_path(self) -> Path:
        """Where it is when it is finished."""
        return final_path(self.path)


class ArchiveGone(ExportRefused):
    """A file was deleted since the export began."""


def archives_of(directory: Path, part: int | None) -> list[Archive]:
    """The files of a crawl, or of one part, the oldest first. Raises `DirectoryRefused` and `OSError`."""
    found = []
    for place in _output(directory, part):
        found += archives_in(CrawlDirectory(place).warc, "" if place == directory else f"{place.name}-")
    return found


def nothing_to(purpose: str, directory: Path, part: int | None) -> ExportRefused:
    """Why a crawl without archive can't be exported. Raises `DirectoryRefused`."""
    places = map(CrawlDirectory, _output(directory, part))
    pruned = sum(read_pruned(place).total("warc").files for place in places)
    gone = f"{number_of(pruned, 'file was', 'files were')} pruned, and none is left; pruned.json lists them"
    return ExportRefused(
        f"{directory} has no archive to {purpose}: {gone if pruned else 'crawl with output.warc = true'}"
    )


def archives_in(folder: Path, prefix: str) -> list[Archive]:
    """The files in a folder, the oldest first. `prefix` makes the names unique that do not name their part themselves,
    as older ones. Raises `OSError`."""
    found = []
    for path in archives(folder):
        final = final_path(path)
        try:
            size = path.stat().st_size
        except FileNotFoundError:  # the crawl has finished it since
            if path.is_symlink():  # to a disk that is missing
                raise
            if not final.exists():  # or has deleted it, because it is old
                continue
            size = final.stat().st_size
        found.append(Archive(path, final.name if f"-{prefix}" in final.name else prefix + final.name, size))
    return found


def members_of(archive: Archive, say: Callable[[str], None]) -> Iterator[tuple[GzipMember, BinaryIO]]:
    """The intact records of a file, each with the beginning of its content, and the open file. Says which bytes are
    damaged. Raises `ArchiveGone` and `OSError`."""
    with _open(archive) as file:
        for found in members(file, is_ours=is_ours, may_follow=may_follow, max_bytes=HEAD_BYTES):
            if found.end > archive.size:
                return  # written since
            if isinstance(found, GzipMember):
                yield found, file
            elif not found.torn:
                say(f"{archive.path}: bytes {found.start:,} to {found.end:,} are damaged, and left out")


def _open(archive: Archive) -> BinaryIO:
    with suppress(FileNotFoundError):  # the crawl has finished it since
        return archive.path.open("rb")
    try:
        return archive.final_path.open("rb")
    except FileNotFoundError as error:
        if archive.final_path.is_symlink():  # to a disk that is missing
            raise
        raise ArchiveGone(
            f"{archive.final_path} is gone since this export began, as when the crawl has pruned it (output.keep_s, "
            "output.keep_bytes); begin anew"
        ) from error


def _output(directory: Path, part: int | None) -> list[Path]:
    if part is None:
        return output_directories(directory)
    return [records.parent for records in record_directories(directory, part)]


def export_index(directory: Path, part: int | None, to: Target, *, overwrite: bool) -> int:
    """Returns the number of its lines, which are sorted. Visits at which the server said that nothing had changed are
    left out: a replay would show an empty page for them. Raises `ExportRefused`, `DirectoryRefused` and `OSError`."""
    ensure_writable(to, may_replace=overwrite)
    folders = dict.fromkeys(archive.path.parent for archive in archives_of(directory, part))
    if not folders:
        raise nothing_to("list", directory, part)
    lines = 0
    with written_to(to, may_replace=overwrite) as file:
        for line in filterfalse(is_unchanged, merged_index(*folders)):
            file.write(line + b"\n")
            lines += 1
    return lines
