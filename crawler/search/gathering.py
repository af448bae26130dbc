"""Brings the index of a crawl up to date with its records."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import urlsplit

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import output_directories
from crawler.export.archived_text import ArchivedText, may_have_text
from crawler.export.snapshot import OnDamage, RecordFile
from crawler.page import PageRecord, Wanted, counts_as_page
from crawler.politeness.pace import TRANSIENT_STATUSES
from crawler.protocols import ContentReading
from crawler.search.archive import noting, tail_of, why
from crawler.search.index import IndexedFile, IndexedPage, SearchIndex
from crawler.write.records import record_files

_TEXT: Final = Wanted(text=True)
_RECORDS: Final = 1000
_BYTES: Final = 16_000_000
"""After so many records or bytes a transaction ends."""


class _ArchiveNeeded(Exception):
    """The archive must be brought up to date, and then the record read again."""


class Gathering:
    """Reads records into an index, and what these lack from the archive."""

    def __init__(
        self,
        directory: Path,
        index: SearchIndex,
        *,
        earlier: Sequence[Path],
        read_content: ContentReading,
        on_damage: OnDamage,
        say: Callable[[str], None],
    ) -> None:
        """`earlier`: crawls with which the archive was compared, and folders of WARC files. `say` is told which
        files of the archive must be read, because they have no index, and what is damaged."""
        self._directory = directory
        self._index = index
        self._earlier = earlier
        self._read_content = read_content
        self._on_damage = on_damage
        self._say = say
        self._decoder = msgspec.json.Decoder(PageRecord)
        self._archive = index.archive(directory)
        self._needs_archive = False
        self._lacks_files = False
        self._texts: ArchivedText | None = None
        self.unread: dict[str, str] = {}
        """Why files or folders of records can't be read, by name."""

    def bring_up_to_date(self) -> Iterator[tuple[int, int]]:
        """Read what is not in the index yet of the records that there are now. Yields after each transaction how many
        bytes of records are in the index, and how many there are. Raises `DirectoryRefused`, `OSError` and
        `sqlite3.Error`."""
        yield from self._read_new()
        if self._index.unread() - self.unread.keys():
            # Later visits to their pages were read before them, and so did not count: a new index has them in order.
            with self._index.changing():
                self._index.clear()
                self._index.note_unread(self.unread)
            yield from self._read_new()
        if self._index.unread() != self.unread.keys():
            with self._index.changing():
                self._index.note_unread(self.unread)

    def _read_new(self) -> Iterator[tuple[int, int]]:
        indexed = self._index.files()  # before the snapshot, which then reaches at least as far
        files = self._files()
        self._drop_gone(indexed, {file.name for file in files})
        done, size = 0, sum(file.size for file in files)
        for file in files:
            with self._reading(file.name), (self._directory / file.name).open("rb") as lines:
                yield from ((done + read, size) for read in self._read_file(file, lines))
            done += file.size
        if self._archive.readable_again or self._index.count_awaiting():
            yield from ((done, size) for _ in self._read_awaited())

    def _files(self) -> list[RecordFile]:
        """The files of records as they are now, the oldest first."""
        files = list[RecordFile]()
        for home in output_directories(self._directory):
            folder = CrawlDirectory(home).records
            with noting(str(folder.relative_to(self._directory)), self.unread):
                if folder.is_symlink():
                    folder.stat()  # its disk may be missing
                for path in record_files(folder) if folder.is_dir() else ():
                    name = str(path.relative_to(self._directory))
                    with self._reading(name):
                        files.append(RecordFile(name, path.stat().st_size))
        return files

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """A context in which a file of records may be gone, because the crawl has pruned it. If it can't be read, that
        is noted, and the rest goes on."""
        with noting(name, self.unread), suppress(FileNotFoundError):
            yield

    def _drop_gone(self, indexed: Mapping[str, IndexedFile], present: set[str]) -> None:
        """Forget the pages of files that were deleted, or that are others now up to where they were read."""
        for name, file in indexed.items():
            is_gone = name not in present and not self.unread
            if is_gone or (name in present and not self._is_as_read(name, file)):
                with self._index.changing():
                    if self._index.files().get(name) == file:  # otherwise another process has noticed it, too
                        self._index.drop_file(file)

    def _is_as_read(self, name: str, file: IndexedFile) -> bool:
        tail: bytes | None = None
        with self._reading(name), (self._directory / name).open("rb") as lines:
            tail = tail_of(lines, file.read)
        return tail == file.tail or name in self.unread

    def _read_file(self, file: RecordFile, lines: BinaryIO) -> Iterator[int]:
        while True:
            with self._index.changing():
                # Another process may have read on since.
                indexed = self._index.file(file.name)
                read = self._read_some(file, lines, indexed)
                self._index.note_read(indexed, read, tail_of(lines, read))
            if self._needs_archive and self._texts is None:
                yield from (read for _ in self._open_archive())
                continue
            yield read
            if read == indexed.read or read >= file.size:
                return

    def _read_some(self, file: RecordFile, lines: BinaryIO, indexed: IndexedFile) -> int:
        """Read some lines. Returns where the next one begins."""
        at = indexed.read
        lines.seek(at)
        for _ in range(_RECORDS):
            try:
                line = lines.readline()
            except OSError as error:
                self.unread[file.name] = why(error)
                break
            if at + len(line) > file.size or not line.endswith(b"\n"):
                break
            try:
                self._add(self._decode(line), indexed, at)
            except UNREADABLE as error:
                self._on_damage(file.name, at, str(error))
            except _ArchiveNeeded:
                self._needs_archive = True
                break
            at += len(line)
            if at - indexed.read >= _BYTES:
                break
        return at

    def _decode(self, line: bytes) -> PageRecord:
        """Raises what `UNREADABLE` has."""
        record = self._decoder.decode(line)
        try:
            urlsplit(record.url)
        except ValueError as error:
            raise msgspec.DecodeError(f"{record.url!a} is no URL: {error}") from error
        return record

    def _add(self, record: PageRecord, file: IndexedFile, at: int) -> None:
        """Put a page into the index, whose record is there in a file; take it out if the server no longer has it. After
        a failure that may pass, its last good visit stays."""
        if record.fetched_at is None or self._index.is_newer(record.url, record.fetched_at):
            return
        if record.status == HTTPStatus.NOT_MODIFIED:
            self._index.note_failure(record.url, record.fetched_at, None)
            return
        if not counts_as_page(record):
            if record.state == "failed" or record.status is None or record.status in TRANSIENT_STATUSES:
                self._index.note_failure(record.url, record.fetched_at, _failure(record))
            else:
                self._index.drop(record.url)
            return
        text = self._archived_text(record) if record.main_text is None else record.main_text
        if text == "" and not record.title:
            self._index.drop(record.url)
            return
        page = IndexedPage(
            number=record.number,
            url=record.url,
            fetched_at=record.fetched_at,
            title=record.title or "",
            text=text or "",
            awaits=at if text is None else None,
        )
        self._index.put(page, file)

    def _archived_text(self, record: PageRecord) -> str | None:
        """The text of a page; None if a file that may have it can't be read now."""
        if not may_have_text(record):
            return ""
        if self._texts is None:
            raise _ArchiveNeeded
        try:
            found = self._texts.read(record, _TEXT)
        except OSError as error:
            self._archive.note_unread(error)
            return None
        if found is None and self._lacks_files:
            return None
        return "" if found is None else found.text or ""

    def _open_archive(self) -> Iterator[None]:
        yield from self._archive.bring_up_to_date(self._earlier, self._say)
        self._lacks_files = not self._archive.unread().keys() <= self._archive.readable_again
        self._texts = ArchivedText(self._directory, self._archive, self._read_content)

    def _read_awaited(self) -> Iterator[None]:
        """Read the texts that could not be read before, if a file of the archive is readable again."""
        if self._texts is None:
            yield from self._open_archive()
        if not self._archive.readable_again:
            return
        upto, awaiting = self._index.last_page(), [(0, "", 0)]
        while awaiting:
            with self._index.changing():
                awaiting = self._index.awaiting(awaiting[-1][0], upto, _RECORDS)
                for _, name, at in awaiting:
                    with self._reading(name), (self._directory / name).open("rb") as lines:
                        lines.seek(at)
                        with suppress(*UNREADABLE):
                            self._add(self._decode(lines.readline()), self._index.file(name), at)
            yield
        with self._index.changing():
            self._archive.forget_readable()


def _failure(record: PageRecord) -> str:
    """What a visit got that failed."""
    return str(record.status) if record.status in TRANSIENT_STATUSES else record.reason or record.state
