"""What a site refuses for the purpose of a crawl is in none of its files, and nobody misses it."""

import gzip
from pathlib import Path

from crawler import Crawl, read_records
from crawler.testing.fetch.raw_server import Script, Seen, page, raw_server
from tests.e2e.crawling import assert_sound, onceover

ROBOTS = b"User-agent: *\nContent-Signal: search=yes\nContent-Usage: /closed/ train-ai=n\n"
TDM = b'[{"location": "/mined", "tdm-reservation": 1}]'
BODIES = {
    "/.well-known/tdmrep.json": (b"application/json", TDM, []),
    "/robots.txt": (b"text/plain", ROBOTS, []),
    "/": (
        b"text/html",
        b"<title>open</title><a href=/closed/1>x</a><a href=/reserved>y</a><a href=/noai>z</a><a href=/mined>m</a>",
        [],
    ),
    "/reserved": (b"text/html", b"<title>secret words</title><a href=/behind>w</a>", [b"tdm-reservation: 1"]),
    "/noai": (b"text/html", b"<meta name=robots content=noai><title>secret words</title><img src=/i.png>", []),
    "/behind": (b"text/html", b"<title>found</title>", [b"Content-Usage: train-ai=y"]),
}


def answer(seen: Seen) -> Script:
    kind, body, headers = BODIES.get(seen.target, (b"text/html", b"gone", []))
    status = b"200 OK" if seen.target in BODIES else b"404 Not Found"
    return [page(body, b"Content-Type: " + kind, *headers, status=status)]


async def test_a_crawl_keeps_nothing_that_a_site_refuses_for_its_purpose(tmp_path: Path) -> None:
    settings = {
        "crawl.seeds": ["http://a.test/"],
        "crawl.purpose": ["train-ai"],
        "politeness.min_delay_s": 0,
        "politeness.delay_factor": 0,
        "scope.sitemap_paths": [],
        "output.text": True,
    }
    crawl = tmp_path / "crawl"
    async with raw_server(answer) as server:
        hosts = {"fetch.hosts": {"*.test": f"127.0.0.1:{server.port}"}}
        async with Crawl(directory=crawl, set={**settings, **hosts}) as running:
            pages = {each.url.removeprefix("http://a.test") async for each in running if each.reason is None}
        asked = {each.target for each in server.seen}
    assert pages == {"/", "/behind"}
    assert not asked & {"/closed/1", "/i.png", "/mined"}
    found = {each.url.removeprefix("http://a.test"): each for each in read_records(crawl / "records")}
    assert {path: each.reason for path, each in found.items()} == {
        "/": None,
        "/closed/1": "preferences",
        "/reserved": "preferences",
        "/noai": "preferences",
        "/mined": "preferences",
        "/behind": None,
    }
    assert found["/reserved"].refused_for == ["text-mining", "ai-use", "train-ai"]
    assert found["/noai"].refused == {"preferences": 1}
    files = [path.read_bytes() for path in crawl.rglob("*") if path.is_file()]
    archived = gzip.decompress(next((crawl / "warc").glob("*.gz")).read_bytes())
    assert not any(b"secret words" in each for each in (*files, archived))
    assert b"X-Onceover-Purpose: tdmrep" in archived
    assert b"preference: content-usage (header): train-ai=y" in archived
    assert_sound(crawl)
    verified = onceover("inspect", "crawl", "verify", cwd=tmp_path)
    assert (verified.code, verified.err) == (0, ""), verified.out
    told = onceover("report", "crawl", "hosts", "--json", cwd=tmp_path).out
    assert '"excluded":{"preferences":4}' in told.replace(" ", "")
    story = onceover("inspect", "crawl", "url", "http://a.test/noai", cwd=tmp_path).out
    assert "preferences" in story
