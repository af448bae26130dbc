"""What a recovery notes of visits lies in a temporary file."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from config import load
from crawler.disk.directory import CrawlDirectory
from crawler.record.changes import Change
from crawler.testing.disks import mounted
from crawler.wiring.components.discovering import url_reader
from crawler.wiring.recovery.entries import RecordUrls
from crawler.wiring.recovery.facts import NoRoom
from crawler.wiring.recovery.settled import SettledUrls
from crawler.wiring.recovery.sources import Sources


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[None]:
    """Temporary files of SQLite lie on it. A variable for that is read only once."""
    with mounted("-o", "size=64k", at=tmp_path / "mount") as mount, closing(sqlite3.connect("")) as database:
        database.execute(f"PRAGMA temp_store_directory = '{mount}'")
        yield
        database.execute("PRAGMA temp_store_directory = ''")


@pytest.mark.usefixtures("small_disk")
def test_a_temporary_file_of_visits_that_does_not_fit_is_told_with_what_to_do(tmp_path: Path) -> None:
    """Also when it is read, since then changes are written that were only in memory."""
    configuration, crawl = tmp_path / "crawl.toml", CrawlDirectory(tmp_path / "crawl")
    configuration.write_text('crawl.seeds = ["http://a.test/"]\n')
    crawl.records.mkdir(parents=True)
    loaded = load(configuration, environ={})
    urls = RecordUrls(loaded.config, url_reader(loaded))
    fit = []
    for count in range(100, 1000, 25):
        changes = [None] * count + [Change.NOT_MODIFIED] * count
        lines = [
            {"number": number, "url": f"http://a.test/{number % count:04d}", "state": "done", "change": change}
            for number, change in enumerate(changes)
        ]
        told = "".join(f"{json.dumps({**line, 'depth': 1, 'kind': 'link'})}\n" for line in lines)
        (crawl.records / "records-00000.jsonl").write_text(told)
        settled = SettledUrls(Sources(own=crawl), urls, progress=lambda _: None)
        settled._database.execute("PRAGMA cache_size = 10")
        try:
            fit.append(len(list(settled.entries())) == count)
        except NoRoom:
            fit.append(False)
        settled.close()
    assert fit[0]
    assert not fit[-1]
