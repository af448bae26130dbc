"""The directory of a crawl: where state and output are, and who may use it.

crawl.toml         the configuration of the last run
start.json         from which file and options that was read
crawl.toml.before  that of a crawl that was deleted, until the one that begins in its place has its own
lock               held by the running process, with its pid; by a command with what it does, too; then how a run ended
control            the socket by which a running crawl is controlled
parts.json         the parts of the crawl, if it has any; see `layout`
parts.next.json    the parts that it is to have, while it is being divided anew; see `layout`
lineages.json      which record numbers are left, once the crawl was copied; see `lineages`
public_suffix_list.dat  the list by which its parts divide the crawl, if it has any
claim.json         of a part of a crawl on many machines: when it was last opened, and in which crawl
frontier/          the frontier's state
frontier.before-*  copies from before a repair; frontier.repairing, while it is repaired
*.rebuilding       frontier and visited set, while they are rebuilt or deleted
visited/           snapshots of the visited set
records/*.jsonl    page records
warc/*.warc.gz     pages
earlier.sqlite     what earlier crawls have archived, to look it up; may be deleted, as search.sqlite: `onceover search`
sinks/*/           files of other sinks
pruned.json, pruned/    what was deleted of these, because it was old; see `pruned`
fingerprints/      of the texts of pages, to find near duplicates
logs/              crawl.log, course.json (its course over time), recrawls.json, added.jsonl, imported.jsonl.gz
browsers/          profiles of running browsers
copying/, restoring     while the crawl is copied, or restored from a copy
"""

import copy
import errno
import fcntl
import os
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Literal, Self

from crawler.disk.holders import typed_for
from crawler.disk.permissions import (
    read_holder,
    to_write_there,
    why_no_place,
    why_not_lockable,
    why_not_readable,
    why_not_writable,
    write_holder,
)
from crawler.files.content import BESIDE_SQLITE, has_rows, read_file
from crawler.files.folders import delete_folders, sync_directory
from crawler.files.replacing import replace_file

Purpose = Literal["run", "read", "change"]
COPYING, LINEAGES, RESTORING, READS = "copying", "lineages.json", "restoring", "reads"
REBUILDING = ("frontier.rebuilding", "visited.rebuilding")
_OF_COMMANDS = (READS, "changes")  # stands behind the pid in the lock
_OF_COMPARISON = ("trials.jsonl", "report.json")  # which has a lock of the same name, too
_OF_NEW_LEVELDB = ("LOG", "LOCK", "MANIFEST-")  # before it has anything to keep: a process may have died then


class DirectoryRefused(Exception):
    """The directory can't be used: it is locked, or it holds something else. Nothing was changed."""


class DirectoryInUse(DirectoryRefused):
    """Another process has locked the directory, or another crawl of this one."""

    def __init__(self, path: Path, holder: str) -> None:
        """`holder` is what stands in the lock."""
        pid, _, purpose = holder.partition(" ")
        self.pid = int(pid) if pid.isdecimal() else None
        self.is_command = self.pid is None or purpose in _OF_COMMANDS  # or it has not said yet what it does
        then = f"wait until it ends, or stop it: `onceover stop {path}` lets a crawl finish what is in flight"
        who = f"process {self.pid or 'unknown'}; {then}"
        if self.pid == os.getpid():
            who = "this process: close the other crawl first"
        elif purpose in _OF_COMMANDS:
            who = f"process {pid}, a command that {purpose} the crawl{typed_for(pid)}; repeat this when it has ended"
        super().__init__(f"the crawl directory {path} is in use by {who}")


