"""The promises of every sink, kept by that of SQLite."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from crawler.seams import Sink
from crawler.testing import SinkContract
from crawler.testing.loops import in_event_loop
from crawler.testing.sink.pages import write
from crawler.write.appending import Durability
from crawler.write.database.rows import RowOptions
from crawler.write.database.sqlite import DESCRIPTOR, SqliteSink
from crawler.write.database.sqlite_file import FILE_NAME, read_rows
from crawler.write.descriptor import Parameters, Written


class TestSqliteSink(SinkContract):
    descriptor = DESCRIPTOR

    @pytest.fixture(autouse=True, params=["process", "power"])
    def _choose(self, request: pytest.FixtureRequest) -> None:
        self.durability: Durability = request.param

    def open_sink(self, directory: Path) -> Sink:
        directory.mkdir(parents=True, exist_ok=True)
        return SqliteSink(Parameters(directory=directory, durability=self.durability), RowOptions())

    def read_written(self, directory: Path) -> AsyncIterator[Sequence[Written]]:
        assert DESCRIPTOR.read is not None
        return DESCRIPTOR.read(Parameters(directory=directory), RowOptions())

    def read_numbers(self, directory: Path) -> list[int]:
        return [int(str(row[0])) for rows in read_rows(directory / FILE_NAME, "number") for row in rows]

    @in_event_loop
    async def test_a_page_written_again_is_there_once(self, tmp_path: Path) -> None:
        sink = self.open_sink(tmp_path)
        for number in (1, 2, 1):
            await write(sink, number)
        await sink.aclose()
        assert self.read_numbers(tmp_path) == [1, 2]
