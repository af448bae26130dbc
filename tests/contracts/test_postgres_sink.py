"""The promises of every sink, kept by that of PostgreSQL."""

from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from crawler.seams import Sink
from crawler.testing import SinkContract
from crawler.testing.loops import in_event_loop
from crawler.testing.sink.pages import write
from crawler.write.database.postgres import DESCRIPTOR, PostgresOptions, PostgresSink
from crawler.write.descriptor import Parameters, Written
from tests.postgres import PostgresServer, running_postgres


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_postgres() as running:
        yield running


class TestPostgresSink(SinkContract):
    descriptor = DESCRIPTOR
    """Each directory is the name of a crawl in the same tables."""

    @pytest.fixture(autouse=True)
    def _choose(self, server: PostgresServer) -> None:
        self.dsn = server.dsn

    def open_sink(self, directory: Path) -> Sink:
        return PostgresSink(Parameters(), PostgresOptions(dsn=self.dsn, crawl=str(directory)))

    def read_written(self, directory: Path) -> AsyncIterator[Sequence[Written]]:
        assert DESCRIPTOR.read is not None
        return DESCRIPTOR.read(Parameters(), PostgresOptions(dsn=self.dsn, crawl=str(directory)))

    def read_numbers(self, directory: Path) -> list[int]:
        server = PostgresServer(Path(self.dsn.partition("host=")[2].partition("&")[0]))
        found = server.query(f"SELECT number FROM onceover.pages WHERE crawl = '{directory}' ORDER BY number")
        return [int(number) for (number,) in found]

    @in_event_loop
    async def test_a_page_written_again_is_there_once(self, tmp_path: Path) -> None:
        sink = self.open_sink(tmp_path)
        for number in (1, 2, 1):
            await write(sink, number)
        await sink.aclose()
        assert self.read_numbers(tmp_path) == [1, 2]
