"""The records of a crawl as they are when an export begins."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.disk.layout import record_directories
from crawler.export.writers import ExportRefused
from crawler.page.number_set import NumberSet
from crawler.write.records import record_files


class RecordFile(msgspec.Struct, frozen=True):
    """A file of records, as far as the snapshot goes."""

    name: str
    """From the directory of the crawl on."""
    size: int


class Position(msgspec.Struct, frozen=True, order=True, array_like=True):
    """A place in a snapshot: the number of a file, and a byte there."""

    file: int
    offset: int


BEGINNING: Final = Position(0, 0)


class Line(msgspec.Struct, frozen=True, gc=False):
    at: Position
    after: Position
    content: bytes


class _Numbered(msgspec.Struct, gc=False):
    number: int


OnDamage = Callable[[str, int, str], None]
"""Called for a line that can't be decoded, with the file, the byte and the reason."""


def take_snapshot(directory: Path, part: int | None) -> list[RecordFile]:
    """The files of records of a crawl, or of one part of it, the oldest first. Raises `DirectoryRefused`."""
    paths = [path for each in record_directories(directory, part) for path in record_files(each)]
    return [RecordFile(str(path.relative_to(directory)), path.stat().st_size) for path in paths]


def record_file_gone(file: RecordFile, directory: Path) -> ExportRefused:
    """Why an export can't go on."""
    return ExportRefused(
        f"{file.name} is gone from {directory} since this export began, as when the crawl has pruned it "
        "(output.keep_s, output.keep_bytes); begin anew with --overwrite"
    )


class Snapshot:
    """Reads the records of a snapshot. `files` are those of `take_snapshot`."""

    def __init__(self, directory: Path, files: Sequence[RecordFile], on_damage: OnDamage) -> None:
        self._directory = directory
        self._files = files
        self._on_damage = on_damage
        self._last: dict[int, Position] | None = None

    def last_lines(self, after: Position) -> Iterator[Line]:
        """The last line of each record number, from a place on. Takes one bit of memory for each number, and more for
        those that occur more than once."""
        decoder = msgspec.json.Decoder(_Numbered)
        if self._last is None:
            self._last = self._last_of_repeated(decoder)
        for line in self._lines(after):
            try:
                number = decoder.decode(line.content).number
            except UNREADABLE as error:
                self.report(line, str(error))
                continue
            if self._last.get(number, line.at) == line.at:
                yield line

    def report(self, line: Line, why: str) -> None:
        """Say that a line can't be decoded."""
        self._on_damage(self._files[line.at.file].name, line.at.offset, why)

    def _lines(self, after: Position) -> Iterator[Line]:
        for number, file in enumerate(self._files):
            if number < after.file:
                continue
            offset = after.offset if number == after.file else 0
            with self._open(file) as lines:
                lines.seek(offset)
                for content in lines:
                    end = offset + len(content)
                    if end > file.size or not content.endswith(b"\n"):
                        break
                    yield Line(Position(number, offset), Position(number, end), content)
                    offset = end

    def _open(self, file: RecordFile) -> BinaryIO:
        try:
            return (self._directory / file.name).open("rb")
        except FileNotFoundError as error:
            raise record_file_gone(file, self._directory) from error

    def _last_of_repeated(self, decoder: msgspec.json.Decoder[_Numbered]) -> dict[int, Position]:
        """The last place of each record that occurs more than once."""
        met = NumberSet()
        last: dict[int, Position] = {}
        for line in self._lines(BEGINNING):
            try:
                number = decoder.decode(line.content).number
            except UNREADABLE:
                continue  # whoever reads the lines reports it
            if not met.add(number):
                last[number] = line.at
        return last
