"""That a crawl of `a.test` asks https, and http only if there is no https."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from config import load, toml_value
from crawler.disk.directory import CrawlDirectory
from crawler.page import PageRecord
from crawler.testing.fetch.raw_server import page, raw_server
from crawler.wiring.crawl import open_crawl
from crawler.write.records import read_records
from tests.certificates import issued
from tests.e2e.crawling import COMPLETE, Web, assert_sound, fetched, onceover, records, setting, started
from tests.e2e.parts.in_parts import HURRIED, in_parts
from tests.e2e.test_daemon import serving, write
from tests.e2e.test_daemon_api import on_socket

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


IMPATIENT = "fetch.connect_timeout_s=2"
"""The simulated web waits for the rest of what it takes for the head of a request, instead of refusing TLS."""


def without_scheme(options: list[str]) -> list[str]:
    return [*(option.removeprefix("http://") for option in options), *setting(IMPATIENT)]


def test_a_crawl_killed_before_http_is_tried_tries_it_when_it_is_resumed(tmp_path: Path, web: Web) -> None:
    options = ["crawl", *without_scheme(web.options), "--dir", "crawl"]

    def was_redirected() -> bool:
        return (tmp_path / "crawl" / "records").is_dir() and bool(records(tmp_path / "crawl"))

    with started(*options, *setting("politeness.min_delay_s=2"), cwd=tmp_path) as crawl:
        crawl.wait_until(was_redirected, "the redirect to http")
        crawl.process.kill()
        crawl.process.wait()
    assert onceover(*options, cwd=tmp_path).code == COMPLETE
    assert fetched(tmp_path / "crawl").keys() == web.pages
    redirects = [each for each in records(tmp_path / "crawl") if each.url == f"https://h00000.{web.params.domain}/"]
    # The kill may come after the record was written and before the frontier knew of it: then it is recorded again.
    assert {each.redirect for each in redirects} == {f"http://h00000.{web.params.domain}/"}
    assert_sound(tmp_path / "crawl")


def test_later_visits_try_http_too_and_none_of_them_is_a_failure(tmp_path: Path, web: Web) -> None:
    host = f"h00000.{web.params.domain}"
    assert onceover("crawl", *without_scheme(web.options), "--dir", "crawl", cwd=tmp_path).code == COMPLETE
    for visit in (2, 3):
        assert onceover("recrawl", "crawl", "--host", host, cwd=tmp_path).code == COMPLETE
        assert onceover("crawl", "--dir", "crawl", cwd=tmp_path).code == COMPLETE
        found = [each for each in records(tmp_path / "crawl") if each.url == f"https://{host}/"]
        told = [(each.state, each.status, each.redirect, each.anchor) for each in found]
        assert told == [("done", 307, f"http://{host}/", f"{host}/")] * visit
    assert_sound(tmp_path / "crawl")


def test_a_seed_whose_record_is_lost_tries_http_too_when_it_is_fetched_again(tmp_path: Path, web: Web) -> None:
    seed, crawl = f"https://h00000.{web.params.domain}/", tmp_path / "crawl"
    assert onceover("crawl", *without_scheme(web.options), "--dir", "crawl", cwd=tmp_path).code == COMPLETE
    for file in (crawl / "records").iterdir():
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(line for line in lines if f'"url":"{seed}"' not in line))
    assert onceover("inspect", "crawl", "fsck", "--refetch", cwd=tmp_path).code == COMPLETE
    assert onceover("crawl", "--dir", "crawl", cwd=tmp_path).code == COMPLETE
    told = [(each.status, each.redirect) for each in records(crawl) if each.url == seed]
    assert told == [(307, seed.replace("https", "http"))]
    assert_sound(crawl)


@pytest.mark.long
def test_a_crawl_in_parts_tries_http_in_the_part_of_the_host(tmp_path: Path) -> None:
    with in_parts(tmp_path) as crawl:
        assert onceover(*without_scheme(crawl.options), *HURRIED, cwd=tmp_path).code == COMPLETE
        found = crawl.records()
        assert {record.url for part in found for record in part if record.status == 200} >= crawl.web.pages
    [holder] = [part for part in found if any(record.url.startswith("https://") for record in part)]
    assert [record.redirect for record in holder if record.url.startswith("https://")] == ["http://h00000.test/"]
    assert "http://h00000.test/" in {record.url for record in holder}


def test_the_api_takes_seeds_and_urls_without_a_scheme(tmp_path: Path, web: Web) -> None:
    text = write(tmp_path / "aside", "a", web).read_bytes().replace(b'"http://', b'"') + f"{IMPATIENT}\n".encode()
    home = tmp_path / "home"
    home.mkdir()
    with serving(home) as served:
        api = on_socket(served)
        api.do("PUT", "/crawls/a", text, headers={"Content-Type": "application/toml"})
        served.wait(lambda: api.do("GET", "/crawls/a")["state"] == "complete", "end")
        assert fetched(served.directory("a")).keys() == web.pages
        added = api.do("POST", "/crawls/a/seeds", b'{"urls": ["h00001.%s/added"]}' % web.params.domain.encode())
        assert [each["url"] for each in added["urls"]] == [f"https://h00001.{web.params.domain}/added"]
        served.end()
