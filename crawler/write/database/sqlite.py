"""Pages in a file of SQLite: `sinks/NAME/pages.sqlite`."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from crawler.page import Fetched, PageRecord
from crawler.write.database.batches import Batches
from crawler.write.database.leaving_out import LeavingOut
from crawler.write.database.rows import Row, RowOptions, row_of
from crawler.write.database.sqlite_file import FILE_NAME, SqliteFile, read_written
from crawler.write.descriptor import FILES, Descriptor, LeftOut, Parameters, Written


class SqliteSink:
    """A page that is written again replaces its row. One thread at a time works on the file."""

    def __init__(self, parameters: Parameters, options: RowOptions) -> None:
        assert parameters.directory is not None  # it needs one
        self._options = options
        self._file = SqliteFile(parameters.directory / FILE_NAME, durability=parameters.durability)
        self._leaving_out = LeavingOut("sqlite", store=self._store, takes=self._takes)
        self._batches = Batches(self._leaving_out.store)
        self._closed = False

    def tell_refusals(self, tell: Callable[[LeftOut], object], /) -> None:
        self._leaving_out.tell_refusals(tell)

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        if self._closed:
            raise ValueError("the SQLite sink is closed; it can't be written to any more")
        await self._batches.add(row_of(page, record, self._options))

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._batches.aclose()
        await asyncio.to_thread(self._file.close)

    async def _store(self, rows: Sequence[Row]) -> None:
        await asyncio.to_thread(self._file.store, rows)

    async def _takes(self, row: Row) -> bool:
        return await asyncio.to_thread(self._file.takes, row)


async def _read(parameters: Parameters, _: RowOptions) -> AsyncIterator[Sequence[Written]]:
    assert parameters.directory is not None
    for rows in read_written(parameters.directory / FILE_NAME):
        yield rows


DESCRIPTOR: Final = Descriptor(
    name="sqlite", make=SqliteSink, options=RowOptions, needs=FILES, read=_read, from_records=True
)