class CrawlDirectory:
    """The directory of a crawl. As a context it holds the lock.

    The lock is the first file of a crawl, and it is only created in an empty directory. So it also tells a crawl from
    other people's files, which are never touched.
    """

    def __init__(self, path: Path, *, original: Path | None = None, to: Purpose = "run") -> None:
        """`original` is the directory that this one is a copy of, to be read instead of it. Who locks it `to` read
        leaves the time of the lock as it was: so that tells when somebody has last changed the crawl, or begun to."""
        self.path = path
        self.original = path if original is None else original
        self.ending = ""
        """How the last run ended, if that is known. It stands in the lock while nobody has that, until a run begins."""
        self._to = to
        self._lock: int | None = None
        self.frontier = path / "frontier"
        self.visited = path / "visited"
        self.records = path / "records"
        self.warc = path / "warc"
        self.earlier, self.search = path / "earlier.sqlite", path / "search.sqlite"
        self.made_anew = {
            path / f"{name}.sqlite{end}" for name in ("earlier", "search") for end in ("", *BESIDE_SQLITE)
        }
        self.sinks = path / "sinks"
        self.pruned, self.pruned_numbers = path / "pruned.json", path / "pruned"
        self.fingerprints = path / "fingerprints"
        self.browsers = path / "browsers"
        self.log = path / "logs" / "crawl.log"
        self.course = self.log.with_name("course.json")
        self.recrawls, self.added = self.log.with_name("recrawls.json"), self.log.with_name("added.jsonl")
        self.imported = self.log.with_name("imported.jsonl.gz")
        self.configuration = path / "crawl.toml"
        self.start, self.claim = path / "start.json", path / "claim.json"
        self.earlier_settings = path / "crawl.toml.before"
        self.lock, self.parts = path / "lock", path / "parts.json"
        self.division = path / "parts.next.json"
        self.suffixes = path / "public_suffix_list.dat"

    @property
    def earlier_configuration(self) -> Path | None:
        """The configuration of the crawl in this directory, or of the one in whose place it has begun, but not come so
        far; None if there is no crawl. Raises `DirectoryRefused`."""
        self.check_place()
        found = next((each for each in (self.configuration, self.earlier_settings) if each.exists()), None)
        return None if found is None or self.is_foreign() else found

    @property
    def output(self) -> tuple[Path, ...]:
        return (self.records, self.warc, self.sinks, self.pruned_numbers, self.fingerprints, self.log.parent)

    @property
    def own(self) -> tuple[Path, ...]:
        """All files and folders that the crawl makes."""
        made = (each for each in vars(self).values() if isinstance(each, Path))
        others = (*REBUILDING, COPYING, LINEAGES, RESTORING, "control", f"{self.frontier.name}.repairing")
        copies = self.path.glob(f"{self.frontier.name}.before-*")
        named = (*copies, *(self.path / name for name in others))
        return (*(each for each in made if each not in (self.path, self.original)), self.log.parent, *named)

    def has_state(self) -> bool:
        """Whether there is a frontier, even if it is damaged."""
        files = (path for path in self.frontier.rglob("*") if path.is_file() and path.stat().st_size)
        return self._has_leveldb() or any(not path.name.startswith(_OF_NEW_LEVELDB) for path in files)

    def _has_leveldb(self) -> bool:
        return (self.frontier / "CURRENT").exists() or any(
            path.suffix in (".ldb", ".log") and path.stat().st_size for path in self.frontier.glob("*.l*")
        )

    def new_copy(self) -> Path:
        """A free name for a copy of the frontier."""
        name = f"{self.frontier.name}.before-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}"
        places = (self.path / (name if number == 1 else f"{name}-{number}") for number in count(1))
        return next(place for place in places if not place.exists())

    def rebuilding(self) -> "CrawlDirectory":
        """The same crawl with its state in other places, where a new one may be built. What is there is of nobody."""
        other = copy.copy(self)
        other.frontier = self.path / REBUILDING[0]
        other.visited = self.path / REBUILDING[1]
        return other

    def take_rebuilt(self) -> Path | None:
        """Put the state that was built there in place of the old one, which is moved to where copies are. Returns its
        new directory; None if there was none."""
        new = self.rebuilding()
        delete_folders((self.visited,))  # first: it may look like one of the new frontier, which makes it anew
        old = self.frontier.rename(self.new_copy()) if self.has_state() else None
        if new.frontier.exists():  # else the state is on a server
            if self.frontier.is_symlink():
                self.frontier.unlink()
            delete_folders((self.frontier,))
            new.frontier.rename(self.frontier)
        if new.visited.exists() and not self.visited.exists():  # else it is a link to another disk
            new.visited.rename(self.visited)
        delete_folders((new.visited,))
        sync_directory(self.path)
        return old

    def has_output(self) -> bool:
        """Whether there is any output. A database without rows is none."""
        return any(
            path.is_file() and path.stat().st_size and not path.name.endswith(BESIDE_SQLITE) and has_rows(path)
            for folder in (self.records, self.warc, self.sinks)
            for path in folder.rglob("*")
        )

    def check_place(self) -> None:
        """Raise `DirectoryRefused` if the directory, or a folder of it, is a link to a missing disk, belongs to
        somebody else, or is a file."""
        try:
            of_sinks = self.sinks.iterdir() if self.sinks.is_dir() else ()
            aside = [self.path / name for name in REBUILDING]
            folders = [self.frontier, self.visited, *aside, *self.output]
            folders += [each for each in of_sinks if each.is_dir()]
            is_foreign = self.path.is_dir() and self.is_foreign()
            if why := why_no_place(self.path, folders, is_foreign=is_foreign):
                raise DirectoryRefused(why)
            if (self.path / RESTORING).exists():
                raise DirectoryRefused(f"{self.path} was restored in part: run the same `onceover restore` again")
            if not is_foreign and self.lock.exists() and not self.lock.is_file():
                raise DirectoryRefused(f"expected a file, found something else: {self.lock}; move it away")
            folders = [folder for folder in (self.path, self.frontier) if folder.is_dir()]
        except PermissionError:
            folders = [self.path]
        for folder in folders:
            if (why := why_not_readable(folder, with_files=folder == self.frontier)) is not None:
                raise DirectoryRefused(why)

    def __enter__(self) -> Self:
        """Create the directory if it is missing, and lock it. Raises `DirectoryRefused`."""
        self.check_place()
        try:
            if self.is_foreign():
                found = "the files of `onceover compare`" if self._has_comparison() else "files"
                raise DirectoryRefused(
                    f"{self.path} holds {found}, but no crawl; they were not touched. "
                    "Choose a new or empty directory with --dir"
                )
            self.path.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise
            instead = "Choose another with --dir" if self._to == "run" else "Run the command as the user of the crawl"
            raise DirectoryRefused(
                f"the crawl directory {self.path} can't be used: expected a writable directory, found: "
                f"{error.strerror} ({error.filename}). {instead}, or {to_write_there(error)}"
            ) from error
        try:
            self._check_frontier()
            self.flock(lock)
            left = read_holder(lock)
            self.ending = "" if left[:1].isdigit() else left  # else the pid of a process that was killed
            is_run = self._to == "run"
            self._write(lock, f"{os.getpid()}\n" if is_run else f"{os.getpid()} {self._to}s\n", must=is_run)
        except BaseException:
            os.close(lock)
            raise
        self._lock = lock
        return self

    def _check_frontier(self) -> None:
        """A frontier that can't be written to would look damaged."""
        if self.frontier.is_dir() and (why := why_not_writable(self.frontier)) is not None:
            raise DirectoryRefused(f"{why}. Nothing is damaged, and nothing was changed")

    def flock(self, lock: int) -> None:  # raises `DirectoryRefused`
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DirectoryInUse(self.path, read_holder(lock)) from error
        except OSError as error:
            raise DirectoryRefused(why_not_lockable(self.lock, error)) from error

    def _write(self, lock: int, holder: str, *, must: bool = False) -> None:
        before = os.fstat(lock)
        write_holder(lock, self.lock, holder, must=must)
        if self._to == "read":
            os.utime(lock, ns=(before.st_atime_ns, before.st_mtime_ns))

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            with suppress(OSError):  # the disk may take no writes any more: people must hear what ended because of that
                self._write(self._lock, self.ending)
            os.close(self._lock)
            self._lock = None

    def is_foreign(self) -> bool:
        """Whether it holds files, but no crawl. A copy of a crawl may lack the lock."""
        is_locked = self.lock.is_file() and not self._has_comparison()
        if not self.path.exists() or not any(self.path.iterdir()) or is_locked or self.parts.is_file():
            return False
        if self.configuration.is_file() and self.start.is_file():
            return False  # a run began there. Its frontier may be lost
        has_parts = any(CrawlDirectory(part).claim.is_file() for part in self.path.glob("part-*"))  # of other machines
        return not (has_parts or self._has_leveldb() or (self._names_a_frontier() and self.has_state()))

    def _has_comparison(self) -> bool:
        return not self.configuration.exists() and any((self.path / name).is_file() for name in _OF_COMPARISON)

    def _names_a_frontier(self) -> bool:
        """Whether its configuration names the backend of the frontier, as it does if that is no LevelDB."""
        import tomllib  # noqa: PLC0415 - new crawls have nothing to read

        try:
            frontier = tomllib.loads(read_file(self.configuration).decode()).get("frontier")
        except (FileNotFoundError, ValueError, RecursionError):
            return False
        return isinstance(frontier, dict) and "backend" in frontier

    def write_configuration(self, text: str, *, start: bytes | None = None) -> None:
        """A run begins: write its configuration, in one step that survives a power failure. `start` says from which
        file and options it was read; it is empty if a program gave it, and None leaves that as it is."""
        self.ending = ""
        if start is not None:
            replace_file(self.start, start)
        replace_file(self.configuration, text.encode())
        self.earlier_settings.unlink(missing_ok=True)
