"""A copy of an open database by hard links, for a backup.

LevelDB never changes a table, and only appends to its logs and to its manifest. So the files with their lengths of one
moment are the database of that moment, whatever becomes of it later. Nobody may write meanwhile. LevelDB's own thread
may still compact: then the manifest grows, and the files are linked again. An iterator over a snapshot of LevelDB would
read, inflate and write every record; links cost some microseconds for each file of 2 MB.
"""

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from frontier.leveldb.opening import TABLE_SUFFIXES
from frontier.values import StoreFailed

_CURRENT: Final = "CURRENT"
_MANIFEST: Final = "MANIFEST-"
_ATTEMPTS: Final = 1000
"""A compaction changes the manifest a few times in a second."""


def link_tables(source: Path, target: Path) -> None:
    """Link what never changes, so that `link_database` has less to do. Others may write meanwhile."""
    for name in _names(source):
        if name.endswith(TABLE_SUFFIXES):
            with suppress(FileNotFoundError):
                _link(source / name, target / name)


def link_database(source: Path, target: Path) -> Mapping[str, int]:
    """Link the files of the database in `source`, to which nobody writes now, into the folder `target`. Returns the
    length of each. Raises `OSError`, and `StoreFailed` for a database that changes all the time."""
    for _ in range(_ATTEMPTS):
        before = _state(source)
        with suppress(FileNotFoundError):
            lengths = {name: _link(source / name, target / name) for name in _names(source)}
            if before is not None and _state(source) == before:
                manifest, size = before
                (target / _CURRENT).write_text(f"{manifest}\n", encoding="ascii")
                return {**lengths, manifest: size, _CURRENT: len(manifest) + 1}
    raise StoreFailed(f"the database in {source} was compacted all the time while it was to be copied; try again")


def _names(source: Path) -> Iterator[str]:
    """The files that make up the database, except for `CURRENT`, which is replaced."""
    for name in os.listdir(source):  # noqa: PTH208  # one is listed for each 2 MB
        if name.endswith((*TABLE_SUFFIXES, ".log")) or name.startswith(_MANIFEST):
            yield name


def _state(source: Path) -> tuple[str, int] | None:
    """Which manifest holds, and how long it is; None if it is just being replaced."""
    with suppress(FileNotFoundError):
        name = (source / _CURRENT).read_text(encoding="ascii").strip()
        return name, (source / name).stat().st_size
    return None


def _link(source: Path, target: Path) -> int:
    """Returns the length of the file."""
    try:
        target.hardlink_to(source)
    except FileExistsError:
        pass
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        raise StoreFailed(
            f"{source.parent} can't be copied while it may change: its files can't be linked into {target.parent} "
            f"({error.strerror}), because it lies on another disk, or on one without hard links. Let the crawl end, "
            "then copy its directory, and what links in it lead to"
        ) from error
    return source.stat().st_size
