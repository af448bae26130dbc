"""Where the archive has a page, and the body of one that it has as a revisit record."""

import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final, Protocol, Self

import msgspec

from crawler.export.archives import Archive, ArchiveGone, members_of
from crawler.files.temporary import with_databases
from crawler.page.digests import key_of
from crawler.write.cdxj.heads import END, capture_of
from crawler.write.cdxj.lines import moment_of, parse
from crawler.write.cdxj.making import OPEN, index_of
from crawler.write.gzip_members import GzipMember
from crawler.write.warc_reader import Capture, captures_at

_log = logging.getLogger(__name__)


MAX_RECORD_BYTES: Final = 64_000_000
"""The largest WARC record that is read."""


class Location(msgspec.Struct, frozen=True, gc=False):
    filename: str
    """From the directory of the crawl on; absolute for a file elsewhere."""
    offset: int
    length: int


class FindsCaptures(Protocol):
    """Knows where an archive has pages."""

    def find_all(self, url: str, fetched_at: str, /) -> Iterator[Location]:
        """All captures of a URL in that second, the last first."""


class Captures:
    """The captures of a crawl by URL and time, from the CDXJ file beside each WARC file, or else from the WARC file.

    They lie in a temporary file, so that an archive of any size takes little memory. As a context it removes that.
    """

    def __init__(self, directory: Path, archives: Sequence[Archive], say: Callable[[str], None]) -> None:
        """If several of the `archives` have a URL at one time, the last counts. Calls `say` for each that must be
        read. Raises `OSError`."""
        self._directory = directory
        self._names: list[str] = []
        self._store = sqlite3.connect("")  # on the disk, and without a name, so that it goes with the process
        with ExitStack() as failing, with_databases():
            failing.callback(self._store.close)
            self._store.execute("CREATE TABLE capture (key INTEGER, file INTEGER, offset INTEGER, length INTEGER)")
            for archive in archives:
                self._read(archive, say)
            self._store.execute("CREATE INDEX by_key ON capture (key, file, offset, length)")
            failing.pop_all()

    def find(self, url: str, fetched_at: str | None, /) -> Location | None:
        """The capture of a URL at a time in RFC 3339; None if the index has none."""
        return None if fetched_at is None else next(self.find_all(url, fetched_at), None)

    def find_all(self, url: str, fetched_at: str, /) -> Iterator[Location]:
        """All captures of a URL in that second, the last first."""
        query = "SELECT file, offset, length FROM capture WHERE key = ? ORDER BY file DESC, offset DESC"
        for file, offset, length in self._store.execute(query, (capture_key(url, moment_of(fetched_at)),)):
            yield Location(self._names[file], offset, length)

    def _read(self, archive: Archive, say: Callable[[str], None]) -> None:
        number = len(self._names)
        path, index = archive.final_path, index_of(archive.path)
        is_own = path.is_relative_to(self._directory)
        self._names.append(str(path.relative_to(self._directory) if is_own else path.absolute()))
        entries = entries_of(index) if index.exists() else _entries(archive, say)
        with suppress(ArchiveGone):  # then it has no page any more
            rows = ((key, number, offset, length) for key, offset, length in entries)
            self._store.executemany("INSERT INTO capture VALUES (?, ?, ?, ?)", rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()


def capture_key(url: str, moment: str) -> int:
    """The key of a capture. `moment` has the digits of a date, as `moment_of` gives them."""
    return key_of(f"{moment} {url}")


def entries_of(index: Path) -> Iterator[tuple[int, int, int]]:
    """The captures in a CDXJ file: the key of each, its offset and its length. Raises `OSError`."""
    with index.open("rb") as lines:
        for at, line in enumerate(lines, 1):
            if line.startswith(b"!") or not line.endswith(b"\n"):
                continue
            try:
                _, moment, entry = parse(line)
                yield capture_key(entry.url, moment[:14]), *entry.place()
            except ValueError as error:
                _log.warning("%s: line %d is not an entry of a CDXJ index and was skipped: %s", index, at, error)


def entry_of(member: GzipMember) -> tuple[int, int, int] | None:
    """The same of a record in a WARC file; None if it is no capture."""
    found = capture_of(member.content)
    if found is None:
        return None
    return capture_key(found.url, moment_of(found.date)), member.start, member.end - member.start


def _entries(archive: Archive, say: Callable[[str], None]) -> Iterator[tuple[int, int, int]]:
    say(f"{archive.path} has no index (.cdxj), so it is read")
    return filter(None, (entry_of(member) for member, _ in members_of(archive, say)))


class RevisitedCaptures:
    """Reads captures where the index of an archive says that they are."""

    def __init__(self, directory: Path, captures: FindsCaptures) -> None:
        """`directory` is that of the `captures`."""
        self._directory = directory
        self._captures = captures

    def with_payload(self, revisit: Capture, /) -> Capture | None:
        """A revisit record with the payload that it refers to: URL and headers are its own."""
        locations = () if revisit.refers_to is None else self._captures.find_all(*revisit.refers_to)
        found = (self.read(each) for each in locations)
        # The URL may have been fetched twice within a second, and then this may be a revisit record itself, or have
        # another body.
        same = (each for each in found if each is not None and each.payload_digest == revisit.payload_digest)
        original = next((each for each in same if each.kind != "revisit"), None)
        if original is None:
            return None
        head, end, _ = revisit.block.partition(END)
        block = b"".join((head, end, original.block.partition(END)[2]))
        return msgspec.structs.replace(revisit, kind=original.kind, block=block, truncated=original.truncated)

    def read(self, location: Location, *, is_wanted: Callable[[Capture], bool] = lambda _: True) -> Capture | None:
        """The first wanted record of a page."""
        path = self._directory / location.filename
        for place in (path, path.with_name(path.name + OPEN), path):  # the crawl may finish it meanwhile
            try:
                return next(filter(is_wanted, captures_at(place, location.offset, max_bytes=MAX_RECORD_BYTES)), None)
            except FileNotFoundError:
                continue
        return None
