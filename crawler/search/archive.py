"""Where the archive has pages, as the index of a search knows it."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Final

from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import output_directories
from crawler.export.captures import Location, capture_key, entries_of, entry_of
from crawler.export.wacz.packing import earlier_archives
from crawler.write.cdxj.heads import may_follow
from crawler.write.cdxj.lines import moment_of
from crawler.write.cdxj.making import OPEN, archives, final_path, index_of
from crawler.write.gzip_members import HEAD_BYTES, GzipMember, members
from crawler.write.warc_opening import is_ours

ARCHIVE_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS archive (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, read INTEGER NOT NULL, tail BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS capture (
    key INTEGER, archive INTEGER, offset INTEGER, length INTEGER, PRIMARY KEY (key, archive, offset)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unread (name TEXT PRIMARY KEY, why TEXT NOT NULL) WITHOUT ROWID;
"""
_BYTES: Final = 16_000_000
"""After so many bytes of a WARC file a transaction ends."""
_TAIL_BYTES: Final = 4096


class IndexedArchive:
    """The captures of a crawl by URL and time. They stay in the index, so each file is read once, and of one that the
    crawl still writes, what is new. `changing` makes transactions."""

    def __init__(
        self,
        directory: Path,
        database: sqlite3.Connection,
        changing: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._directory = directory
        self._database = database
        self._changing = changing
        self._asked = ""
        self.readable_again: set[str] = set()
        """Files and folders that could not be read before. They stay noted until `forget_readable`, so that whoever
        reads what they have may be interrupted."""

    def find_all(self, url: str, fetched_at: str, /) -> Iterator[Location]:
        """All captures of a URL in that second, the last first."""
        query = (
            "SELECT name, offset, length FROM capture JOIN archive ON archive.id = capture.archive "
            "WHERE key = ? ORDER BY archive DESC, offset DESC"
        )
        key = capture_key(url, moment_of(fetched_at))
        for name, offset, length in self._database.execute(query, (key,)).fetchall():
            self._asked = name
            yield Location(name, offset, length)

    def unread(self) -> dict[str, str]:
        """Why files or folders of the archive can't be read, by name."""
        return dict(self._database.execute("SELECT name, why FROM unread ORDER BY name"))

    def note_unread(self, error: OSError) -> None:
        """Note that the file that was found last can't be read. Within a transaction."""
        self.readable_again.discard(self._asked)
        self._note({self._asked: why(error)})

    def forget_readable(self) -> None:
        """Note that what is readable again was read. Within a transaction."""
        self._database.executemany("DELETE FROM unread WHERE name = ?", ((name,) for name in self.readable_again))
        self.readable_again.clear()

    def _note(self, unread: Mapping[str, str]) -> None:
        self._database.executemany("INSERT OR REPLACE INTO unread VALUES (?, ?)", unread.items())

    def bring_up_to_date(self, earlier: Sequence[Path], say: Callable[[str], None]) -> Iterator[None]:
        """Read what the index lacks of the archive. `earlier`: crawls with which it was compared, and folders of WARC
        files. Yields after each transaction. Raises `DirectoryRefused` and `sqlite3.Error`."""
        unread: dict[str, str] = {}
        paths = self._paths(earlier, unread)
        known = dict(self._database.execute("SELECT name, read FROM archive"))
        before = self.unread()
        for name, path in paths.items():
            if name in known and name not in before and _size(path) == known[name]:
                continue
            goes_on = True
            while goes_on:
                goes_on = False
                with noting(name, unread), self._changing():
                    goes_on = self._read_some(name, path, say)
                yield
        self.readable_again = before.keys() - unread.keys()
        gone = () if unread else known.keys() - paths.keys()
        if gone or not unread.items() <= before.items():
            with self._changing():
                for name in gone:
                    self._drop(name)
                self._note(unread)

    def _paths(self, earlier: Sequence[Path], unread: dict[str, str]) -> dict[str, Path]:
        """The files by their names, the oldest first; of several with a page, the last one counts."""
        found = list[Path]()
        for place in earlier:
            with noting(str(place), unread):
                found += (archive.path for archive in earlier_archives(place))
        for home in output_directories(self._directory):
            folder = CrawlDirectory(home).warc
            with noting(self._name(folder), unread):
                if folder.is_symlink():
                    folder.stat()  # its disk may be missing
                found += archives(folder)
        return {self._name(path): path for path in found}

    def _name(self, path: Path) -> str:
        path = final_path(path)
        return str(path.relative_to(self._directory) if path.is_relative_to(self._directory) else path.absolute())

    def _read_some(self, name: str, path: Path, say: Callable[[str], None]) -> bool:
        """Read a part of a file. Returns whether there is more."""
        try:
            file = _open(path)
        except FileNotFoundError:
            if final_path(path).is_symlink():  # to a disk that is missing
                raise
            return False  # the crawl has pruned it
        with file:
            place, read, tail = self._place(name)
            if tail_of(file, read) != tail:  # it was cut after a crash, or is another one
                self._database.execute("DELETE FROM capture WHERE archive = ?", (place,))
                read = 0
            is_open, index = file.name.endswith(OPEN), index_of(path)
            if index.exists() and not is_open:
                self._add(place, (entry for entry in entries_of(index) if entry[1] >= read))
                end, goes_on = file.seek(0, 2), False
            else:
                if not is_open and read == 0:
                    say(f"{path} has no index (.cdxj), so it is read")
                end, goes_on = self._read_members(place, file, read, say)
                end = end if is_open or goes_on else file.seek(0, 2)
            self._database.execute(
                "UPDATE archive SET read = ?, tail = ? WHERE id = ?", (end, tail_of(file, end), place)
            )
        return goes_on

    def _read_members(self, archive: int, file: BinaryIO, start: int, say: Callable[[str], None]) -> tuple[int, bool]:
        """Returns where it was read to, and whether there is more."""
        end = start
        for found in members(file, is_ours=is_ours, may_follow=may_follow, max_bytes=HEAD_BYTES, start=start):
            if isinstance(found, GzipMember):
                entry = entry_of(found)
                self._add(archive, () if entry is None else (entry,))
            elif found.torn:
                break  # as while the crawl writes a record
            else:
                say(f"{file.name}: bytes {found.start:,} to {found.end:,} are damaged, and left out")
            end = found.end
            if end - start >= _BYTES:
                return end, True
        return end, False

    def _place(self, name: str) -> tuple[int, int, bytes]:
        """The number of a file, how far it was read, and the digest of what is before that place."""
        query = "SELECT id, read, tail FROM archive WHERE name = ?"
        row = self._database.execute(query, (name,)).fetchone()
        if row is None:
            self._database.execute("INSERT INTO archive (name, read, tail) VALUES (?, 0, ?)", (name, _EMPTY))
            row = self._database.execute(query, (name,)).fetchone()
        place, read, tail = row
        return place, read, tail

    def _add(self, archive: int, entries: Iterable[tuple[int, int, int]]) -> None:
        rows = ((key, archive, offset, length) for key, offset, length in entries)
        self._database.executemany("INSERT OR REPLACE INTO capture VALUES (?, ?, ?, ?)", rows)

    def _drop(self, name: str) -> None:
        self._database.execute("DELETE FROM capture WHERE archive = (SELECT id FROM archive WHERE name = ?)", (name,))
        self._database.execute("DELETE FROM archive WHERE name = ?", (name,))


def tail_of(file: BinaryIO, end: int) -> bytes:
    """The digest of what is before a place. A file that was cut after a crash, or written anew, has something else
    there, although it may be longer by now."""
    start = max(0, end - _TAIL_BYTES)
    file.seek(start)
    return blake2b(file.read(end - start), digest_size=16).digest()


_EMPTY: Final = blake2b(b"", digest_size=16).digest()


def _open(path: Path) -> BinaryIO:
    with suppress(FileNotFoundError):  # the crawl may have finished it since
        return path.open("rb")
    return final_path(path).open("rb")


def _size(path: Path) -> int | None:
    with suppress(OSError):
        return path.stat().st_size
    return None


@contextmanager
def noting(name: str, unread: dict[str, str]) -> Iterator[None]:
    """A context in which an error is noted, and the rest goes on."""
    try:
        yield
    except OSError as error:
        unread[name] = why(error)


def why(error: OSError) -> str:
    return error.strerror or str(error)
