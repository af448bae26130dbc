"""A frontier that was lost gets back the sitemaps that waited, and that only a robots.txt names."""

import asyncio
import gzip
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from crawler.testing.fetch.raw_server import Script, Seen, page, raw_server
from tests.e2e.operating import command_here
from tests.e2e.test_text import crawled

TEXT = b"Content-Type: text/plain"
HTML = b"Content-Type: text/html"
NAMED = b"User-agent: *\nDisallow: /private\nSitemap: http://a.test/map.xml\n"
SETTINGS = {
    "politeness.robots": True,
    "scope.sitemap_paths": ["/sitemap.xml"],
    "limits.pages": 1,
    "fetch.concurrency": 1,
}


def waiting(crawl: Path) -> list[tuple[str, str, str]]:
    ended = command_here("frontier", "export", str(crawl), "--pending")
    return [(each["url"], each["kind"], each["via"]) for each in map(json.loads, ended.out.splitlines())]


async def crawl_once(crawl: Path, robots: bytes, settings: Mapping[str, object]) -> None:
    def answer(seen: Seen) -> Script:
        if seen.target != "/robots.txt":
            return [page(b"a leaf", HTML)]
        return [page(robots, TEXT) if robots else page(b"", status=b"404 Not Found")]

    async with raw_server(answer) as server:
        await crawled(server, crawl, {**SETTINGS, **settings})


@pytest.mark.parametrize(
    ("robots", "settings", "names"),
    [
        (NAMED, {}, ["map.xml"]),
        (NAMED, {"output.links": True}, ["map.xml"]),
        (NAMED, {"scope.sitemaps": False}, []),
        (b"", {}, ["sitemap.xml"]),
        (b"User-agent: *\nDisallow:\n", {}, ["sitemap.xml"]),
    ],
    ids=["named", "links", "unwanted", "no-robots", "unnamed"],
)
def test_sitemaps_that_waited_wait_after_a_rebuild(
    tmp_path: Path, robots: bytes, settings: dict[str, object], names: list[str]
) -> None:
    crawl = tmp_path / "crawl"
    asyncio.run(crawl_once(crawl, robots, settings))
    before = waiting(crawl)
    assert before == [(f"http://a.test/{name}", "sitemap", "http://a.test/robots.txt") for name in names]
    shutil.rmtree(crawl / "frontier")
    assert command_here("frontier", "rebuild", str(crawl), "--from-records").code == 0
    assert waiting(crawl) == before
    assert command_here("inspect", str(crawl), "fsck").code == 0


def test_a_robots_file_is_read_from_the_body_to_which_a_revisit_refers(tmp_path: Path) -> None:
    for name, settings in (("earlier", {}), ("crawl", {"output.dedupe_against": [str(tmp_path / "earlier")]})):
        asyncio.run(crawl_once(tmp_path / name, NAMED, settings))
    crawl = tmp_path / "crawl"
    [archive] = (crawl / "warc").glob("*.warc.gz")
    revisits = [part for part in gzip.decompress(archive.read_bytes()).split(b"WARC/1.1") if b"Type: revisit" in part]
    assert any(b"/robots.txt" in each for each in revisits)
    before = waiting(crawl)
    shutil.rmtree(crawl / "frontier")
    assert command_here("frontier", "rebuild", str(crawl), "--from-records").code == 0
    assert waiting(crawl) == before
    assert len(before) == 1
