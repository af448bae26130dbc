"""Makes the index of an archive, from the archive alone or from lines in the order of its records."""

import os
import re
from collections.abc import Iterable, Iterator
from operator import methodcaller
from pathlib import Path
from typing import Final

from crawler.write.cdxj.heads import capture_of, may_follow
from crawler.write.cdxj.lines import line_of
from crawler.write.cdxj.sorting import sorted_lines
from crawler.write.gzip_members import HEAD_BYTES, GzipMember, members

SUFFIX: Final = ".cdxj"
OPEN: Final = ".open"
_ASIDE: Final = ".new"
_ARCHIVE: Final = ".warc.gz"
_SERIAL: Final = re.compile(r"-(\d{5,})\.warc\.gz(?:\.open)?$")


def archives(directory: Path) -> list[Path]:
    """The archives in a directory, the oldest first, without their indexes.

    Their numbers tell the order. The prefix of a name changes with the settings, and its time follows a clock that may
    be set back. Those without a number, which others wrote, come first, by name. What is still there of a complete
    archive from when it was open does not count. Raises `OSError`; `glob` would take a folder that may not be read for
    an empty one.
    """
    paths = directory.iterdir() if directory.is_dir() else ()
    found = {path.name: path for path in paths if path.name.endswith((_ARCHIVE, _ARCHIVE + OPEN))}
    counting = (path for name, path in found.items() if not (name.endswith(OPEN) and name.removesuffix(OPEN) in found))
    return sorted(counting, key=lambda path: (serial_of(path), path.name))


def serial_of(archive: Path) -> int:
    """The number in the name of an archive; -1 if there is none."""
    found = _SERIAL.search(archive.name)
    return -1 if found is None else int(found[1])


def final_path(archive: Path) -> Path:
    """Where an archive lies once it is complete."""
    return archive.with_name(archive.name.removesuffix(OPEN))


def index_of(archive: Path) -> Path:
    """Where the index of an archive lies, whether or not that is still open."""
    return archive.with_name(final_path(archive).name + SUFFIX)


def make_index(archive: Path) -> None:
    """Write the index of a complete archive, which is read for it."""
    write_index(archive, lines_of(archive))


def write_index(archive: Path, lines: Iterable[bytes]) -> None:
    """Write the index of an archive with these lines, in bounded memory."""
    index = index_of(archive)
    aside = index.with_name(index.name + _ASIDE)
    try:
        with aside.open("wb") as file:
            file.writelines(line + b"\n" for line in sorted_lines(lines, index.parent))
            file.flush()
            os.fsync(file.fileno())
        aside.rename(index)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def lines_of(archive: Path) -> Iterator[bytes]:
    """The lines of an archive in the order of its records, without the damaged ones and without what a crash tore."""
    name = final_path(archive).name
    with archive.open("rb") as file:
        is_record = methodcaller("startswith", b"WARC/1.")
        for found in members(file, is_ours=is_record, may_follow=may_follow, max_bytes=HEAD_BYTES):
            capture = capture_of(found.content) if isinstance(found, GzipMember) else None
            if capture is not None:
                yield line_of(capture, offset=found.start, length=found.end - found.start, filename=name)
