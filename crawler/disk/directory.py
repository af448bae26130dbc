"""A crawl's directory: where state and output lie, and who may use it.

crawl.toml         the configuration, as run
lock               held by the running process, with its pid
frontier/          the frontier's LevelDB
frontier.before-*  what it was before a repair
visited/           snapshots of the visited set
records/*.jsonl    page records
warc/*.warc.gz     pages
logs/crawl.log
browsers/          profiles of browsers, while they run
"""

import errno
import fcntl
import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Self


class DirectoryRefused(Exception):
    """The directory can't be used as asked: locked or of another kind. Nothing has been changed."""


class CrawlDirectory:
    """Holds the lock of a crawl's directory while it is entered.

    The lock is the first file of a crawl, and only made where nothing else is: so it also tells a crawl from files of
    other people, of which none is ever touched.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    @property
    def frontier(self) -> Path:
        return self.path / "frontier"

    @property
    def visited(self) -> Path:
        return self.path / "visited"

    @property
    def records(self) -> Path:
        return self.path / "records"

    @property
    def warc(self) -> Path:
        return self.path / "warc"

    @property
    def browsers(self) -> Path:
        return self.path / "browsers"

    @property
    def log(self) -> Path:
        return self.path / "logs" / "crawl.log"

    @property
    def configuration(self) -> Path:
        return self.path / "crawl.toml"

    @property
    def earlier_configuration(self) -> Path | None:
        """That of the crawl that lies here, if one does."""
        return self.configuration if self.configuration.exists() and not self._is_foreign() else None

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    def has_state(self) -> bool:
        """Whether there is a frontier, be it damaged."""
        return (self.frontier / "CURRENT").exists() or any(
            path.suffix in (".ldb", ".log") and path.stat().st_size for path in self.frontier.glob("*.l*")
        )

    def has_output(self) -> bool:
        """Whether something was written."""
        return any(
            path.is_file() and path.stat().st_size for folder in (self.records, self.warc) for path in folder.glob("*")
        )

    def __enter__(self) -> Self:
        """Create the directory if need be, and lock it. Raises `DirectoryRefused`."""
        try:
            if self._is_foreign():
                raise DirectoryRefused(
                    f"{self.path} holds files, but no crawl; they are left as they are. "
                    "Choose a new or empty directory with --dir"
                )
            self.path.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise
            raise DirectoryRefused(
                f"the crawl directory {self.path} can't be used: expected a directory that can be written to, found: "
                f"{error.strerror} ({error.filename}). Choose another with --dir, or mend its permissions"
            ) from error
        try:
            self._take(lock)
        except BaseException:
            os.close(lock)
            raise
        self._lock = lock
        return self

    def _take(self, lock: int) -> None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(lock, 32, 0).decode("ascii", "replace").strip()
            raise DirectoryRefused(
                f"the crawl directory {self.path} is in use by process {holder or 'unknown'}; "
                "wait until it ends, or stop it (kill -INT lets it finish what is in flight)"
            ) from error
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            os.ftruncate(self._lock, 0)
            os.close(self._lock)
            self._lock = None

    def _is_foreign(self) -> bool:
        """Whether it holds files, but no crawl."""
        return self.path.exists() and any(self.path.iterdir()) and not (self.lock.is_file() or self.has_state())

    def write_configuration(self, text: str) -> None:
        """Write what the crawl is run with; whole, or not at all."""
        aside = self.configuration.with_suffix(".new")
        aside.write_text(text, encoding="utf-8")
        aside.replace(self.configuration)

    def clear(self) -> None:
        """Delete state and output, and nothing else that may lie there; the state first, so that none is resumed whose
        output is gone."""
        copies = self.path.glob(f"{self.frontier.name}.before-*")
        for part in (self.frontier, *copies, self.visited, self.records, self.warc, self.log.parent):
            if part.exists():
                shutil.rmtree(part)
        self.configuration.unlink(missing_ok=True)
