"""Divides the rows of a table among folders, such as `crawl=site/subset=warc/`, as Hive names them. Pure."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

import msgspec

from crawler.export.columns import Row, Table, Value
from crawler.export.writers import ExportRefused

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


class Partitions:
    """The folders of a table, by the values of some columns. The files in them lack these columns, because readers take
    them from the names of the folders."""

    def __init__(self, table: Table, by: Sequence[str]) -> None:
        """Raises `ExportRefused` for a column that the table does not have."""
        names = [column.name for column in table.columns]
        if missing := [name for name in by if name not in names]:
            raise ExportRefused(f"the table of {table.name} can't be partitioned by {missing[0]}, which it lacks")
        self._by = [(name, names.index(name)) for name in by]
        self._kept = [at for at, name in enumerate(names) if name not in by]
        self._folders: dict[tuple[Value, ...], str] = {}
        self.table = msgspec.structs.replace(table, columns=[table.columns[at] for at in self._kept])

    def divide(self, rows: Sequence[Row]) -> dict[str, Sequence[Row]]:
        """The rows by folder."""
        if not self._by:
            return {"": rows}
        found: dict[str, list[Row]] = {}
        for row in rows:
            values = tuple(row[at] for _, at in self._by)
            folder = self._folders.get(values)
            if folder is None:
                folder = self._folders[values] = self._folder(values)
            found.setdefault(folder, []).append(tuple(row[at] for at in self._kept))
        return dict(found)

    def _folder(self, values: tuple[Value, ...]) -> str:
        pairs = zip((name for name, _ in self._by), values, strict=True)
        return "".join(f"{name}={_NULL if value is None else quote(str(value), safe=' ')}/" for name, value in pairs)
