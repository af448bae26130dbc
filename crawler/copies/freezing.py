"""Keeps a crawl as it is at one moment, so that it can be copied while it goes on."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import msgspec

from crawler.disk.directory import COPYING, CrawlDirectory, DirectoryRefused
from crawler.disk.pruned import read_pruned
from crawler.files.content import BESIDE_SQLITE
from crawler.write.cdxj.making import SUFFIX, serial_of

LinkFrontier = Callable[[Path, Path], Mapping[str, int]]
"""Links the files of the frontier into a folder, and returns their lengths."""

_LIST: Final = "files.json"
_CONTENT: Final = "files"
_SQLITE: Final = b"SQLite format 3\0"
_UNFINISHED: Final = ".new"
_OUTPUT: Final = (".warc.gz", ".jsonl")


class FrozenFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was: its first bytes are those of that moment."""

    name: str
    """Below the directory of the crawl."""
    bytes: int
    modified_ns: int
    place: str
    """Where to read it."""


class Freezing:
    """Freezes one crawl: call `prepare`, which may take long, then `freeze`, between two changes, then `finish`, which
    may take long. All raise `OSError`."""

    def __init__(self, directory: CrawlDirectory, *, folder: Path | None = None) -> None:
        """It links into `folder`, or into the one of the directory (`frozen_folder`)."""
        self._directory = directory
        self._folder = (folder or directory.path / COPYING).absolute()
        self._content = self._folder / _CONTENT
        self._frozen: list[FrozenFile] = []
        self._databases: list[tuple[str, _Database]] = []

    def prepare(self, link_ahead: Callable[[Path, Path], None]) -> None:
        """Link what is there already. The crawl may go on meanwhile."""
        frontier = self._content / self._directory.frontier.name
        frontier.mkdir(parents=True, exist_ok=True)
        link_ahead(self._directory.frontier, frontier)
        for folder, name in _folders(self._directory):
            (self._content / name).mkdir(parents=True, exist_ok=True)
            for entry in _files_in(folder, self._directory):
                with suppress(OSError):  # `freeze` tells
                    (self._content / name / entry.name).hardlink_to(entry.path)

    def freeze(self, link: LinkFrontier) -> None:
        """Freeze the crawl as it is now. Nobody may change it meanwhile."""
        frontier = self._directory.frontier
        for name, size in link(frontier, self._content / frontier.name).items():
            place = self._content / frontier.name / name
            modified_ns = place.stat().st_mtime_ns
            self._frozen.append(
                FrozenFile(name=f"{frontier.name}/{name}", bytes=size, modified_ns=modified_ns, place=str(place))
            )
        for folder, name in _folders(self._directory):
            # Another thread may delete archives: each goes before those to which it refers, which are older.
            for entry in sorted(_files_in(folder, self._directory), key=_age):
                with suppress(FileNotFoundError):  # another thread has just replaced or deleted it
                    self._freeze_file(entry, f"{name}/{entry.name}" if name else entry.name)

    def _freeze_file(self, entry: os.DirEntry[str], name: str) -> None:
        if name.startswith(f"{self._directory.sinks.name}/") and (database := _database(entry)) is not None:
            self._databases.append((name, database))
            return
        source = Path(entry.path).resolve() if entry.is_symlink() else Path(entry.path)
        link, status = self._content / name, source.stat()
        place = str(link)
        try:
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.exists() or link.stat().st_ino != status.st_ino:
                link.unlink(missing_ok=True)
                link.hardlink_to(source)
                status = link.stat()  # another thread may just have replaced it
        except FileNotFoundError:
            raise
        except OSError:  # it lies on another disk
            place = str(source.absolute())
        self._frozen.append(FrozenFile(name=name, bytes=status.st_size, modified_ns=status.st_mtime_ns, place=place))

    def finish(self) -> Path:
        """Copy the files of SQLite, and write the list of all files. Returns where it is."""
        self._leave_out_deleted()
        for name, database in self._databases:
            copy = self._content / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.unlink(missing_ok=True)
            database.copy_to(copy)
            status = copy.stat()
            self._frozen.append(
                FrozenFile(name=name, bytes=status.st_size, modified_ns=status.st_mtime_ns, place=str(copy.absolute()))
            )
        self._folder.mkdir(exist_ok=True)
        listed = self._folder / _LIST
        listed.write_bytes(msgspec.json.encode(self._frozen))
        return listed

    def _leave_out_deleted(self) -> None:
        """Leave out what was deleted after it was linked, and is listed as deleted: nobody would delete it again."""
        with suppress(DirectoryRefused):  # the copy has the damaged list as it is
            frozen = CrawlDirectory(self._content)
            gone = {file.name for file in read_pruned(frozen).files if file.is_deleted}
            gone = {name for name in gone if not (self._directory.path / name).exists()}  # others were put back
            gone |= {f"{name}{SUFFIX}" for name in gone}
            self._frozen = [file for file in self._frozen if file.name not in gone]

    def close(self) -> None:
        for _, database in self._databases:
            database.close()
        self._databases.clear()


