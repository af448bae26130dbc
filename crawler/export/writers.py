"""Writes rows as JSON Lines, CSV or Parquet."""

import csv
import io
from collections.abc import Callable, Sequence
from datetime import datetime
from importlib import import_module
from typing import Any, BinaryIO, Final, Literal, Protocol
from weakref import finalize

import msgspec

from crawler.export.columns import Column, Row, Table, Value

Format = Literal["jsonl", "csv", "parquet"]

_GROUP_ROWS: Final = 50_000
_GROUP_BYTES: Final = 1 << 25
"""The size of the lines of records in a group. A group of rows is held in memory, several times as large."""


class ExportRefused(Exception):
    """The export can't be made. The message says why, and what to do."""


class RowWriter(Protocol):
    def write(self, rows: Sequence[Row], line: bytes, /) -> None:
        """Write the rows of a line of records."""
        ...

    def finish(self) -> None:
        """Write the rest. The file stays open."""
        ...


class JsonWriter:
    """Writes each row as an object, without what is null."""

    def __init__(self, file: BinaryIO, table: Table) -> None:
        self._file = file
        self._names = [column.name for column in table.columns]
        self._encoder = msgspec.json.Encoder()

    def write(self, rows: Sequence[Row], line: bytes, /) -> None:
        for row in rows:
            values = {name: value for name, value in zip(self._names, row, strict=True) if value is not None}
            self._file.write(self._encoder.encode(values) + b"\n")

    def finish(self) -> None:
        """Everything is written."""


class LineWriter:
    """Writes the lines of records as they are."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, rows: Sequence[Row], line: bytes, /) -> None:
        self._file.write(line)

    def finish(self) -> None:
        """Everything is written."""


class CsvWriter:
    """Writes a head and rows as RFC 4180 has them. What is null is empty."""

    def __init__(self, file: BinaryIO, table: Table) -> None:
        self._text = io.TextIOWrapper(file, "utf-8", errors="replace", newline="", write_through=True)
        self._rows = csv.writer(self._text)
        self._rows.writerow([column.name for column in table.columns])

    def write(self, rows: Sequence[Row], line: bytes, /) -> None:
        for row in rows:
            self._rows.writerow([_csv_value(value) for value in row])

    def finish(self) -> None:
        self._text.detach()


def _csv_value(value: Value) -> Value:
    return ("true" if value else "false") if isinstance(value, bool) else value


class ParquetWriter:
    """Writes groups of rows, in bounded memory."""

    def __init__(self, file: BinaryIO, table: Table) -> None:
        self._arrow, parquet = load_arrow()
        self._columns = table.columns
        self._schema = self._arrow.schema(
            [(column.name, self._type(column)) for column in table.columns],
            metadata={"onceover.table": table.name, "onceover.schema_version": str(table.version)},
        )
        self._writer = parquet.ParquetWriter(file, self._schema, compression="zstd")
        # Otherwise it completes a file that was given up when it is freed, and prints that this file is closed.
        finalize(self, setattr, self._writer, "is_open", False)
        self._rows: list[Row] = []
        self._bytes = 0

    def write(self, rows: Sequence[Row], line: bytes, /) -> None:
        self._rows += rows
        self._bytes += len(line)
        if len(self._rows) >= _GROUP_ROWS or self._bytes >= _GROUP_BYTES:
            self._write_group()

    def finish(self) -> None:
        if self._rows:
            self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        values = zip(*self._rows, strict=True)
        arrays = [
            self._arrow.array([_arrow_value(column, value) for value in of_column], self._type(column))
            for column, of_column in zip(self._columns, values, strict=True)
        ]
        self._writer.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema))
        self._rows.clear()
        self._bytes = 0

    def _type(self, column: Column) -> Any:
        match column.kind:
            case "string":
                return self._arrow.string()
            case "integer":
                return self._arrow.int64()
            case "number":
                return self._arrow.float64()
            case "boolean":
                return self._arrow.bool_()
            case "time":
                return self._arrow.timestamp("ms", tz="UTC")


def _arrow_value(column: Column, value: Value) -> object:
    if column.kind == "time" and isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            return None  # as a server may say of its own pages
    return value


def load_arrow() -> tuple[Any, Any]:
    """pyarrow, and its module for Parquet. Raises `ExportRefused` if it is not installed."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise ExportRefused(
            "--format parquet needs pyarrow, which is not installed: pip install 'onceover-crawler[parquet]'; "
            "csv and jsonl need nothing"
        ) from error


def make_writer(form: Format, table: Table) -> Callable[[BinaryIO], RowWriter]:
    """Makes a writer for each file. Raises `ExportRefused` if what it needs is not installed."""
    if form == "parquet":
        load_arrow()
        return lambda file: ParquetWriter(file, table)
    if form == "csv":
        return lambda file: CsvWriter(file, table)
    if table.is_lines:
        return LineWriter
    return lambda file: JsonWriter(file, table)
