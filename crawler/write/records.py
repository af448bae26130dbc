"""Page records as JSON Lines: `records-00000.jsonl`, `records-00001.jsonl`, …"""

import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from crawler.page import Fetched, PageRecord
from crawler.write.appending import AppendFile, Durability

_log = logging.getLogger(__name__)
_NAME = re.compile(r"records-(\d{5,})\.jsonl")
_BLOCK_BYTES = 1 << 16
_PAGE_BITS = 16

OnDamage = Callable[[Path, int, str], None]
"""Called with the file, the byte offset of a line that can't be decoded, and why."""


class RecordSink:
    """Writes one line per record. Opening repairs a tail that a crash tore, and goes on in the newest file.

    `torn_bytes` tells how much was cut off at opening.
    """

    def __init__(self, directory: Path, *, max_bytes: int = 256_000_000, durability: Durability = "process") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._max_bytes = max_bytes
        self._durability = durability
        self._encoder = msgspec.json.Encoder()
        files = record_files(directory)
        self.torn_bytes = _cut_torn_line(files[-1]) if files else 0
        self._serial = _serial_of(files[-1]) if files else 0
        self._file = self._open(self._serial)

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        line = self._line(record)
        while (file := self._file).size and file.size + len(line) > self._max_bytes:
            await file.settle()  # so that closing it need not wait for the disk
            if file is self._file:
                self._begin_next()
        file.append(line)
        await file.settle()

    async def aclose(self) -> None:
        self._file.close()

    def _line(self, record: PageRecord) -> bytes:
        try:
            return self._encoder.encode(record) + b"\n"
        except UnicodeEncodeError:  # a lone surrogate, which no UTF-8 can hold, out of some page's text
            plain = json.dumps(msgspec.to_builtins(record), ensure_ascii=False)
            return plain.encode("utf-8", "replace") + b"\n"

    def _begin_next(self) -> None:
        self._file.ensure_whole()  # opening repairs the newest file only
        self._file.close()
        self._file, self._serial = self._open(self._serial + 1), self._serial + 1

    def _open(self, serial: int) -> AppendFile:
        return AppendFile(self._directory / f"records-{serial:05d}.jsonl", durability=self._durability)


def record_files(directory: Path) -> list[Path]:
    """The files of records in a directory, oldest first."""
    return sorted((path for path in directory.iterdir() if _NAME.fullmatch(path.name)), key=_serial_of)


def read_records(
    directory: Path, *, last_only: bool = False, on_damage: OnDamage | None = None
) -> Iterator[PageRecord]:
    """All records of a directory in the order written, one at a time.

    A record that was written again appears twice; with `last_only`, only its last copy appears. That reads the files
    twice and holds one bit per record number. Lines that can't be decoded are reported to `on_damage`, by default
    logged, and skipped; a last line without its end, as of a crawl that runs or was killed, is skipped silently.
    """
    files = record_files(directory)
    earlier = _copies_before_the_last(files) if last_only else {}
    for record in _read_files(files, on_damage or _log_damage):
        if earlier.get(record.number):
            earlier[record.number] -= 1
        else:
            yield record


def _read_files(files: Sequence[Path], on_damage: OnDamage) -> Iterator[PageRecord]:
    for path in files:
        yield from _read_file(path, on_damage, may_be_torn=path == files[-1])


def _read_file(path: Path, on_damage: OnDamage, *, may_be_torn: bool) -> Iterator[PageRecord]:
    decoder = msgspec.json.Decoder(PageRecord)
    offset = 0
    with path.open("rb") as lines:
        for line in lines:
            if may_be_torn and not line.endswith(b"\n"):
                return
            try:
                record = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                on_damage(path, offset, str(error))
            else:
                yield record
            offset += len(line)


def _copies_before_the_last(files: list[Path]) -> dict[int, int]:
    """How many copies of a record come before its last one, for the few numbers that occur more than once."""
    met: dict[int, bytearray] = {}  # bitmaps by the upper bits, so that a stray huge number costs 8 KiB, not more
    earlier: dict[int, int] = {}
    for record in _read_files(files, _ignore_damage):
        upper, lower = record.number >> _PAGE_BITS, record.number & ((1 << _PAGE_BITS) - 1)
        bits = met.get(upper)
        if bits is None:
            bits = met[upper] = bytearray(1 << (_PAGE_BITS - 3))
        mask = 1 << (lower & 7)
        if bits[lower >> 3] & mask:
            earlier[record.number] = earlier.get(record.number, 0) + 1
        else:
            bits[lower >> 3] |= mask
    return earlier


def _cut_torn_line(path: Path) -> int:
    """Cut the file after its last whole line; return how many bytes that took away."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        end = size
        while end > 0:
            start = max(0, end - _BLOCK_BYTES)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end < size:
            file.truncate(end)
            _log.warning("%s: cut off %d bytes of a record that a crash left unfinished", path, size - end)
        return size - end


def _serial_of(path: Path) -> int:
    match = _NAME.fullmatch(path.name)
    if match is None:
        raise ValueError(f"{path.name} is not the name of a record file")
    return int(match[1])


def _log_damage(path: Path, offset: int, why: str) -> None:
    _log.warning("%s: the line at byte %d is not a page record and was skipped: %s", path, offset, why)


def _ignore_damage(path: Path, offset: int, why: str) -> None:
    """The second pass reports it."""
