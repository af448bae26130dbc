"""Output of a crawl in many small files, of which each is a day older than the next."""

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from crawler.disk.directory import CrawlDirectory
from crawler.page import NotModified, Page
from crawler.prune.finished import OutputFile, output_files
from crawler.write.records import RecordSink
from crawler.write.warc import WarcOptions, WarcSink
from tests.unit.write.samples import page, record_of

DAY_S = 86_400.0
NOW = 1_800_000_000.0


def whole(number: int, body: bytes | None = None) -> Page:
    """The page of a number, fetched on its day."""
    return msgspec.structs.replace(page(number, body), fetched_at=fetched_at(number))


def unchanged(number: int, at: int) -> NotModified:
    """The answer on a later day that the page of a number is as it was."""
    found = page(number)
    return NotModified(url=found.url, status=304, headers=[], fetched_at=fetched_at(at), duration_s=0.1)


def fetched_at(number: int) -> float:
    return NOW - (10 - number) * DAY_S


def write(
    directory: Path,
    pages: Sequence[Page | NotModified],
    *,
    first: int = 0,
    revisits: int = 0,
    prefix: str = "onceover",
    now: float = NOW,
) -> CrawlDirectory:
    """Write each page into files of its own, numbered from `first` on."""
    crawl = CrawlDirectory(directory)
    options = WarcOptions(max_bytes=1000, revisits=revisits, prefix=prefix)
    with ThreadPoolExecutor(1) as thread:  # a test may have a loop of its own
        thread.submit(lambda: asyncio.run(_write(crawl, pages, first, options, now))).result()
    for file in output_files([crawl]):
        serial = int(file.path.name.split("-")[-1].partition(".")[0])
        os.utime(file.path, (fetched_at(serial), fetched_at(serial)))
    return crawl


async def _write(
    crawl: CrawlDirectory, pages: Sequence[Page | NotModified], first: int, options: WarcOptions, now: float
) -> None:
    records = RecordSink(crawl.records, max_bytes=1)
    archive = WarcSink(crawl.warc, options, clock=lambda: now)
    for number, each in enumerate(pages, first):
        record = record_of(each, number)
        await archive.write(each, record)
        await records.write(each, record)
    await archive.aclose()
    await records.aclose()


def names(crawl: CrawlDirectory, of: Callable[[CrawlDirectory], Path]) -> list[str]:
    return sorted(each.name for each in of(crawl).iterdir())


def serials(files: Sequence[OutputFile]) -> list[tuple[str, int]]:
    """The output and serial of each file."""
    return [(each.path.parent.name, int(each.path.name.split("-")[-1].partition(".")[0])) for each in files]
