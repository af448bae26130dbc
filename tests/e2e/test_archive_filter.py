"""What the archive does not get is done all the same, and nobody misses it."""

import gzip
from pathlib import Path

import pytest

from crawler import Crawl, read_records
from crawler.testing.fetch.raw_server import Script, Seen, page, raw_server
from tests.e2e.crawling import assert_sound, onceover

PNG = b"\x89PNG\r\n\x1a\n"
BODIES = {
    "/": (b"text/html", b"<img src=/i.png><a href=/large>x</a><a href=/gone>y</a><a href=/t.txt>z</a>"),
    "/i.png": (b"image/png", PNG),
    "/large": (b"text/html", b"<a href=/behind>w</a>" + b"x" * 3000),
    "/behind": (b"text/html", b"found"),
    "/t.txt": (b"text/plain", b"text"),
}


def answer(seen: Seen) -> Script:
    kind, body = BODIES.get(seen.target, (b"text/html", b"gone"))
    status = b"200 OK" if seen.target in BODIES else b"404 Not Found"
    return [page(body, b"Content-Type: " + kind, status=status)]


@pytest.mark.parametrize("records", [True, False])
async def test_pages_that_are_filtered_out_of_the_archive_are_done_and_not_missed(
    tmp_path: Path, records: bool
) -> None:
    settings = {
        "output.warc_types": ["text/*", "image/*", "!image/png"],
        "output.warc_max_body_bytes": 2000,
        "output.records": records,
        "crawl.seeds": ["http://a.test/"],
        "politeness.min_delay_s": 0,
        "politeness.robots": False,
        "scope.sitemap_paths": [],
    }
    crawl = tmp_path / "crawl"
    async with raw_server(answer) as server:
        hosts = {"fetch.hosts": {"*.test": f"127.0.0.1:{server.port}"}}
        async with Crawl(directory=crawl, set={**settings, **hosts}) as running:
            async for fetched in running:
                assert fetched.status is not None
    archived = gzip.decompress(next((crawl / "warc").glob("*.gz")).read_bytes())
    for path in BODIES:
        url = f"WARC-Target-URI: http://a.test{path}\r\n".encode()
        assert (url in archived) == (path not in ("/i.png", "/large"))
    assert b"404 Not Found" in archived
    if records:
        found = {each.url.removeprefix("http://a.test"): each for each in read_records(crawl / "records")}
        assert {path: each.not_archived for path, each in found.items() if each.not_archived} == {
            "/i.png": "unwanted-type",
            "/large": "too-large",
        }
    assert_sound(crawl)
    verified = onceover("inspect", "crawl", "verify", cwd=tmp_path)
    assert (verified.code, verified.err) == (0, ""), verified.out

    if records:
        packed = onceover("export", "crawl", "--format", "wacz", "--to", "a.wacz", cwd=tmp_path)
        assert packed.code == 0, packed.err
        assert "2 pages" in packed.out
    for file in (crawl / "warc").iterdir():
        file.unlink()
    lacking = onceover("inspect", "crawl", "verify", cwd=tmp_path)
    assert lacking.code == 1
    assert "http://a.test/behind" in lacking.out
    assert "i.png" not in lacking.out
    assert "large" not in lacking.out
