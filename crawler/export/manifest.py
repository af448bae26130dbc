"""What an export has done until now: `_TABLE.export.json`, in the folder that it writes to."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.export.snapshot import BEGINNING, Position, RecordFile
from crawler.export.writers import ExportRefused
from crawler.files.replacing import replace_file


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What must not change while an export goes on."""

    directory: str
    """The directory of the crawl."""
    part: int | None
    table: str
    schema_version: int
    columns: list[str]
    format: str
    rows_per_file: int
    partition_by: list[str] = []
    text_reader: str | None = None


class ExportedFile(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    rows: int
    bytes: int
    after: Position
    """Where the snapshot goes on."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    manifest_version: int = 1
    begun_at: str
    complete: bool = False
    options: Options
    snapshot: list[RecordFile]
    files: list[ExportedFile] = []

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def position(self) -> Position:
        return self.files[-1].after if self.files else BEGINNING

    @property
    def rounds(self) -> int:
        """How often files were begun. Files of several partitions are written at the same time."""
        return len({file.after for file in self.files})

    def with_files(self, files: Iterable[ExportedFile]) -> "Manifest":
        return msgspec.structs.replace(self, files=[*self.files, *files])


def manifest_path(folder: Path, table: str) -> Path:
    """Readers of folders of tables pass over names that begin so."""
    return folder / f"_{table}.export.json"


def read_manifest(path: Path) -> Manifest | None:
    """None if there is none. Raises `ExportRefused`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError:
        return None
    except UNREADABLE as error:
        raise ExportRefused(
            f"{path} can't be read, so nobody knows what was exported: {error}; name another folder, or begin anew "
            "with --overwrite"
        ) from error


def write_manifest(path: Path, manifest: Manifest) -> None:
    replace_file(path, msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
