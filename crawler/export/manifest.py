"""What an export has done until now: `TABLE.export.json`, in the folder that it writes to."""

from pathlib import Path

import msgspec

from crawler.disk.durable_file import replace_file
from crawler.export.snapshot import BEGINNING, Position, RecordFile
from crawler.export.writers import ExportRefused


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What must not change while an export goes on."""

    directory: str
    """Of the crawl."""
    part: int | None
    table: str
    schema_version: int
    columns: list[str]
    format: str
    rows_per_file: int


class ExportedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is complete."""

    name: str
    rows: int
    bytes: int
    after: Position
    """Where the snapshot goes on."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """An export to a folder."""

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

    def with_file(self, file: ExportedFile) -> "Manifest":
        return msgspec.structs.replace(self, files=[*self.files, file])


def manifest_path(folder: Path, table: str) -> Path:
    return folder / f"{table}.export.json"


def read_manifest(path: Path) -> Manifest | None:
    """None if there is none. Raises `ExportRefused`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ExportRefused(
            f"{path} can't be read, so nobody knows what was exported: {error}; name another folder, or begin anew "
            "with --overwrite"
        ) from error


def write_manifest(path: Path, manifest: Manifest) -> None:
    replace_file(path, msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
