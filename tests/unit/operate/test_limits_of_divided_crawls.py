"""What a crawl had written but not settled when it was killed counts once, also if the crawl is divided anew then."""

import asyncio
from pathlib import Path

import msgspec

from config import Loaded, load
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import part_directories
from crawler.page import PageRecord
from crawler.parts.allowances import Instruction, Order, Statement
from crawler.parts.line.services import PartService
from crawler.wiring.crawl import open_crawl
from crawler.write.records import RecordSink
from tests.e2e.crawling import COMPLETE
from tests.unit.operate.stored_crawls import HOSTS, SETTLED, StoredCrawl, make, url_of


def write_waiting(crawl: StoredCrawl, number: int, status: int) -> None:
    """Write a record of a URL of each host that waits, as a kill leaves it."""

    async def write() -> None:
        with CrawlDirectory(crawl.directory) as directory:
            async with open_crawl(loaded_for(crawl, crawl.directory), directory) as opened:
                known = [await opened.frontier.status_of(url_of(host, number)) for host in HOSTS]
            records = RecordSink(directory.records)
            for host, entry in zip(HOSTS, known, strict=True):
                assert entry is not None
                record = PageRecord(
                    number=entry.number,
                    url=url_of(host, number),
                    state="done",
                    status=status,
                    depth=0,
                    kind="link",
                )
                await records.write(None, record)
            await records.aclose()

    asyncio.run(write())


def loaded_for(crawl: StoredCrawl, place: Path) -> Loaded:
    return load(
        CrawlDirectory(crawl.directory).configuration,
        overrides=["limits.pages=5"],
        options={"crawl.directory": ("a test", str(place))},
        environ={},
        require_seeds=False,
    )


async def statement(service: PartService) -> Statement:
    """What a part says to the supervisor of a new run."""
    said: asyncio.Queue[msgspec.Struct] = asyncio.Queue()
    service.connect(said.put_nowait)
    service.receive(Instruction(order=Order(1, 0), allowed=0))
    answer = await said.get()
    assert isinstance(answer, Statement)
    return answer


async def statements(crawl: StoredCrawl) -> list[Statement]:
    found = []
    for place in part_directories(crawl.directory):
        with CrawlDirectory(place) as directory:
            async with open_crawl(loaded_for(crawl, place), directory) as opened:
                pages = next(each for each in opened.leasing.services if each.name == "pages")
                found.append(await statement(pages))
    return found


def test_pages_that_were_written_before_a_division_and_not_settled_count_once(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    write_waiting(crawl, SETTLED, 200)
    write_waiting(crawl, SETTLED + 1, 404)
    for into in (3, 2):  # the second time, the output of an undivided crawl is two divisions old
        assert crawl.run("parts", "DIR", "--into", str(into)).code == COMPLETE
        of_parts = asyncio.run(statements(crawl))
        assert len(of_parts) == into
        assert sum(each.pages for each in of_parts) == len(HOSTS)
