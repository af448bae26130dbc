"""Exports a table: to one file, or to a folder of files."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from crawler.export.aside import locked_folder, written_aside
from crawler.export.columns import Row, Table
from crawler.export.manifest import (
    ExportedFile,
    Manifest,
    Options,
    manifest_path,
    read_manifest,
    write_manifest,
)
from crawler.export.snapshot import BEGINNING, Line, OnDamage, Position, Snapshot, take_snapshot
from crawler.export.writers import ExportRefused, Format, RowWriter, make_writer

Say = Callable[[str], None]
MakeWriter = Callable[[BinaryIO], RowWriter]
_Found = tuple[Line, list[Row]]
_LEFT: Final = re.compile(r"-\d{5,}\.(?:jsonl|csv|parquet)(?:\.open)?")


class TableExport(msgspec.Struct, frozen=True, kw_only=True):
    """What to export, and in which form."""

    directory: Path
    part: int | None
    table: Table
    format: Format
    rows_per_file: int
    """In a folder. A line of records with many rows may make a file a little larger."""
    overwrite: bool
    now: str
    """RFC 3339."""


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """What there is at the end."""

    files: int
    rows: int
    complete_since: str | None = None
    """When an export had begun that was complete already."""


def is_file(to: Path, form: Format) -> bool:
    """Whether a place means one file: it has the ending of the format, and is no folder."""
    return to.suffix == f".{form}" and not to.is_dir()


def export_table(export: TableExport, to: Path, say: Say, on_damage: OnDamage) -> Exported:
    """Export a table to a file or a folder. Raises `ExportRefused`, `DirectoryRefused` and `OSError`."""
    make = make_writer(export.format, export.table)
    if is_file(to, export.format):
        return _export_file(export, to, make, on_damage)
    to.mkdir(parents=True, exist_ok=True)
    with locked_folder(to):
        return _Folder(export, to, say, on_damage).export(make)


def _export_file(export: TableExport, path: Path, make: MakeWriter, on_damage: OnDamage) -> Exported:
    if path.exists() and not export.overwrite:
        raise ExportRefused(f"{path} exists: name another file, or replace it with --overwrite")
    path.parent.mkdir(parents=True, exist_ok=True)
    snapshot = Snapshot(export.directory, take_snapshot(export.directory, export.part), on_damage)
    with written_aside(path) as file:
        writer, rows = make(file), 0
        for line, found in _rows(export.table, snapshot, BEGINNING):
            writer.write(found, line.content)
            rows += len(found)
        writer.finish()
    return Exported(files=1, rows=rows)


def _rows(table: Table, snapshot: Snapshot, after: Position) -> Iterator[_Found]:
    """The rows of each line that has any."""
    for line in snapshot.last_lines(after):
        try:
            found = list(table.rows(line.content))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            snapshot.report(line, str(error))
            continue
        if found:
            yield line, found


class _Folder:
    """Exports to a folder, and goes on where an export ended."""

    def __init__(self, export: TableExport, folder: Path, say: Say, on_damage: OnDamage) -> None:
        self._export = export
        self._folder = folder
        self._say = say
        self._on_damage = on_damage
        self._path = manifest_path(folder, export.table.name)
        self._options = Options(
            directory=str(export.directory.resolve()),
            part=export.part,
            table=export.table.name,
            schema_version=export.table.version,
            columns=[column.name for column in export.table.columns],
            format=export.format,
            rows_per_file=export.rows_per_file,
        )

    def export(self, make: MakeWriter) -> Exported:
        manifest = None if self._export.overwrite else read_manifest(self._path)
        if manifest is None:
            manifest = self._begin()
        else:
            self._check(manifest)
        if manifest.complete:
            return Exported(files=len(manifest.files), rows=manifest.rows, complete_since=manifest.begun_at)
        manifest = self._go_on(manifest, make)
        write_manifest(self._path, msgspec.structs.replace(manifest, complete=True))
        return Exported(files=len(manifest.files), rows=manifest.rows)

    def _begin(self) -> Manifest:
        name = self._export.table.name
        left = [
            path
            for path in sorted(self._folder.iterdir())
            if path.name.startswith(name) and _LEFT.fullmatch(path.name.removeprefix(name))
        ]
        if left and not self._export.overwrite:
            raise ExportRefused(
                f"{left[0]} is of another export: name another folder, or delete all of its files with --overwrite"
            )
        self._path.unlink(missing_ok=True)  # first, because it names files that are deleted now
        for path in left:
            path.unlink()
        snapshot = take_snapshot(self._export.directory, self._export.part)
        manifest = Manifest(begun_at=self._export.now, options=self._options, snapshot=snapshot)
        write_manifest(self._path, manifest)
        return manifest

    def _check(self, manifest: Manifest) -> None:
        for name in Options.__struct_fields__:
            found, wanted = getattr(manifest.options, name), getattr(self._options, name)
            if found != wanted:
                raise ExportRefused(
                    f"{self._path} is of an export with another {name.replace('_', ' ')}: {found} and not {wanted}; "
                    "name another folder, or begin anew with --overwrite"
                )
        for file in manifest.files:
            path = self._folder / file.name
            if not path.exists() or path.stat().st_size != file.bytes:
                raise ExportRefused(
                    f"{path} is not as this export left it, with {file.bytes:,} bytes: restore it, or begin anew with "
                    "--overwrite"
                )
        for record_file in manifest.snapshot:
            if not manifest.complete and not (self._export.directory / record_file.name).exists():
                raise ExportRefused(
                    f"{record_file.name} is gone from {self._export.directory} since this export began; begin anew "
                    "with --overwrite"
                )
        if manifest.files and not manifest.complete:
            self._say(
                f"kept: {len(manifest.files)} files with {manifest.rows:,} rows of the export that was interrupted"
            )

    def _go_on(self, manifest: Manifest, make: MakeWriter) -> Manifest:
        snapshot = Snapshot(self._export.directory, manifest.snapshot, self._on_damage)
        lines = _rows(self._export.table, snapshot, manifest.position)
        first = next(lines, None)
        while first is not None or not manifest.files:
            file, first = self._write_file(manifest, first, lines, make)
            manifest = manifest.with_file(file)
            write_manifest(self._path, manifest)
            self._say(f"{file.name}: {file.rows:,} rows")
        return manifest

    def _write_file(
        self,
        manifest: Manifest,
        first: _Found | None,
        lines: Iterator[_Found],
        make: MakeWriter,
    ) -> tuple[ExportedFile, _Found | None]:
        """Write `first` and what follows, and return also what did not fit."""
        path = self._folder / f"{self._export.table.name}-{len(manifest.files):05d}.{self._export.format}"
        rows, after = 0, manifest.position
        with written_aside(path) as file:
            writer = make(file)
            while first is not None and (rows == 0 or rows + len(first[1]) <= self._export.rows_per_file):
                line, found = first
                writer.write(found, line.content)
                rows, after = rows + len(found), line.after
                first = next(lines, None)
            writer.finish()
        return ExportedFile(name=path.name, rows=rows, bytes=path.stat().st_size, after=after), first
