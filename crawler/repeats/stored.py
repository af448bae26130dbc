"""The fingerprints of a crawl, in two files, and the index over them.

`fingerprints.txt` has a line for each: 16 hexadecimal digits, the number of the record, and the URL.
`fingerprints.index` has 16 bytes for each: the fingerprint, and where its line ends; so the index over millions is
loaded in a second, and no URL is kept in memory. The line is written first. Opening mends what a crash or damage has
left: lines without an entry get one, an entry without its line goes, as does half a line. A line tells its fingerprint,
so an entry that has come to another line is noticed when it is looked up, and does not count.
"""

import errno
import logging
import os
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from crawler.page import Fetched, PageRecord
from crawler.repeats.similar import make_similar_index

_log = logging.getLogger(__name__)
_LINES: Final = "fingerprints.txt"
_ENTRY: Final = struct.Struct("<QQ")
"""A fingerprint, and where its line ends."""
_LINE: Final = re.compile(rb"([0-9a-f]{16}) ([0-9]{1,20}) (.+)", re.DOTALL)
_LOOKED_AT: Final = 1000
"""Near fingerprints whose URLs are read, which takes some microseconds each."""
_AT_ONCE: Final = 100_000
"""Entries that are added to the index at once."""


class Near(msgspec.Struct, frozen=True):
    """An earlier page whose text is almost the same."""

    url: str
    distance: int
    """In how many bits the fingerprints differ."""


