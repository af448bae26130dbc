"""Writes a copy of what was frozen."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from crawler.copies.content import CopiedFile, CopyList, Folder, stream
from crawler.copies.folder import CopyRefused
from crawler.copies.freezing import FrozenFile
from crawler.files.folders import sync_directory

Progress = Callable[[int, int], None]
"""Called with the bytes that were copied until now, and with those of all files."""

_UNNAMED: Final = "new"


class Copied(msgspec.Struct, frozen=True, kw_only=True):
    """Files that are in the copy now, and what that has cost."""

    files: tuple[CopiedFile, ...]
    new_files: int
    new_bytes: int


class CopyWriter:
    """Writes files into the folder of a copy, which is locked. What the last whole copy needs stays until `finish`."""

    def __init__(self, folder: Folder, last: CopyList | None) -> None:
        self._folder = folder
        self._kept = {(file.name, file.bytes, file.modified_ns): file for file in (last.files if last else ())}
        self._digests = {file.sha256 for file in self._kept.values()}
        self._new: set[Path] = set()

    def begin(self) -> None:
        """Delete what an interrupted copy has left: nobody can tell what of it is on the disk."""
        self._folder.keep_only(self._digests)

    def copy(self, files: Iterable[FrozenFile], *, progress: Progress) -> Copied:
        """Copy files that have not been copied yet, as far as they were frozen. Raises `OSError` and `CopyRefused`."""
        files = list(files)
        total, done, new_files, new_bytes = sum(file.bytes for file in files), 0, 0, 0
        copied = []
        for file in files:
            known = self._kept.get((file.name, file.bytes, file.modified_ns))
            if known is None or not self._is_there(known):
                known = self._copy(file)
                new_files, new_bytes = new_files + 1, new_bytes + known.bytes
            copied.append(known)
            done += file.bytes
            progress(done, total)
        return Copied(files=tuple(copied), new_files=new_files, new_bytes=new_bytes)

    def _is_there(self, file: CopiedFile) -> bool:
        try:
            return self._folder.place_of(file.sha256).stat().st_size == file.bytes
        except OSError:
            return False

    def _copy(self, file: FrozenFile) -> CopiedFile:
        unnamed = self._folder.place_of(_UNNAMED)
        unnamed.parent.mkdir(parents=True, exist_ok=True)
        try:
            with Path(file.place).open("rb") as source, unnamed.open("wb") as target:
                size, digest = stream(source, file.bytes, target.write)
        except FileNotFoundError as error:
            raise CopyRefused(
                f"{error.filename} was deleted while it was to be copied, so no new copy was made. Try again"
            ) from error
        place = self._folder.place_of(digest)
        if digest in self._digests and place.exists() and place.stat().st_size == size:
            unnamed.unlink()
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            unnamed.replace(place)
            self._new.add(place)
        return CopiedFile(name=file.name, bytes=size, sha256=digest, modified_ns=file.modified_ns)

    def finish(self, copy: CopyList) -> None:
        """Bring everything onto the disk, make this the whole copy, and delete what it does not need."""
        for place in sorted(self._new):
            descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        for folder in sorted({folder for place in self._new for folder in (place.parent, place.parent.parent)}):
            sync_directory(folder)
        needed = {file.sha256 for file in copy.files}
        self._digests |= needed  # if this fails from here on, nobody can tell which list is on the disk
        self._folder.write_list(copy)
        self._folder.keep_only(needed)

    def give_up(self) -> None:
        """Delete what was written. The last whole copy stays; so does this one, once it has begun to replace that."""
        with suppress(OSError):
            self._folder.keep_only(self._digests)
