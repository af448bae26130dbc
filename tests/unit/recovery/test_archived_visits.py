"""What a rebuild takes from an archive where a page has no record."""

import asyncio
import gzip
import tracemalloc
from pathlib import Path

from crawler.disk.directory import CrawlDirectory
from crawler.operate.opening import stored_configuration
from crawler.testing.fetch.raw_server import CLOSE, Script, Seen, page, raw_server
from crawler.wiring.recovery.archived import archived_pages, visit_of
from crawler.wiring.recovery.bodies import Bodies
from tests.e2e.test_text import crawled
from tests.unit.recovery.test_last_visits import entries, rebuilt

HTML = b"Content-Type: text/html"
DATED = b"Last-Modified: Mon, 01 Jun 2026 00:00:00 GMT"
TEXT = " ".join(f"word-{number}" for number in range(800)).encode()
DECODED_BYTES = 20_000_000


def answer(seen: Seen) -> Script:
    if seen.target == "/cut":
        return [b"HTTP/1.1 200 OK\r\n%b\r\n%b\r\nContent-Length: 5000\r\n\r\n<p>it breaks off" % (HTML, DATED), CLOSE]
    if seen.target in ("/long", "/moved"):
        status, body = b"200 OK" if seen.target == "/long" else b"302 Found", gzip.compress(bytes(DECODED_BYTES))
        return [page(body, HTML, b"Location: /whole", b"Content-Encoding: gzip", status=status)]
    if seen.target in ("/first", "/second"):
        own = f"<link rel=canonical href={seen.target}/canonical><a href={seen.target}/link>1</a>".encode()
        return [page(TEXT + own, HTML, b'ETag: "1"')]
    return [page(b"<p>all of it", HTML, DATED)]


async def crawl_unrecorded(crawl: Path, *targets: str, **settings: object) -> None:
    async with raw_server(answer) as server:
        seeds = [f"http://a.test{target}" for target in targets]
        limits = {"frontier.max_attempts": 1, "fetch.max_body_bytes": 100_000}
        await crawled(server, crawl, {"crawl.seeds": seeds, "output.records": False, **limits, **settings})


def test_a_page_that_broke_off_is_asked_for_as_a_whole_after_a_rebuild(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    asyncio.run(crawl_unrecorded(crawl, "/cut", "/whole"))
    before = {name: each.last_modified for name, each in entries(crawl).items()}
    assert before == {"http://a.test/cut": None, "http://a.test/whole": "Mon, 01 Jun 2026 00:00:00 GMT"}
    assert rebuilt(crawl) == (0, "2 URLs, 0 pending\n")
    assert {name: each.last_modified for name, each in entries(crawl).items()} == before


def test_links_that_were_not_followed_are_not_followed_by_a_rebuild(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    settings = {"duplicates.near": "no-follow", "fetch.concurrency": 1}
    asyncio.run(crawl_unrecorded(crawl, "/first", "/second", **settings))
    before = entries(crawl)
    assert [name[13:] for name, each in before.items() if each.reason == "near-duplicate"] == ["/second"]
    assert {"/first/link", "/second/canonical"} <= {name[13:] for name in before}
    assert rebuilt(crawl) == (0, "5 URLs, 0 pending\n")
    assert entries(crawl) == before


def test_bodies_that_the_crawl_did_not_decode_to_their_end_are_not_decoded_by_a_rebuild(tmp_path: Path) -> None:
    crawl = CrawlDirectory(tmp_path / "crawl")
    asyncio.run(crawl_unrecorded(crawl.path, "/long", "/moved"))
    bodies = Bodies(stored_configuration(crawl.path), [crawl])
    tracemalloc.start()
    try:
        visits = [visit_of(found, bodies) for _, found in archived_pages(crawl, lambda _: None)]
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert {each.record.status for each in visits if each is not None} == {200, 302}
    assert peak_bytes < DECODED_BYTES
