"""Makes files of a copy again."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from crawler.copies.content import CopiedFile, Folder, stream
from crawler.copies.folder import CopyRefused, check_no_file, files_below
from crawler.copies.writing import Progress
from crawler.disk.directory import RESTORING
from crawler.disk.permissions import lock_now
from crawler.files.folders import is_open_as, sync_directory
from crawler.files.replacing import naming


@contextmanager
def restoring(directory: Path) -> Iterator[None]:
    """A context in which the files of a crawl come into a directory. Until it has ended well, no crawl opens there.
    Raises `CopyRefused` if the directory holds other files, or another process restores into it."""
    check_no_file(directory)
    mark = directory / RESTORING
    if not mark.exists():
        _check_is_empty(directory)
    directory.mkdir(parents=True, exist_ok=True)
    with _locked(mark) as is_new:
        if is_new:
            try:
                # Another restore may have ended since the directory was empty. Its files are none of ours.
                _check_is_empty(directory, besides=mark)
            except CopyRefused:
                mark.unlink()
                raise
        sync_directory(directory)
        for path in list(files_below(directory)):  # of a restore that was interrupted, perhaps from another copy
            if path != mark:
                path.unlink()
        yield
        mark.unlink()
        sync_directory(directory)


def _check_is_empty(directory: Path, *, besides: Path | None = None) -> None:
    if any(path != besides for path in files_below(directory)):
        raise CopyRefused(
            f"{directory} is not empty, and was not touched: restore into a new directory, or move that one away"
        )


@contextmanager
def _locked(mark: Path) -> Iterator[bool]:
    """A context in which nobody else restores into the directory of a mark. Yields whether the mark is new. Raises
    `CopyRefused`."""
    held, is_new = _open(mark)
    with held:
        in_use = f"another process restores a copy into {mark.parent}: wait until it has ended"
        lock_now(held, mark, refused=CopyRefused, in_use=in_use)
        if not is_open_as(held.fileno(), mark):
            raise _just_restored(mark)
        yield is_new


def _open(mark: Path) -> tuple[BinaryIO, bool]:
    """The open mark, and whether it is new. One that somebody deletes meanwhile is not made again: what lies beside it
    is whole then. Raises `CopyRefused`."""
    try:
        return mark.open("xb"), True
    except FileExistsError:
        try:
            return mark.open("r+b"), False
        except FileNotFoundError as error:
            raise _just_restored(mark) from error


def _just_restored(mark: Path) -> CopyRefused:
    return CopyRefused(f"another process has just restored a copy into {mark.parent}: look at that first")


def restore_files(folder: Folder, files: Iterable[tuple[CopiedFile, Path]], *, progress: Progress) -> None:
    """Write files of a copy to places, and bring them onto the disk. Raises `CopyRefused` for a damaged copy, and
    `OSError`."""
    files = list(files)
    total, done = sum(file.bytes for file, _ in files), 0
    folders = set()
    for file, place in files:
        place.parent.mkdir(parents=True, exist_ok=True)
        folders.update(list(place.parents)[: file.name.count("/") + 1])
        _restore(folder, file, place)
        done += file.bytes
        progress(done, total)
    for each in sorted(folders):
        sync_directory(each)


def _restore(folder: Folder, file: CopiedFile, place: Path) -> None:
    with naming(place), place.open("wb") as target:
        if (why := _read(folder, file, target.write)) is not None:
            raise CopyRefused(
                f"the copy is damaged: {why}. Restore an older copy; `onceover restore {folder.path} --check` lists "
                "all that is damaged"
            )
        target.flush()
        os.fsync(target.fileno())
    os.utime(place, ns=(file.modified_ns, file.modified_ns))


def damaged_files(folder: Folder, files: Iterable[CopiedFile], *, progress: Progress) -> Iterator[tuple[str, str]]:
    """The files whose contents are missing or damaged, and why. Reads everything."""
    files = list(files)
    total, done = sum(file.bytes for file in files), 0
    for file in files:
        if (why := _read(folder, file, len)) is not None:
            yield file.name, why
        done += file.bytes
        progress(done, total)


def _read(folder: Folder, file: CopiedFile, write: Callable[[bytes], object]) -> str | None:
    """Read a content. Returns what is wrong with it."""
    place = folder.place_of(file.sha256)
    try:
        with place.open("rb") as source:
            size, digest = stream(source, file.bytes + 1, write)
    except FileNotFoundError:
        return f"{place} is missing, the content of {file.name}"
    except OSError as error:
        if error.filename != str(place) or isinstance(error, PermissionError):
            raise  # it can't be written, or is no damage
        return f"{place}, the content of {file.name}, can't be read: {error.strerror}"
    if (size, digest) != (file.bytes, file.sha256):
        return (
            f"{place}, the content of {file.name}, has other bytes than were copied: expected {file.bytes:,} with the "
            f"SHA-256 of its name, found {size:,} with {digest}"
        )
    return None
