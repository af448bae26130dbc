"""The folders of exports. All of this blocks."""

import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.disk.directory import DirectoryRefused
from crawler.export.archives import archives_of
from crawler.export.manifest import Manifest, manifest_path, read_manifest
from crawler.export.writers import ExportRefused
from crawler.files.replacing import replace_file
from crawler.serve.exports.forms import ExportBody, ExportedFile, ExportForm, StoredExport
from crawler.serve.life.summary import moment_text
from crawler.serve.records import relative_to_home

MAX_EXPORTS: Final = 100
"""The most exports of a crawl."""
_ID: Final = re.compile(r"[0-9]{8}T[0-9]{6}(?:-[0-9]{1,4})?")
DESCRIPTION: Final = "export.json"
_OPEN: Final = ".open"


class TooMany(Exception):
    """A crawl has too many exports. The message says what to do."""


class StillWritten(Exception):
    """A process still writes the export."""


class ExportFolders:
    """The exports of all crawls of a daemon.

    CRAWL/ID/export.json   what it is, and how far
    CRAWL/ID/files/        its files
    CRAWL/ID/messages      what the command says
    """

    def __init__(self, folder: Path) -> None:
        """`folder` is `daemon/exports` in the folder of the daemon."""
        self._folder = folder
        self._home = folder.parent.parent

    def add(self, crawl: str, directory: str, what: ExportBody) -> StoredExport:
        """Store a new export, which waits. Raises `TooMany` and `OSError`."""
        if len(self.all_of(crawl)) >= MAX_EXPORTS:
            raise TooMany(f"{crawl} has {MAX_EXPORTS} exports: delete some of them first")
        now = time.time()
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
        for number in range(1, MAX_EXPORTS + 2):
            name = stamp if number == 1 else f"{stamp}-{number}"
            try:
                (self._folder / crawl / name).mkdir(parents=True)
            except FileExistsError:
                continue
            export = StoredExport(
                id=name,
                crawl=crawl,
                directory=directory,
                what=what,
                state="waiting",
                asked_at=moment_text(now),
                begun_at=None,
                ended_at=None,
                message=None,
            )
            try:
                self.store(export)
            except OSError:
                shutil.rmtree(self.of(export), ignore_errors=True)
                raise
            return export
        raise TooMany(f"{crawl} has too many exports of one second: ask again later")

    def store(self, export: StoredExport) -> None:
        """Raises `OSError`."""
        kept = msgspec.structs.replace(export, directory=relative_to_home(export.directory, self._home))
        replace_file(self.of(export) / DESCRIPTION, msgspec.json.encode(kept))

    def find(self, crawl: str, name: str) -> StoredExport | None:
        if not _ID.fullmatch(name):
            return None
        try:
            content = (self._folder / crawl / name / DESCRIPTION).read_bytes()
            kept = msgspec.json.decode(content, type=StoredExport)
            return msgspec.structs.replace(kept, directory=os.path.normpath(self._home / kept.directory))
        except (OSError, *UNREADABLE):
            return None

    def all_of(self, crawl: str) -> list[StoredExport]:
        """The newest first."""
        folder = self._folder / crawl
        names = (path.name for path in (folder.iterdir() if folder.is_dir() else ()) if _ID.fullmatch(path.name))
        found = (self.find(crawl, name) for name in sorted(names, key=_order, reverse=True))
        return [each for each in found if each is not None]

    def unfinished(self) -> list[StoredExport]:
        """Those that wait, or that a daemon left, in the order in which they were asked for."""
        crawls = [path.name for path in self._folder.iterdir()] if self._folder.is_dir() else []
        found = [each for crawl in crawls for each in self.all_of(crawl) if each.state in ("running", "waiting")]
        return sorted(found, key=lambda each: (each.state != "running", each.asked_at, _order(each.id)))

    def delete(self, export: StoredExport) -> None:
        """Delete an export with its files. After a crash it can be deleted again, because its description goes last.
        Raises `StillWritten` and `OSError`."""
        folder = self.of(export)
        lock = self.lock(export)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for path in folder.iterdir():
                if path.is_dir():
                    shutil.rmtree(path)
                elif path.name != DESCRIPTION:
                    path.unlink()
            (folder / DESCRIPTION).unlink(missing_ok=True)
            folder.rmdir()
        except BlockingIOError as error:
            raise StillWritten(f"the process that writes the export {export.id} is ending: ask again") from error
        finally:
            os.close(lock)

    def lock(self, export: StoredExport) -> int:
        """The file that whoever writes an export has locked, opened. Raises `OSError`."""
        return os.open(self.of(export) / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def of(self, export: StoredExport) -> Path:
        return self._folder / export.crawl / export.id

    def files_of(self, export: StoredExport) -> Path:
        return self.of(export) / "files"

    def form(self, export: StoredExport) -> ExportForm:
        """What is told of an export."""
        files = tuple(_complete_files(self.files_of(export)))
        manifest = None
        if export.what.format != "wacz":
            with suppress(ExportRefused, OSError):
                manifest = read_manifest(manifest_path(self.files_of(export), export.what.table))
        return ExportForm(
            **msgspec.structs.asdict(export),
            share=1.0 if export.state == "complete" else self._share(export, manifest),
            rows=None if manifest is None else manifest.rows,
            files=files,
        )

    def path_of(self, export: StoredExport, file: str) -> Path | None:
        """Where a complete file of an export is; None if it has no such file."""
        names = {each.name for each in _complete_files(self.files_of(export))}
        return self.files_of(export) / file if file in names else None

    def _share(self, export: StoredExport, manifest: Manifest | None) -> float | None:
        if export.state == "waiting":
            return 0.0
        if export.what.format == "wacz":
            written = sum(_size(path) or 0 for path in self.files_of(export).glob(f"*{_OPEN}"))
            try:
                whole = sum(archive.size for archive in archives_of(Path(export.directory), None))
            except (DirectoryRefused, OSError):  # the command that makes the export tells why
                return None
            return min(written / whole, 0.99) if whole else None
        if manifest is None:
            return None
        whole = sum(file.size for file in manifest.snapshot)
        at = manifest.position
        done = sum(file.size for file in manifest.snapshot[: at.file]) + at.offset
        return done / whole if whole else None


def _complete_files(folder: Path) -> Iterator[ExportedFile]:
    """Below a folder, without what is being written, and without notes."""
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if path.is_file() and not path.name.endswith((_OPEN, ".new")) and not path.name.startswith("_"):
            size = _size(path)
            if size is not None:
                yield ExportedFile(name=str(path.relative_to(folder)), bytes=size)


def _size(path: Path) -> int | None:
    """In bytes; None if it is gone meanwhile, as when it was completed or its export was deleted."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def _order(name: str) -> tuple[str, int]:
    stamp, _, number = name.partition("-")
    return stamp, int(number or 1)
