"""What outlasts the daemon, in `DIR/daemon/`. A file is written aside and renamed, so a kill leaves the old one or the
new one."""

import asyncio
import errno
import fcntl
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, Self

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.disk.permissions import read_holder, to_write_there, why_not_lockable, write_holder
from crawler.files.replacing import replace_file
from crawler.serve.life.facts import Record, RunEntry

FOLDER: Final = "daemon"
OWNERS_FILE: Final = "token"
"""The file with the token of the owner, beside that folder."""


class HomeInUse(Exception):
    """Another daemon serves this folder, or it can't be locked or written to."""


def why_away(home: Path) -> str | None:
    """Why no crawl can start and nothing can be read while a daemon runs: somebody has moved its folder, or its disk is
    not mounted, or the daemon may not look into it. None if it is there."""
    try:
        if (home / FOLDER).is_dir():
            return None
    except OSError as error:
        mend = "let the user of the daemon do that, or end the daemon"
        return f"{home / FOLDER} can't be looked at: {error.strerror}; {mend}"
    return f"{home / FOLDER} is not there any more: move {home} back, or mount its disk, or end the daemon"


def relative_to_home(path: str, home: Path) -> str:
    """How a path is stored, so that it outlasts a move of the folder. Paths outside of it stay as they are."""
    return str(Path(path).relative_to(home)) if Path(path).is_relative_to(home) else path


class Home:
    """The folder of a daemon. As a context it is locked, so that only one daemon serves it.

    daemon/lock            held by the daemon, with its pid
    daemon/crawls/*.json   what is remembered of each crawl
    daemon/output/*        what the processes of each crawl print
    daemon/history/*       what each crawl did over time
    daemon/exports/*/*/    exports that somebody has asked for
    daemon/answers/*       answers to requests with a key, for those who repeat them
    daemon/told.json       which state of each crawl the operator was told last
    daemon/pace            the pace of hosts that several crawls ask
    daemon/daemon.log      what the daemon does
    daemon/audit.log       who has changed what, through the API
    daemon/tokens.json     the tokens of the API, but that of the owner
    daemon/api             the socket of the API
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path / FOLDER
        self.crawls = self.folder / "crawls"
        self.output = self.folder / "output"
        self.history = self.folder / "history"
        self.pace = self.folder / "pace"
        """The file by which its crawls keep the pace of hosts together."""
        self.told = self.folder / "told.json"
        self.log = self.folder / "daemon.log"
        self._lock: int | None = None

    def __enter__(self) -> Self:
        """Raises `HomeInUse` and `OSError`."""
        try:
            for folder in (self.folder, self.crawls, self.output):
                folder.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            raise HomeInUse(
                f"the folder {self.path} can't be served: expected one that the daemon can write to, found: "
                f"{error.strerror} ({error.filename}). Name another, or {to_write_there(error)}"
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = read_holder(lock)
            os.close(lock)
            if not isinstance(error, BlockingIOError):
                raise HomeInUse(why_not_lockable(self.folder / "lock", error)) from error
            raise HomeInUse(
                f"process {holder or 'unknown'} serves {self.path} already; `kill {holder or 'PID'}` ends that daemon"
            ) from error
        write_holder(lock, self.folder / "lock", f"{os.getpid()}\n", must=True)
        self._lock = lock
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            os.ftruncate(self._lock, 0)
            os.close(self._lock)
            self._lock = None

    def why_away(self) -> str | None:
        return why_away(self.path)

    def remembered(self) -> list[str]:
        """The names of the crawls of which there is a record."""
        return sorted(path.stem for path in self.crawls.glob("*.json"))

    def recall(self, name: str) -> tuple[Record, str | None]:
        """What is remembered of a crawl, and why that can't be read; nothing is remembered then. A damaged file is left
        as it is."""
        try:
            stored = msgspec.json.decode(self._place_of(name).read_bytes(), type=Record)
            return _with_paths(stored, lambda path: os.path.normpath(self.path / path)), None
        except FileNotFoundError:
            return Record(), None
        except OSError as error:
            mend = "let the user of the daemon read it, and the daemon its folder (SIGHUP)"
            return Record(), f"{error.filename}: {error.strerror}; {mend}"
        except UNREADABLE as error:
            mend = "put back a copy, or delete it if the crawl may start, and let the daemon read its folder (SIGHUP)"
            return Record(), f"{self._place_of(name)} is damaged: {error}; {mend}"

    def _place_of(self, name: str) -> Path:
        return self.crawls / f"{name}.json"

    def save(self, name: str, record: Record) -> None:
        """Store what is remembered of a crawl, so that it outlasts a power failure, and a move of the folder. Raises
        `OSError`."""
        self.crawls.mkdir(mode=0o700, exist_ok=True)
        stored = _with_paths(record, partial(relative_to_home, home=self.path))
        replace_file(self._place_of(name), msgspec.json.format(msgspec.json.encode(stored)))

    def forget(self, name: str) -> None:
        """Remove what is remembered of a crawl, and what its processes printed."""
        for suffix in ("out", "err"):
            (self.output / f"{name}.{suffix}").unlink(missing_ok=True)
        self._place_of(name).unlink(missing_ok=True)


def _with_paths(record: Record, changed: Callable[[str], str]) -> Record:
    """The record with other paths of its runs. `begun_in` stays: it tells whether the configuration, too, still names
    that path, where no other crawl may begin."""

    def moved(run: RunEntry) -> RunEntry:
        return msgspec.structs.replace(run, directory=changed(run.directory))

    place = None if record.place is None else changed(record.place)
    return msgspec.structs.replace(record, place=place, runs=tuple(map(moved, record.runs)))


class Memory:
    """What is remembered of one crawl. One at a time stores it: people and the crawl itself change it."""

    def __init__(self, home: Home, name: str) -> None:
        self._home, self._name = home, name
        self._stored = Record()
        self._is_forgotten = False
        self._turn = asyncio.Lock()
        self.unsaved: str | None = None
        """Why the next daemon would not know how the crawl is now."""

    def recall(self) -> tuple[Record, str | None]:
        """As `Home.recall`."""
        self._stored, unread = self._home.recall(self._name)
        return self._stored, unread

    async def save(self, record: Record) -> str | None:
        """Store it, if it has changed. If that can't be done now, `unsaved` tells why; returned once."""
        async with self._turn:
            before = self.unsaved
            try:
                if record != self._stored and not self._is_forgotten:
                    await asyncio.to_thread(self._home.save, self._name, record)
                self._stored, self.unsaved = record, None
            except OSError as error:
                self.unsaved = f"what is remembered of it can't be stored now: {error.strerror or error}"
            return None if self.unsaved == before else self.unsaved

    async def forget(self) -> None:
        """Remove it, also what is being stored, or would be by a request that still goes on."""
        async with self._turn:
            self._is_forgotten = True
            self._home.forget(self._name)