class StoredFingerprints:
    """Fingerprints of pages that repeat nothing, each with its URL. A `Sink`: it takes them from records."""

    def __init__(
        self,
        directory: Path,
        *,
        only_archived: bool = False,
        name_of: Callable[[str], str] = lambda url: url,
        distance: int = 0,
    ) -> None:
        """With `only_archived` it does not take pages that the archive does not get for another reason. Nothing may be
        left out because of these. `name_of` tells the canonical form of a URL: a page may be found by another one at
        its next visit. One that has changed by at most `distance` bits since an earlier visit is not stored again: else
        a page with the time of day would add a fingerprint at each visit."""
        self._name_of = name_of
        self._distance = distance
        directory.mkdir(parents=True, exist_ok=True)
        self._path = directory / _LINES
        self._only_archived = only_archived
        self._index = make_similar_index()
        with ExitStack() as opened:
            self._lines = opened.enter_context(_open(self._path))
            self._entries = opened.enter_context(_open(directory / "fingerprints.index"))
            self._end = self._load()
            self._closing = opened.pop_all()

    def __len__(self) -> int:
        return len(self._index)

    def find(self, fingerprint: int, distance: int, /, *, url: str) -> Near | None:
        """The nearest page but this one; of several the earliest. Of very many near ones, only the nearest are looked
        at: a page that changes a little with each visit may have come here very often."""
        name = self._name_of(url)
        for bits, place in self._index.near(fingerprint, distance)[:_LOOKED_AT]:
            found = self._url_at(place)
            if found is not None and self._name_of(found) != name:
                return Near(found, bits)
        return None

    def add(self, fingerprint: int, /, *, number: int, url: str) -> None:
        """Store the fingerprint of a page that repeats no other. Raises `OSError`, and then leaves nothing behind."""
        if self._has(fingerprint, self._name_of(url)):
            return  # it was in flight when the crawl was killed, or has hardly changed since an earlier visit
        line = f"{fingerprint:016x} {number} {url}\n".encode()
        end = self._end + len(line)
        try:
            _write(self._lines, line)
            _write(self._entries, _ENTRY.pack(fingerprint, end))
        except OSError as error:
            os.ftruncate(self._entries.fileno(), len(self._index) * _ENTRY.size)
            os.ftruncate(self._lines.fileno(), self._end)
            raise OSError(error.errno, os.strerror(error.errno or errno.EIO), str(self._path)) from error
        self._end = end
        self._index.add(fingerprint)

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        repeats = record.near_duplicate_of or record.not_followed
        is_missing = self._only_archived and record.not_archived is not None
        if record.simhash is not None and repeats is None and record.state == "done" and not is_missing:
            self.add(int(record.simhash, 16), number=record.number, url=record.url)

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        self._closing.close()

    def _has(self, fingerprint: int, name: str) -> bool:
        found = (self._url_at(place) for _, place in self._index.near(fingerprint, self._distance)[-_LOOKED_AT:])
        return any(url is not None and self._name_of(url) == name for url in found)

    def _url_at(self, place: int) -> str | None:
        """The URL of an entry; None if that or its line is damaged."""
        first = max(0, place - 1)
        entries = self._entries_at(first, 2)
        if len(entries) <= place - first:
            return None
        fingerprint, end = entries[place - first]
        start = entries[0][1] if place else 0
        if not start < end <= self._end:
            return None
        lines = os.pread(self._lines.fileno(), end - start, start)
        read = _read_line(lines.rpartition(b"\n")[0].rpartition(b"\n")[2] if lines.endswith(b"\n") else b"")
        return None if read is None or read[0] != fingerprint else read[2]

    def _load(self) -> int:
        """Mend the files and fill the index. Returns where the last line ends."""
        size = os.fstat(self._lines.fileno()).st_size
        count, end = self._fill(size)
        os.ftruncate(self._entries.fileno(), count * _ENTRY.size)
        added = 0
        for fingerprint, end in self._lines_from(end):  # noqa: B020 - where the last one ends
            _write(self._entries, _ENTRY.pack(fingerprint, end))
            self._index.add(fingerprint)
            added += 1
        if end < size:
            os.ftruncate(self._lines.fileno(), end)
        if added or end < size:
            _log.warning(
                "%s: added fingerprints that the index lacked: %d; bytes at the end that were no whole line: %d",
                self._path,
                added,
                size - end,
            )
        return end

    def _fill(self, size: int) -> tuple[int, int]:
        """Fill the index with the entries that have lines. Returns how many these are, and where the last line ends."""
        count = end = 0
        while entries := self._entries_at(count, _AT_ONCE):
            fingerprints = []
            for fingerprint, its_end in entries:
                if not end < its_end <= size:
                    break
                fingerprints.append(fingerprint)
                end = its_end
            self._index.extend(struct.pack(f"<{len(fingerprints)}Q", *fingerprints))
            count += len(fingerprints)
            if len(fingerprints) < _AT_ONCE:
                break
        return count, end

    def _entries_at(self, place: int, count: int) -> list[tuple[int, int]]:
        """Up to so many whole entries from there on."""
        found = os.pread(self._entries.fileno(), count * _ENTRY.size, place * _ENTRY.size)
        return list(_ENTRY.iter_unpack(found[: len(found) // _ENTRY.size * _ENTRY.size]))

    def _lines_from(self, start: int) -> Iterator[tuple[int, int]]:
        """The fingerprints of whole lines from there on, and where each ends."""
        self._lines.seek(start)
        end = start
        for line in self._lines:
            if not line.endswith(b"\n"):
                return
            end += len(line)
            read = _read_line(line[:-1])
            if read is not None:
                yield read[0], end


def read_fingerprints(directory: Path) -> Iterator[tuple[int, int, str]]:
    """The fingerprints in a directory, with the number and the URL of each page; nothing of damaged lines. Raises
    `OSError`."""
    path = directory / _LINES
    if path.exists():
        with path.open("rb") as lines:
            for line in lines:
                read = _read_line(line.removesuffix(b"\n"))
                if read is not None and line.endswith(b"\n"):
                    yield read


def divide_fingerprints(
    sources: Sequence[Path], targets: Sequence[Path], *, owner_of: Callable[[str], int], progress: Callable[[int], None]
) -> None:
    """Give each target the fingerprints of its URLs; `owner_of` tells the target of a URL. The sources stay. After a
    crash, call it again. Nothing is made if there are none. Raises `OSError`."""
    found: Iterator[tuple[int, int, str]] = (each for source in sources for each in read_fingerprints(source))
    with ExitStack() as stack:
        opened: dict[int, StoredFingerprints] = {}
        for count, (fingerprint, number, url) in enumerate(found, 1):
            owner = owner_of(url)
            if owner not in opened:
                opened[owner] = StoredFingerprints(targets[owner])
                stack.callback(opened[owner].close)
            opened[owner].add(fingerprint, number=number, url=url)
            if count % 10_000 == 0:
                progress(count)


def _open(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644), "rb")


def _read_line(line: bytes) -> tuple[int, int, str] | None:
    """The fingerprint, the record number and the URL of a line; None if it is damaged."""
    found = _LINE.fullmatch(line)
    try:
        return None if found is None else (int(found[1], 16), int(found[2]), found[3].decode())
    except UnicodeDecodeError:
        return None


def _write(file: BinaryIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        written = os.write(file.fileno(), rest)
        if written == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rest = rest[written:]
