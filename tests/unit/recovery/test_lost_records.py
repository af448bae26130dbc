"""A page without a record that says what it holds is fetched again, also if the server says that it has not changed."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from crawler.page import PageRecord
from crawler.testing.fetch.raw_server import Script, Seen, page, raw_server
from crawler.write.records import read_records
from tests.e2e.operating import command_here
from tests.e2e.test_text import crawled

TITLE = b"<title>A page</title>"
HEADERS = (b"Content-Type: text/html", b'ETag: "1"')


def answer(seen: Seen) -> Script:
    if "if-none-match" in str(seen).lower():
        return [page(b"", *HEADERS, status=b"304 Not Modified")]
    return [page(TITLE, *HEADERS)]


async def visit(crawl: Path, settings: Mapping[str, object]) -> None:
    async with raw_server(answer) as server:
        await crawled(server, crawl, settings)


def records(crawl: Path) -> list[PageRecord]:
    return list(read_records(crawl / "records"))


@pytest.mark.parametrize("warc", [True, False])
def test_a_page_whose_only_full_record_is_lost_is_fetched_again(tmp_path: Path, warc: bool) -> None:
    crawl, settings = tmp_path / "crawl", {"output.warc": warc}
    for _ in range(3):
        asyncio.run(visit(crawl, settings))
        assert command_here("recrawl", str(crawl)).code == 0
    asyncio.run(visit(crawl, settings))
    assert [(each.status, each.title) for each in records(crawl)] == [(200, "A page"), *[(304, None)] * 3]
    assert command_here("inspect", str(crawl), "fsck").code == 0
    first = min((crawl / "records").glob("*.jsonl"))
    first.write_text("damaged\n" + "".join(first.read_text().splitlines(keepends=True)[1:]))
    for check in ("fsck", "verify"):
        ended = command_here("inspect", str(crawl), check, "--json")
        assert ended.code == 1
        assert "no other record says what it holds" in str(json.loads(ended.out)["problems"])
    ended = command_here("inspect", str(crawl), "fsck", "--refetch")
    assert "1 URL whose output is missing will be fetched again" in ended.err
    asyncio.run(visit(crawl, settings))
    assert (records(crawl)[-1].status, records(crawl)[-1].title) == (200, "A page")
    for check in ("fsck", "verify"):
        ended = command_here("inspect", str(crawl), check)
        assert ended.code == 0, ended


@pytest.mark.parametrize("has_records", [[False, True], [True, False, True]], ids=["late", "again"])
@pytest.mark.parametrize("warc", [True, False])
def test_pages_visited_without_records_are_fetched_whole_once_there_are_records(
    tmp_path: Path, has_records: Sequence[bool], warc: bool
) -> None:
    crawl = tmp_path / "crawl"
    for kept in [*has_records, True, True]:
        asyncio.run(visit(crawl, {"output.warc": warc, "output.records": kept}))
        if kept:
            ended = command_here("inspect", str(crawl), "fsck")
            assert ended.code == 0, ended
        assert command_here("recrawl", str(crawl)).code == 0
    first, *later = [each for each in records(crawl) if each.visit >= len(has_records)]
    assert (first.status, first.title, first.change) == (200, "A page", "unchanged")
    assert [each.status for each in later] == [304, 304], "the records have the page by now"


@pytest.mark.parametrize("has_archive", [[False, True], [True, False, True]], ids=["late", "again"])
def test_pages_visited_without_an_archive_are_fetched_whole_once_there_is_one(
    tmp_path: Path, has_archive: Sequence[bool]
) -> None:
    crawl = tmp_path / "crawl"
    for kept in [*has_archive, True, True]:
        asyncio.run(visit(crawl, {"output.warc": kept}))
        assert command_here("recrawl", str(crawl)).code == 0
    statuses = [each.status for each in records(crawl)]
    assert statuses[-3:] == [200, 304, 304]
    assert command_here("inspect", str(crawl), "verify").code == 0
