"""What a recovery notes of visits lies in a temporary file."""

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from config import Loaded, load
from crawler.disk.directory import CrawlDirectory
from crawler.record.changes import Change
from crawler.testing.disks import mounted
from crawler.wiring.components.discovering import url_reader
from crawler.wiring.recovery.bodies import Bodies
from crawler.wiring.recovery.entries import RecordUrls
from crawler.wiring.recovery.facts import NoRoom
from crawler.wiring.recovery.recover import recover
from crawler.wiring.recovery.settled import SettledUrls
from crawler.wiring.recovery.sources import Sources
from crawler.wiring.storage import open_state


def configured(folder: Path) -> tuple[Loaded, CrawlDirectory]:
    configuration, crawl = folder / "crawl.toml", CrawlDirectory(folder / "crawl")
    configuration.write_text('crawl.seeds = ["http://a.test/"]\n')
    crawl.records.mkdir(parents=True)
    return load(configuration, environ={}), crawl


def write_visits(crawl: CrawlDirectory, count: int) -> None:
    """So many URLs were fetched, and had not changed at a second visit."""
    changes = [None] * count + [Change.NOT_MODIFIED] * count
    lines = [
        {"number": number, "url": f"http://a.test/{number % count:04d}", "state": "done", "change": change}
        for number, change in enumerate(changes)
    ]
    told = "".join(f"{json.dumps({**line, 'depth': 1, 'kind': 'link'})}\n" for line in lines)
    (crawl.records / "records-00000.jsonl").write_text(told)


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
    loaded, crawl = configured(tmp_path)
    urls = RecordUrls(loaded.config, url_reader(loaded))
    fit = []
    for count in range(100, 1000, 25):
        write_visits(crawl, count)
        sources = Sources(own=crawl)
        settled = SettledUrls(sources, urls, Bodies(loaded, [crawl]), progress=lambda _: None)
        settled._database.execute("PRAGMA cache_size = 10")
        try:
            fit.append(len(list(filter(None, settled.entries()))) == count)
        except NoRoom:
            fit.append(False)
        settled.close()
    assert fit[0]
    assert not fit[-1]


@pytest.mark.parametrize("last", [1, 21], ids=["visits", "links"])
async def test_a_recovery_hears_signals_while_it_reads_what_tells_nothing_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    """Visits at which pages had not changed, and records of visits without links."""
    monkeypatch.setattr("crawler.wiring.recovery.entries.BATCH_SIZE", 10)
    for room in ("settled", "recover"):
        monkeypatch.setattr(f"crawler.wiring.recovery.{room}.NUMBERS_TOLD", 20)
    loaded, crawl = configured(tmp_path)
    write_visits(crawl, 200)
    told = []

    def end(count: int) -> None:
        told.append(count)
        if len(told) >= last:
            recovering.cancel()

    state = open_state(loaded.config, crawl, may_begin=True)
    recovering = asyncio.ensure_future(recover(loaded, Sources(own=crawl), state, progress=end))
    with pytest.raises(asyncio.CancelledError):
        await recovering
    assert len(told) == last
