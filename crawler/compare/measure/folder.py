"""The directory of a comparison run: who may use it, and its files.

lock             held by the running process
trials.jsonl     the finished trials, from which a run is resumed; it marks the directory as that of a comparison
works/           links, as trials read them, and what trials write; only during a run
report.json      all samples, and the figures computed from them
report.html      the same for people
*.png            its plots
"""

import logging
import os
import shutil
from pathlib import Path
from typing import Self

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.compare.measure.trial import Done
from crawler.disk.permissions import lock_now

_LOG = logging.getLogger(__name__)


class FolderRefused(Exception):
    """The directory can't be used. Nothing was changed."""


class Folder:
    """The directory of a comparison. As a context it holds the lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    @property
    def journal(self) -> Path:
        return self.path / "trials.jsonl"

    @property
    def works(self) -> Path:
        return self.path / "works"

    def __enter__(self) -> Self:
        """Create the directory if it is missing, and lock it. Raises `FolderRefused`."""
        lock_path = self.path / "lock"
        try:
            if self._is_foreign():
                raise FolderRefused(
                    f"{self.path} holds files, but no comparison; they were not touched. "
                    "Choose a new or empty directory with --dir"
                )
            self.works.mkdir(parents=True, exist_ok=True)
            self.journal.touch()
            lock = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise FolderRefused(
                f"{self.path} can't be used: expected a writable directory, found: {error.strerror} "
                f"({error.filename}). Choose another with --dir"
            ) from error
        try:
            in_use = f"{self.path} is in use by another comparison; wait until it ends"
            lock_now(lock, lock_path, refused=FolderRefused, in_use=in_use)
        except FolderRefused:
            os.close(lock)
            raise
        self._lock = lock
        return self

    def _is_foreign(self) -> bool:
        """Whether it holds files, but no comparison. A crawl has a lock, too."""
        if not self.path.exists() or self.journal.exists():
            return False
        names = {each.name for each in self.path.iterdir()}
        # A run that was killed has left its lock beside its works, which are deleted at the end.
        has_works_of_others = self.works.name in names and "lock" not in names and any(self.works.iterdir())
        return has_works_of_others or not names <= {"lock", self.works.name}

    def __exit__(self, *_: object) -> None:
        assert self._lock is not None
        shutil.rmtree(self.works)
        os.close(self._lock)

    def clear(self) -> None:
        """Delete the trials of an earlier run, and its report."""
        self.journal.write_bytes(b"")
        for path in (self.path / "report.json", self.path / "report.html", *self.path.glob("*.png")):
            path.unlink(missing_ok=True)


class Journal:
    """Lines of JSON, one for each trial. A crash may leave the last line incomplete."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._done: dict[str, Done] = {}
        if path.exists():
            self._read()

    def outcome_of(self, key: str) -> Done | None:
        """The outcome of a trial; None if it is not finished."""
        return self._done.get(key)

    def add(self, done: Done) -> None:
        """Store a trial so that it survives a crash."""
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(done) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._done[done.key] = done

    def _read(self) -> None:
        decoder = msgspec.json.Decoder(Done)
        complete_bytes = 0
        with self._path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    break
                complete_bytes += len(line)
                try:
                    done = decoder.decode(line)
                except UNREADABLE as error:
                    _LOG.warning("%s:%d is not a trial, which is measured again: %s", self._path, number, error)
                else:
                    self._done[done.key] = done
        os.truncate(self._path, complete_bytes)
