import sqlite3
from contextlib import closing
from pathlib import Path

from sqlite_sink import DESCRIPTOR, Options

from crawler import Sink
from crawler.testing import SinkContract
from crawler.write.descriptor import Parameters


class TestSqliteSink(SinkContract):
    def open_sink(self, directory: Path) -> Sink:
        directory.mkdir(exist_ok=True)
        return DESCRIPTOR.make(Parameters(directory=directory), Options())

    def read_numbers(self, directory: Path) -> list[int]:
        with closing(sqlite3.connect(directory / "pages.sqlite")) as database:
            return [number for (number,) in database.execute("SELECT number FROM page ORDER BY number")]
