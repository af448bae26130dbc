"""Page records as JSON Lines: `records-00000.jsonl`, `records-00001.jsonl`, …"""

import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Annotated, Final, Protocol, TypeVar

import msgspec
from msgspec import Meta

from crawler.codes.unreadable import UNREADABLE
from crawler.page import Fetched, PageRecord
from crawler.page.number_set import NumberSet
from crawler.write.appending import AppendFile, Durability
from crawler.write.descriptor import FILES, Descriptor, Parameters
from crawler.write.record_tails import repair_tail

_log = logging.getLogger(__name__)
_NAME = re.compile(r"records-(\d{5,})\.jsonl")
_BLOCK_BYTES = 1 << 16


class Numbered(Protocol):
    """A record, or some of its fields."""

    @property
    def number(self) -> int: ...


_Kind = TypeVar("_Kind", bound=Numbered)

_Place = tuple[int, int]
"""A file and a byte in it."""

OnDamage = Callable[[Path, int, str], None]
"""Called for a line that can't be decoded, with the file, the byte offset, and the reason."""
OnUnread = Callable[[Path, OSError], None]
"""Called for a file that can't be read, or not to its end, with the reason."""


class RecordSink:
    """Writes one line per record. Opening repairs a tail that a crash tore, and continues the newest file."""

    def __init__(
        self,
        directory: Path,
        *,
        max_bytes: int = 256_000_000,
        durability: Durability = "process",
        before_write: Callable[[], object] | None = None,
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._max_bytes = max_bytes
        self._durability = durability
        self._before_write = before_write
        self._encoder = msgspec.json.Encoder()
        files = record_files(directory)
        if files:
            repair_tail(files[-1])
        self._serial = _serial_of(files[-1]) if files else 0
        self._file = self._open(self._serial)
        self._closed = False

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        if self._closed:
            raise ValueError(f"the records of {self._directory} are closed; they can't be written to any more")
        line = self._line(record)
        # A full file is closed before the next one is made, which may fail because the disk is full.
        while (file := self._file).is_closed or (file.size and file.size + len(line) > self._max_bytes):
            await file.settle()  # so that closing it need not wait for the disk
            if file is self._file:
                self._begin_next()
        file.append(line)
        if self._durability == "power":  # otherwise there is nothing to settle
            await file.settle()

    async def aclose(self) -> None:
        self._closed = True
        self._file.close()

    def _line(self, record: PageRecord) -> bytes:
        try:
            return self._encoder.encode(record) + b"\n"
        except UnicodeEncodeError:  # a lone surrogate in the text of a page, which UTF-8 can't encode
            plain = json.dumps(msgspec.to_builtins(record), ensure_ascii=False, separators=(",", ":"))
            return plain.encode("utf-8", "replace") + b"\n"

    def _begin_next(self) -> None:
        self._file.ensure_intact()  # opening repairs the newest file only
        self._file.close()
        self._file, self._serial = self._open(self._serial + 1), self._serial + 1

    def _open(self, serial: int) -> AppendFile:
        path = self._directory / f"records-{serial:05d}.jsonl"
        return AppendFile(path, durability=self._durability, before_write=self._before_write)


class RecordOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the records."""

    max_bytes: Annotated[int, Meta(description="Like output.records_max_bytes.", extra={"unit": "bytes"})] = 256_000_000


def _make(parameters: Parameters, options: RecordOptions) -> RecordSink:
    assert parameters.directory is not None
    return RecordSink(
        parameters.directory,
        max_bytes=options.max_bytes,
        durability=parameters.durability,
        before_write=parameters.before_write,
    )


DESCRIPTOR: Final = Descriptor(name="records", make=_make, options=RecordOptions, needs=FILES, waits=False)


def record_files(directory: Path) -> list[Path]:
    """The files of records in a directory, oldest first. Raises `OSError`, also for a missing directory: a program may
    have named another one than it meant."""
    return sorted((path for path in directory.iterdir() if _NAME.fullmatch(path.name)), key=_serial_of)


def read_records(
    *directories: str | os.PathLike[str], last_only: bool = False, on_damage: OnDamage | None = None
) -> Iterator[PageRecord]:
    """All records of a directory in the order written, one at a time. Several directories, such as those of a crawl in
    parts, are read one after another.

    A record that was written again appears twice; with `last_only`, only its last copy. That reads the files twice, and
    takes one bit of memory per record number. Lines that can't be decoded are reported to `on_damage`, by default
    logged, and skipped. An incomplete last line, as of a running or killed crawl, is skipped silently. Raises `OSError`
    for what is no directory.
    """
    extents = extents_now(*map(Path, directories))
    yield from read_extents(PageRecord, extents, last_only=last_only, on_damage=on_damage)


Extents = Sequence[Sequence[tuple[Path, int]]]
"""For each of some directories its files of records, and how many bytes each file had at one moment."""


def extents_now(*directories: Path) -> Extents:
    """How far the records in these directories reach now. So records can be read several times while a crawl runs, and
    are the same each time."""
    return [[*_sizes(record_files(directory))] for directory in directories]


def read_extents(
    kind: type[_Kind],
    extents: Extents,
    *,
    last_only: bool = False,
    on_damage: OnDamage | None = None,
    on_unread: OnUnread | None = None,
) -> Iterator[_Kind]:
    """The records that were written by that moment, as `read_records` gives them. A `kind` with few fields is read
    faster than a `PageRecord`. Raises `OSError` for a file that can't be read, unless `on_unread` is told of it."""
    decoder = msgspec.json.Decoder(kind)
    last = _last_copies(extents, decoder) if last_only else {}
    for place, record in _read_files(extents, decoder, on_damage or _log_damage, on_unread):
        if last.get(record.number, place) == place:
            yield record


def _sizes(files: Iterable[Path]) -> Iterator[tuple[Path, int]]:
    for path in files:
        with suppress(FileNotFoundError):  # deleted meanwhile, because it is old
            yield path, (path.stat() if path.exists() else path.lstat()).st_size  # who reads a dangling link is told


def find_record(directory: Path, number: int) -> PageRecord | None:
    """The last readable record with that number; None if there is none. Searches from the end, and decodes no other
    record."""
    beginning = b'{"number":%d,' % number
    for path in reversed(record_files(directory)):
        with suppress(FileNotFoundError):  # deleted meanwhile, because it is old
            if path.stat().st_size and (found := _find_in(path, beginning)) is not None:
                return found
    return None


def _find_in(path: Path, beginning: bytes) -> PageRecord | None:
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as lines:
        at = len(lines)
        while (at := lines.rfind(beginning, 0, at)) >= 0:
            end = lines.find(b"\n", at)
            if end < 0 or (at > 0 and lines[at - 1 : at] != b"\n"):
                continue
            with suppress(*UNREADABLE):
                return msgspec.json.decode(lines[at:end], type=PageRecord)
    return None


class ReadLimit:
    """How many bytes may still be read."""

    def __init__(self, max_bytes: int) -> None:
        self.left = max_bytes
        self.was_reached = False

    def takes(self, count: int) -> bool:
        """Whether so many may be read now; they are counted."""
        self.was_reached = self.was_reached or self.left < count
        self.left -= count
        return not self.was_reached


def newest_records(directory: Path, *, containing: bytes = b"", limit: ReadLimit | None = None) -> Iterator[PageRecord]:
    """The records of a directory, the last one first, as far as the limit goes. Lines that can't be decoded are
    skipped, and so are those that lack `containing`."""
    decoder = msgspec.json.Decoder(PageRecord)
    for path in reversed(record_files(directory) if directory.is_dir() else []):
        with suppress(FileNotFoundError):  # deleted meanwhile, because it is old
            for line in _lines_backwards(path, limit):
                if containing in line:
                    with suppress(*UNREADABLE):
                        yield decoder.decode(line)


def _lines_backwards(path: Path, limit: ReadLimit | None) -> Iterator[bytes]:
    with path.open("rb") as file:
        start = file.seek(0, os.SEEK_END)
        pieces: list[bytes] = []  # of the line that is not whole yet, its end first: joined once, it may have megabytes
        while start > 0:
            end, start = start, max(0, start - _BLOCK_BYTES)
            if limit is not None and not limit.takes(end - start):
                return
            file.seek(start)
            rest, *lines = file.read(end - start).split(b"\n")
            if lines:
                lines[-1] = b"".join((lines[-1], *reversed(pieces)))
                pieces.clear()
            pieces.append(rest)
            yield from reversed(lines)
        yield b"".join(reversed(pieces))


def _read_files(
    extents: Extents, decoder: msgspec.json.Decoder[_Kind], on_damage: OnDamage, on_unread: OnUnread | None
) -> Iterator[tuple[_Place, _Kind]]:
    """The records of the files of each directory, and where they are. A running crawl may delete old files."""
    number = 0
    for of_one in extents:
        for path, size in of_one:
            number += 1
            may_be_torn = path == of_one[-1][0]
            try:
                for offset, record in _read_file(path, size, decoder, on_damage, may_be_torn=may_be_torn):
                    yield (number, offset), record
            except OSError as error:
                if isinstance(error, FileNotFoundError) and not path.is_symlink():
                    continue
                if on_unread is None:
                    raise
                on_unread(path, error)


def _read_file(
    path: Path, size: int, decoder: msgspec.json.Decoder[_Kind], on_damage: OnDamage, *, may_be_torn: bool
) -> Iterator[tuple[int, _Kind]]:
    offset = 0
    with path.open("rb") as lines:
        for line in lines:
            if may_be_torn and (not line.endswith(b"\n") or offset + len(line) > size):
                return
            try:
                record = decoder.decode(line)
            except UNREADABLE as error:
                on_damage(path, offset, str(error))
            else:
                yield offset, record
            offset += len(line)


def _last_copies(extents: Extents, decoder: msgspec.json.Decoder[_Kind]) -> dict[int, _Place]:
    """Where the last copy of a record is, for the few numbers that occur more than once."""
    met = NumberSet()
    last: dict[int, _Place] = {}
    for place, record in _read_files(extents, decoder, lambda *_: None, lambda *_: None):  # the second pass reports
        if not met.add(record.number):
            last[record.number] = place
    return last


def _serial_of(path: Path) -> int:
    match = _NAME.fullmatch(path.name)
    if match is None:
        raise ValueError(f"{path.name} is not the name of a record file")
    return int(match[1])


def _log_damage(path: Path, offset: int, why: str) -> None:
    _log.warning("%s: the line at byte %d is not a page record and was skipped: %s", path, offset, why)
