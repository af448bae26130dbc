"""That a crawl of `a.test` asks https, and http only if there is no https."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from config import load, toml_value
from crawler.disk.directory import CrawlDirectory
from crawler.page import PageRecord
from crawler.wiring.crawl import open_crawl
from crawler.write.records import read_records
from tests.certificates import issued
from tests.servers import page, raw_server

Handler = Callable[[web.Request], Awaitable[web.Response]]
SCRIPTS = {"/": [page(b'<a href="/in">x</a>', b"Content-Type: text/html")], "/in": [page(b"in")]}


def answered(body: bytes) -> Handler:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body, content_type="text/html")

    return answer


async def crawled(folder: Path, port: int, authorities: str, *, robots: bool) -> dict[str, PageRecord]:
    file = folder / "crawl.toml"
    file.write_text(
        f'[crawl]\nseeds = ["a.test"]\n[politeness]\nmin_delay_s = 0\nrobots = {toml_value(robots)}\n'
        "[frontier]\nmax_attempts = 1\n"
        f'[fetch]\nhosts = {{ "a.test" = "127.0.0.1:{port}" }}\nauthorities = {toml_value([authorities])}\n'
    )
    with CrawlDirectory(folder / "crawl") as directory:
        async with open_crawl(load(file), directory) as crawl:
            await crawl.engine.run()
    return {record.url: record for record in read_records(folder / "crawl" / "records")}


@pytest.mark.parametrize("robots", [True, False])
async def test_http_is_tried_if_the_server_speaks_no_tls_and_the_record_tells_it(tmp_path: Path, robots: bool) -> None:
    _, authorities = issued("a.test", tmp_path)
    app = web.Application()
    app.router.add_get("/", answered(b'<a href="/in">x</a>'))
    app.router.add_get("/in", answered(b"in"))
    async with TestServer(app) as server:
        assert server.port is not None
        records = await crawled(tmp_path, server.port, authorities, robots=robots)
    told = records["https://a.test/"]
    assert (told.status, told.redirect, told.ip) == (307, "http://a.test/", None)
    assert "the server speaks no TLS" in (told.message or "")
    assert (records["http://a.test/"].status, records["http://a.test/in"].status) == (200, 200)


async def test_https_is_asked_first_and_http_never_if_it_answers(tmp_path: Path) -> None:
    tls, authorities = issued("a.test", tmp_path)
    async with raw_server(SCRIPTS, tls=tls) as server:
        records = await crawled(tmp_path, server.port, authorities, robots=True)
    assert {url: record.status for url, record in records.items() if record.kind != "sitemap"} == {
        "https://a.test/": 200,
        "https://a.test/in": 200,
    }


async def test_http_is_never_asked_after_a_wrong_certificate(tmp_path: Path) -> None:
    tls, authorities = issued("b.test", tmp_path)
    async with raw_server(SCRIPTS, tls=tls) as server:
        records = await crawled(tmp_path, server.port, authorities, robots=True)
    assert {url: record.reason for url, record in records.items()} == {"https://a.test/": "tls-wrong-host"}
