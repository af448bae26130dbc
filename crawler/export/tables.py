"""Exports a table: to one file, or to a folder of files."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from crawler.export.aside import Target, ensure_no_device, ensure_writable, locked_folder, written_aside, written_to
from crawler.export.columns import Row, Table
from crawler.export.manifest import ExportedFile, Manifest, Options, manifest_path, read_manifest, write_manifest
from crawler.export.partitions import Partitions
from crawler.export.snapshot import BEGINNING, Line, OnDamage, Position, Snapshot, record_file_gone, take_snapshot
from crawler.export.writers import ExportRefused, Format, RowWriter, make_writer
from crawler.status import number_of

Say = Callable[[str], None]
MakeWriter = Callable[[BinaryIO], RowWriter]
_Found = tuple[Line, list[Row]]
_MOST: Final = (1 << 63) - 1
_LEFT: Final = re.compile(r"-\d{5,}\.(?:jsonl|csv|parquet)(?:\.open)?")


class TableExport(msgspec.Struct, frozen=True, kw_only=True):
    directory: Path
    part: int | None
    table: Table
    format: Format
    rows_per_file: int
    """In a folder. A line of records with many rows may make a file a little larger."""
    text_reader: str | None = None
    """Who reads the texts anew from the archive."""
    partition_by: tuple[str, ...] = ()
    """Columns by whose values files in a folder are divided among folders."""
    overwrite: bool
    now: str
    """RFC 3339."""


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    files: int
    rows: int
    complete_since: str | None = None
    """When an export had begun that was complete already."""
    is_old: bool = False
    """Whether the records are others by now than those of that export."""


def is_file(to: Path, form: Format) -> bool:
    """Whether a place means one file: it has the ending of the format, and is no folder."""
    return to.suffix == f".{form}" and not to.is_dir()


def export_table(export: TableExport, to: Target, say: Say, on_damage: OnDamage) -> Exported:
    """Export a table to a file, a stream or a folder. Raises `ExportRefused`, `DirectoryRefused` and `OSError`."""
    partitions = Partitions(export.table, export.partition_by)
    make = make_writer(export.format, partitions.table)
    if not isinstance(to, Path) or is_file(to, export.format):
        if export.partition_by:
            found = to if isinstance(to, Path) else "standard output"
            raise ExportRefused(f"a partitioned table has many files: expected a folder, found {found}")
        return _export_file(export, to, make, on_damage)
    ensure_no_device(to)
    try:
        to.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        expected = f"a folder, or a new file whose name ends with .{export.format}"
        raise ExportRefused(f"expected {expected}; found {to}, which is or lies in a file of another kind") from error
    with locked_folder(to):
        return _Folder(export, to, partitions, make, say, on_damage).export()


def _export_file(export: TableExport, to: Target, make: MakeWriter, on_damage: OnDamage) -> Exported:
    ensure_writable(to, may_replace=export.overwrite)
    snapshot = Snapshot(export.directory, take_snapshot(export.directory, export.part), on_damage)
    with written_to(to, may_replace=export.overwrite) as file:
        writer, rows = make(file), 0
        for line, found in _rows(export.table, snapshot, BEGINNING):
            writer.write(found, line.content)
            rows += len(found)
        writer.finish()
    return Exported(files=1, rows=rows)


def _rows(table: Table, snapshot: Snapshot, after: Position) -> Iterator[_Found]:
    """The rows of each line that has any. A damaged line is reported, and left out."""
    integers = [at for at, column in enumerate(table.columns) if column.kind == "integer"]
    for line in snapshot.last_lines(after):
        try:
            if table.rewrite is not None:
                line = msgspec.structs.replace(line, content=table.rewrite(line.content))  # noqa: PLW2901
            found = list(table.rows(line.content))
            _check_integers(found, integers)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            snapshot.report(line, str(error))
            continue
        if found:
            yield line, found


def _check_integers(rows: Sequence[Row], integers: Sequence[int]) -> None:
    """Raise `ValueError` if a number in some columns has more than 64 bits, as only damage makes it: no form of table
    that has types can hold it."""
    for row in rows:
        for at in integers:
            value = row[at]
            if isinstance(value, int) and not -_MOST - 1 <= value <= _MOST:
                raise ValueError(f"expected a number of at most 64 bits, found {value}")


class _Folder:
    """Exports to a folder, and goes on where an export ended."""

    def __init__(
        self, export: TableExport, folder: Path, partitions: Partitions, make: MakeWriter, say: Say, on_damage: OnDamage
    ) -> None:
        self._export = export
        self._partitions = partitions
        self._make = make
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
            text_reader=export.text_reader,
            partition_by=list(export.partition_by),
        )

    def export(self) -> Exported:
        manifest = None if self._export.overwrite else read_manifest(self._path)
        if manifest is None:
            manifest = self._begin()
        else:
            self._check(manifest)
        if manifest.complete:
            is_old = manifest.snapshot != take_snapshot(self._export.directory, self._export.part)
            files, rows, begun_at = len(manifest.files), manifest.rows, manifest.begun_at
            return Exported(files=files, rows=rows, complete_since=begun_at, is_old=is_old)
        manifest = self._go_on(manifest)
        write_manifest(self._path, msgspec.structs.replace(manifest, complete=True))
        return Exported(files=len(manifest.files), rows=manifest.rows)

    def _begin(self) -> Manifest:
        name = self._export.table.name
        left = [
            path
            for path in sorted((*self._folder.iterdir(), *self._folder.glob("*=*/**/*")))
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
                    f"{path} is not as this export left it, with {number_of(file.bytes, 'byte')}: restore it, or begin "
                    "anew with --overwrite"
                )
        for record_file in manifest.snapshot:
            if not manifest.complete and not (self._export.directory / record_file.name).exists():
                raise record_file_gone(record_file, self._export.directory)
        if manifest.files and not manifest.complete:
            files, rows = number_of(len(manifest.files), "file"), number_of(manifest.rows, "row")
            self._say(f"kept: {files} with {rows} of the export that was interrupted")

    def _go_on(self, manifest: Manifest) -> Manifest:
        snapshot = Snapshot(self._export.directory, manifest.snapshot, self._on_damage)
        lines = _rows(self._export.table, snapshot, manifest.position)
        first = next(lines, None)
        while first is not None or not (manifest.files or self._export.partition_by):
            files, first = self._write_files(manifest, first, lines)
            manifest = manifest.with_files(files)
            write_manifest(self._path, manifest)
            for file in files:
                self._say(f"{file.name}: {number_of(file.rows, 'row')}")
        return manifest

    def _write_files(
        self, manifest: Manifest, first: _Found | None, lines: Iterator[_Found]
    ) -> tuple[list[ExportedFile], _Found | None]:
        """Write `first` and what follows until a file is full, a file for each partition, and return also what did not
        fit."""
        name = f"{self._export.table.name}-{manifest.rounds:05d}.{self._export.format}"
        with ExitStack() as stack:
            files = _OpenFiles(self._folder, self._partitions, self._make, name, stack)
            after = manifest.position
            while first is not None and files.take(first, at_most=self._export.rows_per_file):
                after, first = first[0].after, next(lines, None)
            if not self._export.partition_by:
                files.open("")  # also without a row
            files.finish()
        return [
            ExportedFile(name=name, rows=rows, bytes=(self._folder / name).stat().st_size, after=after)
            for name, rows in files.rows.items()
        ], first


class _OpenFiles:
    """The files that are written at the same time, one for each partition. `stack` completes them."""

    def __init__(self, folder: Path, partitions: Partitions, make: MakeWriter, name: str, stack: ExitStack) -> None:
        self._folder = folder
        self._partitions = partitions
        self._make = make
        self._name = name
        self._writers: dict[str, RowWriter] = {}
        self._stack = stack
        self.rows: dict[str, int] = {}
        """The number of rows of each file, by its name."""

    def take(self, found: _Found, *, at_most: int) -> bool:
        """Write the rows of a line. Returns False, and writes nothing, if a file that has rows would get too many."""
        divided = {folder: rows for folder, rows in self._partitions.divide(found[1]).items() if rows}
        for folder, rows in divided.items():
            before = self.rows.get(self._path(folder), 0)
            if before and before + len(rows) > at_most:
                return False
        for folder, rows in divided.items():
            self.open(folder).write(rows, found[0].content)
            self.rows[self._path(folder)] += len(rows)
        return True

    def open(self, folder: str) -> RowWriter:
        """What writes to a partition; its file begins if there is none yet."""
        if folder not in self._writers:
            path = self._folder / self._path(folder)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writers[folder] = self._make(self._stack.enter_context(written_aside(path)))
            self.rows[self._path(folder)] = 0
        return self._writers[folder]

    def _path(self, folder: str) -> str:
        return f"{folder}{self._name}"

    def finish(self) -> None:
        for writer in self._writers.values():
            writer.finish()
