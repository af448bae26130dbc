"""Which lineages a crawl may still draw, so that no record number is given twice, not even by copies of the crawl.

A lineage stands above the counter in the numbers of records (`layout`). A crawl draws them from below, whenever it is
divided. A backup sets some aside from above, for a crawl that is restored from it: that draws only these. So the
numbers of both differ, also if both live on. `lineages.json` says what is left, and names the crawl and its copies.
"""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from crawler.disk.directory import LINEAGES, DirectoryRefused
from crawler.disk.durable_file import read_file, replace_file
from frontier import MAX_LINEAGE

_TIMES: Final = 4
_SPARE: Final = 1024
_SHARE: Final = 4
"""A copy gets `_TIMES` lineages for each part, and `_SPARE` more, since it may be divided and copied, too; but no more
than one `_SHARE`th of what is left, unless its parts alone need more."""


class Lineages(msgspec.Struct, frozen=True, kw_only=True):
    """What is left to one crawl."""

    crawl: str
    """A random name. Copies of one crawl have the same."""
    first: int = 1
    """All lineages below are used up. So may be some from there on, as the layout says."""
    last: int = MAX_LINEAGE


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive lineages that are set aside."""

    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1


def read_lineages(directory: Path) -> Lineages:
    """Those of the crawl in a directory. Raises `DirectoryRefused` if the file can't be read."""
    path = directory / LINEAGES
    try:
        return msgspec.json.decode(read_file(path), type=Lineages)
    except FileNotFoundError:
        return Lineages(crawl="")
    except (OSError, ValueError, RecursionError) as error:
        raise DirectoryRefused(
            f"{path} can't be read: {error}. It says which record numbers are left: restore a copy of that file"
        ) from error


def whole_lineage(directory: Path) -> int:
    """The one that the crawl in a directory uses if it is not in parts. Raises `DirectoryRefused`."""
    return read_lineages(directory).first - 1


def last_lineage(directory: Path) -> int | None:
    """The highest that the crawl in a directory may use. None if it may use all. Raises `DirectoryRefused`."""
    last = read_lineages(directory).last
    return None if last == MAX_LINEAGE else last


def write_lineages(directory: Path, lineages: Lineages) -> None:
    replace_file(directory / LINEAGES, msgspec.json.encode(lineages) + b"\n")


def name_crawl(directory: Path) -> str:
    """The name of the crawl in a directory, which is drawn now if it has none."""
    with _alone(directory):
        lineages = read_lineages(directory)
        if not lineages.crawl:
            lineages = msgspec.structs.replace(lineages, crawl=secrets.token_hex(8))
            write_lineages(directory, lineages)
        return lineages.crawl


def set_aside(directory: Path, *, parts: int, used_below: int) -> Block:
    """Set lineages aside for a copy of the crawl in a directory, which has so many parts, and has used all lineages
    below `used_below`. Raises `DirectoryRefused` if too few are left."""
    with _alone(directory):
        lineages = read_lineages(directory)
        first = max(lineages.first, used_below)
        left = lineages.last - first + 1
        count = max(parts, min(_TIMES * parts + _SPARE, left // _SHARE))
        if count > left:
            raise DirectoryRefused(
                f"the crawl in {directory} has been divided and restored so often that {max(0, left)} lineages of "
                f"record numbers are left, and a copy of it needs {parts}: begin a new crawl"
            )
        write_lineages(directory, msgspec.structs.replace(lineages, last=lineages.last - count))
        return Block(first=lineages.last - count + 1, last=lineages.last)


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Several backups of one crawl may begin at the same time, and while it runs."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
