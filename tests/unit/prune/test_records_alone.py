"""A crawl that writes records and no archive keeps each page as a whole, also if it never changes."""

import asyncio
import os
from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from crawler.disk.directory import CrawlDirectory
from crawler.disk.pruned import Cycle, Pruned, read_pruned, write_pruned
from crawler.page import NotModified, Page, rfc3339
from crawler.prune.choosing import Keep
from crawler.prune.finished import output_files
from crawler.prune.keeping import Keeping, Referring
from crawler.prune.pruning import delete, make_plan
from crawler.prune.recorded import visits_since
from crawler.write.records import RecordSink, read_records
from frontier import CrawlUrl
from frontier.visits import LastVisit
from tests.unit.prune.written import DAY_S, NOW, whole, write
from tests.unit.write.samples import page, record_of

PAGES = 6


class _Returning:
    """A crawl that visits pages which never change, by a clock of its own. Each visit is in a file of its own."""

    def __init__(self, directory: Path, keep: Keep) -> None:
        self.crawl = CrawlDirectory(directory)
        self.now = NOW
        self.whole = 0
        self._keep = keep
        self._number = 0
        self._visits: dict[int, LastVisit] = {}
        self._records = RecordSink(self.crawl.records, max_bytes=1)
        self.start()

    def start(self) -> None:
        cycles = read_pruned(self.crawl).cycles
        began = datetime.fromisoformat(cycles[-1].began).timestamp() if cycles else 0.0
        self.kept = Keeping(
            lambda: [self.crawl],
            lambda _: True,
            own=self.crawl,
            keep=self._keep,
            clock=lambda: self.now,
            referring=Referring(
                since=visits_since(cycles[-1] if cycles else None, at=began),
                next_number=lambda: self._number,
                latest_at=lambda: self.now,
            ),
        )

    async def visit(self, number: int) -> None:
        fetched: Page | NotModified = msgspec.structs.replace(
            page(number, b"the page %d" % number), fetched_at=self.now
        )
        visited = CrawlUrl(
            url=fetched.url, canonical=fetched.url, queue_key="test,a", last_visit=self._visits.get(number)
        )
        if visited.last_visit is not None and self.kept.may_be_conditional(visited):
            fetched = NotModified(url=fetched.url, status=304, headers=[], fetched_at=self.now, duration_s=0.1)
        else:
            self.whole += 1
        record = msgspec.structs.replace(record_of(fetched, self._number), url=fetched.url)
        await self._records.write(fetched, record)
        self._visits[number] = LastVisit(visits=1, status=200, fetched_at=self.now, number=self._number)
        self._number += 1
        for file in output_files([self.crawl]):
            if file.written_at < NOW or file.written_at > self.now:
                os.utime(file.path, (self.now, self.now))

    def pages(self) -> set[str]:
        """Those of which a record has the whole page."""
        return {record.url for record in read_records(self.crawl.records) if record.status == 200}


@pytest.mark.parametrize("keep", [Keep(seconds=4 * DAY_S), Keep(bytes=30_000)], ids=["seconds", "bytes"])
async def test_however_often_a_crawl_comes_back_records_have_each_page_as_a_whole(tmp_path: Path, keep: Keep) -> None:
    crawl = _Returning(tmp_path, keep)
    await crawl.kept.prepare(archives=False)
    visits = 20 * PAGES
    for visit in range(visits):
        crawl.now = NOW + visit * DAY_S / PAGES
        await crawl.visit(visit % PAGES)
        await crawl.kept.prune_once()
        if visit >= PAGES:
            assert len(crawl.pages()) == PAGES
    assert read_pruned(crawl.crawl).files
    assert crawl.whole < visits * 0.6


async def test_after_records_were_pruned_by_hand_each_page_comes_as_a_whole_once(tmp_path: Path) -> None:
    crawl = _Returning(tmp_path, Keep())
    await crawl.kept.prepare(archives=False)
    for visit in range(3 * PAGES):
        crawl.now = NOW + visit * DAY_S / PAGES
        await crawl.visit(visit % PAGES)
    assert crawl.whole == PAGES
    plan = make_plan([crawl.crawl], Keep(seconds=1.5 * DAY_S), now=crawl.now)
    delete(crawl.crawl, list(plan.chosen.items()), now=crawl.now)
    assert not crawl.pages()
    for _ in range(2):
        crawl.now += DAY_S
        crawl.start()
        await crawl.kept.prepare(archives=False)
        crawl.now += 1.0
        for number in range(PAGES):
            await crawl.visit(number)
        assert len(crawl.pages()) == PAGES
    assert crawl.whole == 2 * PAGES


def test_records_alone_that_begin_anew_do_not_hide_what_the_archive_lacks(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(0)])
    cycle = Cycle(began=rfc3339(NOW - 9 * DAY_S), first=0)
    write_pruned(crawl, Pruned(cycles=[cycle]))
    kept = Keeping(lambda: [crawl], lambda _: True, own=crawl, keep=Keep(seconds=DAY_S), clock=lambda: NOW)
    asyncio.run(kept.prepare(archives=False))
    found = read_pruned(crawl)
    assert found.cycles[-1].began == rfc3339(NOW)
    assert found.lacks_pages
