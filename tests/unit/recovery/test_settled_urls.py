"""What a recovery notes of visits lies in a temporary file."""

import asyncio
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from config import Loaded, load
from crawler.disk.directory import CrawlDirectory
from crawler.page import rfc3339
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
from frontier import MAX_HISTORY, LedgerEntry, UrlState


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


@pytest.mark.parametrize(("reason", "anchor"), [("no-https", "b.test/"), ("dns", None), (None, None)])
def test_a_seed_without_a_scheme_has_none_when_it_is_fetched_again(
    tmp_path: Path, reason: str | None, anchor: str | None
) -> None:
    loaded, _ = configured(tmp_path)
    entry = LedgerEntry(canonical="https://b.test/", state=UrlState.DONE, number=1, found_at=0.0, reason=reason)
    again = RecordUrls(loaded.config, url_reader(loaded)).of_entry(entry)
    assert again is not None
    assert (again.kind, again.anchor) == ("seed", anchor)


def entries(loaded: Loaded, crawl: CrawlDirectory, records: Sequence[dict[str, object]]) -> list[LedgerEntry]:
    """Those of records of one URL, in the order written."""
    page = {"url": "http://a.test/", "state": "done", "depth": 1, "kind": "link", "status": 200}
    told = "".join(f"{json.dumps({'number': number, **page, **each})}\n" for number, each in enumerate(records, 1))
    (crawl.records / "records-00000.jsonl").write_text(told)
    urls = RecordUrls(loaded.config, url_reader(loaded))
    settled = SettledUrls(Sources(own=crawl), urls, Bodies(loaded, [crawl]), progress=lambda _: None)
    with closing(settled):
        return list(filter(None, settled.entries()))


def visited(visit: int, at_s: float | None, change: Change | None, **more: object) -> dict[str, object]:
    return {"visit": visit, "fetched_at": None if at_s is None else rfc3339(at_s), "change": change, **more}


@pytest.mark.parametrize("is_pruned", [False, True])
def test_how_often_a_page_had_changed_is_recovered(tmp_path: Path, is_pruned: bool) -> None:
    loaded, crawl = configured(tmp_path)
    digest = f"sha1:{'A' * 32}"
    visits = [
        visited(1, 1000, None),
        visited(2, 1010, Change.CHANGED, digest=digest, etag='"2"'),
        visited(3, 1030, Change.NOT_MODIFIED, status=304),
        visited(4, 1031, None, state="failed", status=None, reason="timeout"),
        visited(5, 1071, Change.CHANGED, status=404),
        visited(6, 1151, Change.CHANGED, digest=digest, etag='"2"'),
        visited(7, 1155.5, Change.UNCHANGED, digest=digest, etag='"2"'),
        visited(8, 1160, Change.NOT_MODIFIED, status=304),
        visited(8, 1160, Change.NOT_MODIFIED, status=304, number=8),
    ]
    (entry,) = entries(loaded, crawl, visits[is_pruned:])
    assert entry.history == (*(() if is_pruned else (10,)), -20, 40, 80, -4, -4)
    assert (entry.visits, entry.status, entry.etag, entry.digest) == (8, 304, '"2"', bytes(20))


def test_a_history_ends_with_the_last_visits_also_of_a_page_that_had_not_changed_at_them(tmp_path: Path) -> None:
    loaded, crawl = configured(tmp_path)
    unchanged = [visited(2 + each, 10 * (2 + each), Change.NOT_MODIFIED, status=304) for each in range(20)]
    (entry,) = entries(loaded, crawl, [visited(1, 10, None, etag='"1"'), *unchanged])
    assert (entry.history, entry.etag) == ((-10,) * MAX_HISTORY, '"1"')
    changed = [visited(2 + each, 10 * (2 + each), Change.CHANGED) for each in range(20)]
    (entry,) = entries(loaded, crawl, [visited(1, 10, None), *changed])
    assert entry.history == (10,) * MAX_HISTORY


def test_a_page_that_was_found_again_after_it_was_forgotten_has_the_history_since(tmp_path: Path) -> None:
    loaded, crawl = configured(tmp_path)
    again = [visited(1, 2000, None), visited(2, 2007, Change.UNCHANGED)]
    found = entries(loaded, crawl, [visited(1, 1000, None), visited(2, 1010, Change.CHANGED), *again])
    assert (found[0].number, found[0].history) == (4, (-7,))


@pytest.mark.parametrize("last", [1, 21], ids=["visits", "links"])
async def test_a_recovery_hears_signals_while_it_reads_what_tells_nothing_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    """Visits at which pages had not changed, and records of visits without links."""
    monkeypatch.setattr("crawler.wiring.recovery.entries.BATCH_SIZE", 10)
    for room in ("settled", "output_links"):
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
