"""Brings the index of a crawl up to date with its records."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from hashlib import blake2b
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.export.archived_text import ArchivedText, may_have_text
from crawler.export.archives import archives_of
from crawler.export.captures import Captures
from crawler.export.snapshot import OnDamage, RecordFile, take_snapshot
from crawler.export.wacz.packing import earlier_archives
from crawler.page import PageRecord, Wanted, counts_as_page
from crawler.protocols import ContentReading
from crawler.search.index import IndexedFile, IndexedPage, SearchIndex

_TEXT: Final = Wanted(text=True)
_RECORDS: Final = 1000
_BYTES: Final = 16_000_000
"""After so many records or bytes a transaction ends."""
_TAIL_BYTES: Final = 4096


class Gathering:
    """Reads records into an index. As a context it closes what it has opened of the archive."""

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
        files of the archive must be read, because they have no index."""
        self._directory = directory
        self._index = index
        self._earlier = earlier
        self._read_content = read_content
        self._on_damage = on_damage
        self._say = say
        self._decoder = msgspec.json.Decoder(PageRecord)
        self._opened = ExitStack()
        self._archive: ArchivedText | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.__exit__(kind, error, trace)

    def bring_up_to_date(self) -> Iterator[tuple[int, int]]:
        """Read what is not in the index yet of the records that there are now. Yields after each transaction how many
        bytes of records are in the index, and how many there are. Raises `DirectoryRefused`, `OSError` and
        `sqlite3.Error`."""
        indexed = self._index.files()  # before the snapshot, which then reaches at least as far
        files = take_snapshot(self._directory, None)
        self._drop_gone(indexed, {file.name for file in files})
        done, size = 0, sum(file.size for file in files)
        for file in files:
            with suppress(FileNotFoundError), (self._directory / file.name).open("rb") as lines:  # pruned meanwhile
                yield from ((done + read, size) for read in self._read_file(file, lines))
            done += file.size

    def _drop_gone(self, indexed: Mapping[str, IndexedFile], present: set[str]) -> None:
        """Forget the pages of files that were deleted, or that are others now up to where they were read."""
        for name, file in indexed.items():
            if name not in present or not self._is_as_read(name, file):
                with self._index.changing():
                    if self._index.files().get(name) == file:  # otherwise another process has noticed it, too
                        self._index.drop_file(file)

    def _is_as_read(self, name: str, file: IndexedFile) -> bool:
        with suppress(FileNotFoundError), (self._directory / name).open("rb") as lines:
            return _tail(lines, file.read) == file.tail
        return False

    def _read_file(self, file: RecordFile, lines: BinaryIO) -> Iterator[int]:
        while True:
            with self._index.changing():
                # Another process may have read on since.
                indexed = self._index.file(file.name)
                read = self._read_some(file, lines, indexed)
                self._index.note_read(indexed, read, _tail(lines, read))
            yield read
            if read == indexed.read or read >= file.size:
                return

    def _read_some(self, file: RecordFile, lines: BinaryIO, indexed: IndexedFile) -> int:
        """Read some lines. Returns where the next one begins."""
        at = indexed.read
        lines.seek(at)
        for _ in range(_RECORDS):
            line = lines.readline()
            if at + len(line) > file.size or not line.endswith(b"\n"):
                break
            try:
                self._add(self._decoder.decode(line), indexed)
            except UNREADABLE as error:
                self._on_damage(file.name, at, str(error))
            at += len(line)
            if at - indexed.read >= _BYTES:
                break
        return at

    def _add(self, record: PageRecord, file: IndexedFile) -> None:
        """Put a page into the index; take it out if the server no longer has it."""
        if record.status is None or record.status == HTTPStatus.NOT_MODIFIED or record.fetched_at is None:
            return  # nothing new is known of the page
        if self._index.is_newer(record.url, record.fetched_at):
            return
        if not counts_as_page(record):
            self._index.drop(record.url)
            return
        text = record.main_text
        if text is None:
            text = self._archived_text(record)
        if text or record.title:
            page = IndexedPage(
                number=record.number,
                url=record.url,
                fetched_at=record.fetched_at,
                title=record.title or "",
                text=text,
            )
            self._index.put(page, file)
        else:
            self._index.drop(record.url)

    def _archived_text(self, record: PageRecord) -> str:
        if not may_have_text(record):
            return ""
        if self._archive is None:
            earlier = (archive for place in self._earlier for archive in earlier_archives(place))
            archives = [*earlier, *archives_of(self._directory, None)]  # of several with a page, the last one counts
            captures = self._opened.enter_context(Captures(self._directory, archives, self._say))
            self._archive = ArchivedText(self._directory, captures, self._read_content)
        found = self._archive.read(record, _TEXT)
        return "" if found is None else found.text or ""


def _tail(lines: BinaryIO, end: int) -> bytes:
    """The digest of what is before a place. A file that was cut after a crash, or written anew, has something else
    there, although it may be longer by now."""
    start = max(0, end - _TAIL_BYTES)
    lines.seek(start)
    return blake2b(lines.read(end - start), digest_size=16).digest()
