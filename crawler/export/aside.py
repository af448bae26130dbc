"""Where an export goes: to a stream, or to a file that lies beside its place until it is complete; temporary files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from crawler.codes.full_disk import DISK_FULL
from crawler.disk.layout import own_place
from crawler.disk.permissions import lock_now
from crawler.export.writers import ExportRefused
from crawler.files.folders import is_open_as, opened_folder, sync_directory

_OPEN: Final = ".open"

Target = Path | BinaryIO
"""A file to make, or a stream to write to, such as stdout."""


@contextmanager
def written_to(target: Target, *, may_replace: bool) -> Iterator[BinaryIO]:
    """A file to write: a stream as it is, or one as `written_aside`, whose folder is made."""
    if not isinstance(target, Path):
        yield target
        target.flush()
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with written_aside(target, may_replace=may_replace) as file:
        yield file


@contextmanager
def written_aside(path: Path, *, may_replace: bool = True) -> Iterator[BinaryIO]:
    """A file to write, as `NAME.open`. At the end of the context it is brought onto the disk and gets its name; after
    an error it is removed. A link stays, and what it leads to is replaced. Raises `ExportRefused` if another process
    writes it, or if it exists and may not be replaced."""
    place = Path(os.path.realpath(path))  # `resolve` raises at links in a circle
    aside = place.with_name(place.name + _OPEN)
    descriptor = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with _named_if_full(path), os.fdopen(descriptor, "w+b") as file:
        _lock(file.fileno(), path)
        if not is_open_as(file.fileno(), aside):
            raise ExportRefused(f"another export has just written {path}: begin anew with --overwrite")
        file.truncate(0)
        try:
            # Only now, because another export may have written it meanwhile.
            ensure_writable(path, may_replace=may_replace)
            yield file
            file.flush()
            os.fsync(file.fileno())
            aside.rename(place)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
    sync_directory(place.parent)


@contextmanager
def _named_if_full(path: Path) -> Iterator[None]:
    """A context in which the error of a full disk names the file: the crawl may lie on another disk."""
    try:
        yield
    except OSError as error:
        if error.errno in DISK_FULL and error.filename is None:
            error.filename = str(path)
        raise


def ensure_writable(path: Target, *, may_replace: bool) -> None:
    """Raises `ExportRefused` if there is something that may not be replaced."""
    if not isinstance(path, Path):
        return
    ensure_no_device(path)
    if path.is_dir() or (path.exists() and not may_replace):
        raise ExportRefused(f"{path} exists: name another file, or replace a file with --overwrite")


def ensure_no_device(path: Path) -> None:
    """Raises `ExportRefused` for what can't be replaced, such as /dev/stdout."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ExportRefused(f"{path} is a device or a pipe: name a file; --to - is standard output, for some formats")


def ensure_apart(to: Target, directory: Path) -> None:
    """Raises `ExportRefused` if a place is one where the crawl in a directory itself writes, and `DirectoryRefused`."""
    if not isinstance(to, Path):
        return
    own = own_place(directory, to)
    if own is not None:
        lies = "belongs to" if own.resolve() == to.resolve() else f"lies in {own}, which belongs to"
        raise ExportRefused(f"{to} {lies} the crawl itself: name another place")


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Lets no other export write into a folder. Raises `ExportRefused`."""
    with opened_folder(folder) as descriptor:
        _lock(descriptor, folder)
        yield


def _lock(descriptor: int, path: Path) -> None:
    in_use = f"another export writes to {path}: wait until it ends, or name another place"
    lock_now(descriptor, path, refused=ExportRefused, in_use=in_use)
