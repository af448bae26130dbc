import sqlite3
from contextlib import closing
from pathlib import Path

from sqlite_sink import DESCRIPTOR

from crawler.testing import SinkContract


class TestSqliteSink(SinkContract):
    descriptor = DESCRIPTOR

    def read_numbers(self, directory: Path) -> list[int]:
        with closing(sqlite3.connect(directory / "pages.sqlite")) as database:
            return [number for (number,) in database.execute("SELECT number FROM page ORDER BY number")]
