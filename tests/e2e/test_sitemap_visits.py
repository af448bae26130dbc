"""Pages that are visited because of what sitemaps say: `recrawl.schedule = "sitemap"`."""

import asyncio
from pathlib import Path

import pytest

from crawler.testing.fetch.raw_server import Script, Seen, page, raw_server
from crawler.write.records import read_records
from tests.e2e.crawling import COMPLETE
from tests.e2e.operating import command_here
from tests.e2e.test_text import crawled

TAG = b'ETag: "1"'
LISTED = b"<urlset><url><loc>/</loc><changefreq>hourly</changefreq><lastmod>2026-02-03</lastmod></url></urlset>"


def answer(seen: Seen) -> Script:
    if seen.header("If-None-Match") == '"1"':
        return [page(b"", TAG, status=b"304 Not Modified")]
    if seen.target == "/sitemap.xml":
        return [page(LISTED, b"Content-Type: application/xml", TAG)]
    return [page(b"<p>page", b"Content-Type: text/html", TAG)]


async def crawl_once(crawl: Path, schedule: str) -> None:
    settings = {"recrawl.schedule": schedule, "politeness.robots": True, "scope.sitemap_paths": ["/sitemap.xml"]}
    async with raw_server(answer) as server:
        await crawled(server, crawl, settings)


@pytest.mark.parametrize("schedule", ["sitemap", "fixed"])
def test_a_sitemap_that_has_not_changed_is_read_again_if_pages_are_visited_because_of_it(
    tmp_path: Path, schedule: str
) -> None:
    """The crawl knew the page before it read how often that changes, and the page may have changed since its visit."""
    asyncio.run(crawl_once(tmp_path, schedule))
    assert command_here("recrawl", str(tmp_path)).code == COMPLETE
    asyncio.run(crawl_once(tmp_path, schedule))
    statuses = {each.url[13:]: each.status for each in read_records(tmp_path / "records") if each.visit == 2}
    assert statuses == {"/": 304, "/sitemap.xml": 200 if schedule == "sitemap" else 304}
