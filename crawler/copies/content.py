"""What a copy of a crawl holds, and where.

copy.json       the list of its files: a `CopyList`. It is replaced in one step, so it is that of a whole copy
content/ab/…    each content, in a file named by its SHA-256
lock            held by who writes or reads the copy
"""

import errno
import hashlib
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from crawler.codes.full_disk import DISK_FULL
from crawler.copies.folder import CopyRefused, files_below
from crawler.disk.lineages import Block
from crawler.disk.permissions import lock_now
from crawler.files.replacing import replace_file

VERSION: Final = 1
_LIST: Final = "copy.json"
_CONTENT: Final = "content"
_LOCK: Final = "lock"
_PIECE_BYTES: Final = 1 << 20


class CopiedFile(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One file of the crawl."""

    name: str
    """Below the directory of the crawl."""
    bytes: int
    sha256: str
    modified_ns: int


class CopiedPart(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a crawl, or of one of its parts, at a moment."""

    directory: str
    """Below the directory of the crawl; empty if the crawl is not in parts."""
    part: int | None = None
    at: str
    settled: int
    queued: int


class CopyList(msgspec.Struct, frozen=True, kw_only=True):
    """A whole copy."""

    version: int = VERSION
    crawl: str
    """The name of the crawl, which all its copies have."""
    directory: str
    """Where the crawl was."""
    only_part: int | None = None
    """The part of which this is a copy; None if it is one of the whole crawl."""
    generation: str | None
    """The name of how the crawl was divided; None if it was not in parts."""
    is_cluster: bool = False
    """Whether the crawl is on many machines, and this is a copy of what one of them has."""
    ended_at: str
    parts: tuple[CopiedPart, ...]
    lineages: Block
    """Lineages for the crawls that are restored from this copy. If they are used up, these draw some at random."""
    drawn: tuple[Block, ...] = ()
    """What the crawl, and those that were restored from this copy, have drawn at random."""
    used_below: int = 1
    """The crawl may have used all lineages below."""
    files: tuple[CopiedFile, ...]

    @property
    def size(self) -> int:
        return sum(file.bytes for file in self.files)


class Folder:
    """The folder of a copy."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read_list(self) -> CopyList | None:
        """The whole copy; None if there is none. Raises `CopyRefused` if it can't be read."""
        path = self.path / _LIST
        try:
            content = path.read_bytes()
            version = msgspec.json.decode(content, type=_Versioned).version
            if version != VERSION:
                raise CopyRefused(
                    f"{path} has version {version}, and this onceover reads version {VERSION}; use the version that "
                    "wrote it"
                )
            copy = msgspec.json.decode(content, type=CopyList)
            for name in (
                *(file.name for file in copy.files),
                *(each.directory for each in copy.parts if each.directory),
            ):
                _check_is_below(name)
            return copy
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, RecursionError) as error:
            then = (
                "It lists the files of the copy: without it, the copy is lost, and another one has to be made, in "
                "another folder"
            )
            if isinstance(error, PermissionError):
                then = "Run the command as the user who made the copy"
            raise CopyRefused(f"{path} can't be read: {error}. {then}") from error

    def write_list(self, copy: CopyList) -> None:
        replace_file(self.path / _LIST, msgspec.json.encode(copy) + b"\n")

    def place_of(self, digest: str) -> Path:
        return self.path / _CONTENT / digest[:2] / digest

    def keep_only(self, digests: Collection[str]) -> None:
        """Delete all other contents, and whatever else lies among them."""
        for path in files_below(self.path / _CONTENT):
            if path.name not in digests:
                path.unlink()
        for folder, _, _ in os.walk(self.path / _CONTENT, topdown=False):
            with suppress(OSError):  # it is not empty
                Path(folder).rmdir()

    def is_strange(self) -> bool:
        """Whether it holds other files than those of copies."""
        ours = {_LIST, _CONTENT, _LOCK, "copy.new"}
        return self.path.exists() and not {entry.name for entry in self.path.iterdir()} <= ours

    @contextmanager
    def locked(self, *, to_write: bool) -> Iterator[bool]:
        """A context in which nobody else uses the copy. Yields whether it can be written to. Raises `CopyRefused`."""
        try:
            if to_write:
                self.path.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            if not to_write and error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT):
                yield False
                return
            if error.errno in DISK_FULL:
                raise
            raise CopyRefused(f"the copy in {self.path} can't be used: {error.strerror} ({error.filename})") from error
        try:
            in_use = f"another process uses the copy in {self.path}: wait until it has ended"
            lock_now(descriptor, self.path / _LOCK, refused=CopyRefused, in_use=in_use)
            yield True
        finally:
            os.close(descriptor)


def _check_is_below(name: str) -> None:
    """Raise `ValueError` for a name that would lead out of the directory of a crawl."""
    parts = name.split("/")
    if "\0" in name or not {"", ".", ".."}.isdisjoint(parts):
        raise ValueError(f"expected the name of a file below the directory of a crawl, found {name[:200]!r}")


class _Versioned(msgspec.Struct):
    version: int = VERSION


def stream(source: BinaryIO, size: int, write: Callable[[bytes], object]) -> tuple[int, str]:
    """Hand the first `size` bytes of a file to `write`, in pieces. Returns how many there were, and their digest.
    Raises `OSError`, which names the file if that can't be read."""
    digest, left = hashlib.sha256(), size
    while left and (piece := _read_piece(source, min(left, _PIECE_BYTES))):
        write(piece)
        digest.update(piece)
        left -= len(piece)
    return size - left, digest.hexdigest()


def _read_piece(source: BinaryIO, size: int) -> bytes:
    try:
        return source.read(size)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(source.name)) from error