def read_frozen(listed: Path) -> list[FrozenFile]:
    return msgspec.json.decode(listed.read_bytes(), type=list[FrozenFile])


def freeze_output(directory: CrawlDirectory, folder: Path) -> list[FrozenFile]:
    """Freeze a directory that only has output, or that has parts below it, in a folder. Another process may delete old
    output meanwhile. Raises `OSError`."""
    with closing(Freezing(directory, folder=folder)) as freezing:
        freezing.freeze(lambda _source, _target: {})
        return read_frozen(freezing.finish())


def _folders(directory: CrawlDirectory) -> Iterator[tuple[Path, str]]:
    """The folders to copy, with their names below the directory; not that of the frontier. Those that a link leads to
    lie on another disk.

    The crawl may delete old output meanwhile, which it lists first. So the list in its directory comes after the
    output, and the record numbers of what is listed come after the list."""
    output = (directory.records, directory.warc, directory.sinks, directory.fingerprints, directory.log.parent)
    for top in (*output, directory.path, directory.pruned_numbers):
        for path, below, _ in os.walk(top, onerror=_raise_unless_missing):
            if top == directory.path:
                below.clear()
            name = str(Path(path).relative_to(directory.path))
            yield Path(path), "" if name == "." else name


def _raise_unless_missing(error: OSError) -> None:
    """`os.walk` would pass over a folder that may not be read, and the copy would lack it."""
    if not isinstance(error, FileNotFoundError):
        raise error


def _files_in(folder: Path, directory: CrawlDirectory) -> list[os.DirEntry[str]]:
    """Without what can be made anew, and what belongs to the running process. Raises `OSError` for a name that no list
    can hold, and for an output file on a disk that is missing."""
    made_anew = {each.name for each in directory.made_anew} if folder == directory.path else set()
    with os.scandir(folder) as entries:
        found = [
            each
            for each in entries
            if each.name not in ("lock", "control")
            and each.name not in made_anew
            and not each.name.endswith((_UNFINISHED, *BESIDE_SQLITE))
            and (each.is_file() or _leads_nowhere(each))
        ]
    for each in found:
        if _leads_nowhere(each):
            raise OSError(f"{each.path} links to what is missing; mount its disk, or delete the link")
        try:
            each.path.encode()
        except UnicodeEncodeError as error:
            raise OSError(
                f"{each.path!a} can't be copied: its name is not UTF-8; rename it, or move it away"
            ) from error
    return found


def _leads_nowhere(entry: os.DirEntry[str]) -> bool:
    """Whether it is an output file that is a link to what is missing, as on a disk that is not mounted."""
    path = Path(entry.path)
    # The crawl may have deleted the link by now.
    return entry.is_symlink() and entry.name.endswith(_OUTPUT) and not path.exists() and path.is_symlink()


def _age(entry: os.DirEntry[str]) -> tuple[int, str]:
    """Archives come in the order written, each before its index."""
    return serial_of(Path(entry.name.removesuffix(SUFFIX))), entry.name


class _Database(msgspec.Struct, frozen=True):
    """A file of SQLite as it was at one moment."""

    copy_to: Callable[[Path], None]
    """Raises `OSError`."""
    close: Callable[[], None]


def _database(entry: os.DirEntry[str]) -> _Database | None:
    """A file of SQLite as it is now; None if it is no such file. Raises `OSError`.

    Only SQLite may open it in this process. Whoever closes a file drops all locks that the process has on it (POSIX),
    those of a sink, too. The next process that has read it would then delete the sink's write-ahead log."""
    if entry.stat().st_size < len(_SQLITE):
        return None  # SQLite takes an empty file for a database
    import sqlite3  # noqa: PLC0415 - few crawls have such files, and it takes a megabyte

    from crawler.write.database.sqlite_file import as_os_error  # noqa: PLC0415 - as above

    try:
        database = sqlite3.connect(entry.path, check_same_thread=False, isolation_level=None)
        try:
            database.execute("BEGIN")
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.DatabaseError as error:
            database.close()
            if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
                return None
            raise
    except sqlite3.Error as error:
        raise as_os_error(error, Path(entry.path)) from error

    def copy_to(place: Path) -> None:
        try:
            with closing(sqlite3.connect(place)) as copy:
                database.backup(copy, pages=1000)
        except sqlite3.Error as error:
            raise as_os_error(error, place) from error

    return _Database(copy_to, database.close)
