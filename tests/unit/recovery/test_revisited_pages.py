"""A frontier that was lost gets back the links of pages for which the archive has only revisit records."""

import asyncio
import gzip
import re
import shutil
from pathlib import Path

import pytest

from crawler.testing.fetch.raw_server import Script, Seen, page, raw_server
from tests.e2e.operating import command_here
from tests.e2e.test_text import crawled
from tests.unit.render.rendering import needs_chromium

HTML = b"Content-Type: text/html"
NOFOLLOW = b"X-Robots-Tag: nofollow"
SETTINGS = {"limits.pages": 2, "fetch.concurrency": 1, "crawl.seeds": ["http://a.test/", "http://a.test/copy/"]}


def answer(seen: Seen) -> Script:
    return [page(b"<a href=1>1</a><a href=2>2</a><a href=3>3</a>" + b" " * 100, HTML)]


def rebuilt(crawl: Path) -> tuple[int, str]:
    shutil.rmtree(crawl / "frontier")
    ended = command_here("frontier", "rebuild", str(crawl), "--from-records")
    return ended.code, ended.out


async def crawl_both(earlier: Path, crawl: Path) -> None:
    async with raw_server(answer) as server:
        await crawled(server, earlier, {**SETTINGS, "output.warc_revisits": 9})
        await crawled(server, crawl, {**SETTINGS, "output.dedupe_against": [str(earlier)]})


def test_links_are_read_from_the_bodies_to_which_revisits_refer(tmp_path: Path) -> None:
    earlier, crawl = tmp_path / "earlier", tmp_path / "crawl"
    asyncio.run(crawl_both(earlier, crawl))
    # Two pages with three links each: where they lead is said by the URL of each, not by that of the body.
    assert rebuilt(earlier) == (0, "8 URLs, 6 pending\n")
    assert rebuilt(crawl) == (0, "8 URLs, 6 pending\n")
    shutil.rmtree(earlier)
    code, told = rebuilt(crawl)
    assert (code, told) == (1, "2 URLs, 0 pending\n")


def test_the_choices_of_a_300_are_read_from_its_body(tmp_path: Path) -> None:
    def choices(seen: Seen) -> Script:
        status = b"300 Multiple Choices" if seen.target == "/" else b"200 OK"
        return [page(b"<a href=1>1</a><a href=2>2</a>", HTML, status=status)]

    async def crawl_choices() -> None:
        async with raw_server(choices) as server:
            settings = {**SETTINGS, "crawl.seeds": ["http://a.test/"], "limits.pages": 1}
            await crawled(server, tmp_path / "crawl", settings)

    asyncio.run(crawl_choices())
    shutil.rmtree(tmp_path / "crawl" / "records")
    assert rebuilt(tmp_path / "crawl") == (0, "3 URLs, 1 pending\n")


async def crawl_shadow(crawl: Path) -> None:
    script = b"document.body.attachShadow({mode: 'open'}).innerHTML = '<a href=/1></a><a href=/2 rel=nofollow>'"
    async with raw_server(lambda _: [page(b"<body><script>%b</script>" % script, HTML)]) as server:
        settings = {"crawl.seeds": ["http://a.test/"], "scope.nofollow": True, "render.patterns": ["a.test/$"]}
        await crawled(server, crawl, {**settings, "limits.pages": 1})


@needs_chromium
def test_links_that_only_a_browser_found_are_in_the_archive(tmp_path: Path) -> None:
    asyncio.run(crawl_shadow(tmp_path / "crawl"))
    shutil.rmtree(tmp_path / "crawl" / "records")
    assert rebuilt(tmp_path / "crawl") == (0, "2 URLs, 1 pending\n")


async def crawl_rendered(crawl: Path) -> None:
    async with raw_server(
        lambda _: [page(b"<body><script>document.body.innerHTML='<a href=/1>'</script>", HTML, NOFOLLOW)]
    ) as server:
        await crawled(
            server, crawl, {"crawl.seeds": ["http://a.test/"], "scope.nofollow": True, "render.patterns": ["."]}
        )


@needs_chromium
def test_headers_of_a_rendered_page_hold_for_its_document(tmp_path: Path) -> None:
    asyncio.run(crawl_rendered(tmp_path / "crawl"))
    assert rebuilt(tmp_path / "crawl") == (0, "1 URL, 0 pending\n")


async def crawl_two(crawl: Path) -> None:
    async with raw_server(answer) as server:
        await crawled(server, crawl, SETTINGS)


@pytest.mark.parametrize(
    ("kind", "number", "length", "block"),
    [
        ("response", "9" * 5000, "2", b"HT"),
        ("response", "1", "9" * 5000, b"HT"),
        ("metadata", "1", "5009", b"depth: " + b"9" * 5000 + b"\r\n"),
    ],
)
def test_a_record_of_the_archive_with_damaged_numbers_ends_no_command(
    tmp_path: Path, kind: str, number: str, length: str, block: bytes
) -> None:
    crawl = tmp_path / "crawl"
    asyncio.run(crawl_two(crawl))
    head = f"WARC/1.1\r\nWARC-Type: {kind}\r\nX-Onceover-Number: {number}\r\nContent-Length: {length}\r\n\r\n"
    [archive] = crawl.glob("warc/*.warc.gz")
    with archive.open("ab") as file:
        file.write(gzip.compress(head.encode() + block + b"\r\n\r\n"))
    for check in ("fsck", "verify"):
        ended = command_here("inspect", str(crawl), check)
        assert (ended.code, ended.out.endswith("no problems\n")) == (0, True), ended
    assert rebuilt(crawl) == (0, "8 URLs, 6 pending\n")


@pytest.mark.parametrize("damage", [("number", "9" * 20), ("number", "-" + "9" * 20), ("status", "9" * 20)])
def test_a_line_of_records_with_a_damaged_number_is_passed_over(tmp_path: Path, damage: tuple[str, str]) -> None:
    crawl = tmp_path / "crawl"
    asyncio.run(crawl_two(crawl))
    name, number = damage
    fields = '"url":"http://a.test/","depth":0,"kind":"seed","state":"done"'
    [records] = crawl.glob("records/*.jsonl")
    records.write_text(f'{{"number":99,"{name}":{number},{fields}}}\n{records.read_text()}')
    ended = command_here("inspect", str(crawl), "verify")
    assert (ended.code, "the line at byte 0 can't be read" in ended.out) == (1, True)
    assert rebuilt(crawl) == (0, "8 URLs, 6 pending\n")


@pytest.mark.parametrize(
    ("field", "damaged"), [("fetched_at", "2026-11-3_"), ("digest", "sha1:1"), ("digest", "\u00e9")]
)
def test_a_record_with_a_damaged_date_or_digest_tells_all_else(tmp_path: Path, field: str, damaged: str) -> None:
    crawl = tmp_path / "crawl"
    asyncio.run(crawl_two(crawl))
    [records] = crawl.glob("records/*.jsonl")
    records.write_text(re.sub(f'"{field}":"[^"]*"', f'"{field}":"{damaged}"', records.read_text()))
    assert rebuilt(crawl) == (0, "8 URLs, 6 pending\n")


def test_a_page_whose_record_is_damaged_behind_its_number_is_known_from_the_archive(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    asyncio.run(crawl_two(crawl))
    [records] = crawl.glob("records/*.jsonl")
    records.write_text(records.read_text().replace('"status":200', '"status":"200"'))
    assert rebuilt(crawl) == (0, "8 URLs, 6 pending\n")
