"""Searching a crawl, as people do it: while it runs, when it is done, in parts, and when its records go."""

import asyncio
import os
import re
import shutil
from pathlib import Path

import msgspec
import pytest

from crawler import Crawl
from crawler.disk.layout import ClusterPlace, Layout
from crawler.testing.fetch.raw_server import RawServer, Script, Seen, page, raw_server
from tests.e2e.crawling import COMPLETE, REFUSED, USAGE, Ended, assert_sound, assert_told, onceover, tree
from tests.e2e.operating import command_here

HTML = b"Content-Type: text/html; charset=utf-8"
PAGES = {
    "/": b"<title>Shop</title><a href=/red>r</a><a href=/blue>b</a><a href=/gone>g</a><a href=/tokyo>t</a><p>All shoes",
    "/red": b"<title>Red shoes</title><nav>menu of the shop</nav><main><p>Shoes of red leather, made by hand.</main>",
    "/blue": b"<title>Blue</title><main><p>These shoes are blue; the red ones are elsewhere.</main>",
    "/tokyo": "<title>東京</title><main><p>東京都の地図です。</main>".encode(),
}
SETTINGS = {"politeness.min_delay_s": 0, "politeness.robots": False, "scope.sitemap_paths": []}


def answer(seen: Seen) -> Script:
    body = PAGES.get(seen.target)
    return [page(b"<p>red shoes are gone", HTML, status=b"404 Not Found") if body is None else page(body, HTML)]


async def crawl(server: RawServer, directory: Path, **settings: object) -> Path:
    hosts = {"fetch.hosts": {"*.test": f"127.0.0.1:{server.port}"}, "crawl.seeds": ["http://shop.test/"]}
    given = {name.replace("__", "."): value for name, value in settings.items()}
    async with Crawl(directory=directory, set=SETTINGS | hosts | given) as crawl:
        async for _ in crawl:
            pass
    return directory


def search(crawl: Path, *words: str) -> Ended:
    return command_here("search", str(crawl), *words)


def urls(crawl: Path, *words: str) -> list[str]:
    ended = search(crawl, "--json", *words)
    assert ended.code == COMPLETE, ended.err
    hits = ended.json()["hits"]
    assert isinstance(hits, list)
    return [hit["url"].removeprefix("http://shop.test") for hit in hits]


@pytest.mark.parametrize("keeps", [{}, {"output__text": True, "output__warc": False}], ids=["archive", "records"])
async def test_a_crawl_is_searched_by_the_words_of_its_pages(tmp_path: Path, keeps: dict[str, object]) -> None:
    async with raw_server(answer) as server:
        crawled = await crawl(server, tmp_path / "crawl", **keeps)
    assert urls(crawled, "red", "shoes") == ["/red", "/blue"]
    assert urls(crawled, '"red leather" -blue') == ["/red"]
    assert urls(crawled, "menu") == urls(crawled, "gone") == []
    assert urls(crawled, "京都") == ["/tokyo"]
    assert urls(crawled, "red site:other.test") == []
    ended = search(crawled, "leather")
    assert_told(ended, COMPLETE, "1 to 1 of 1 page; 4 pages were searched")
    assert ended.out == "1. Red shoes\n   http://shop.test/red\n   Shoes of red leather, made by hand.\n"
    assert_told(search(crawled, "nothing"), COMPLETE, "no page has this; 4 pages were searched")
    assert_told(search(crawled, "--skip", "9", "red"), COMPLETE, "no further page has this")
    assert_told(search(crawled, "--within", "1h", "leather"), COMPLETE, "1 to 1 of 1 page")
    assert_told(search(crawled, "--within", "soon", "leather"), USAGE, "expected a duration")
    assert_sound(crawled)


async def test_a_page_that_fails_for_a_while_is_found_as_it_was(tmp_path: Path) -> None:
    down = page(b"<p>red shoes are down", HTML, status=b"500 Internal Server Error")
    failing: set[str] = set()
    async with raw_server(lambda seen: [down] if seen.target in failing else answer(seen)) as server:
        crawled = await crawl(server, tmp_path / "crawl", frontier__max_attempts=1)
        failing.add("/red")
        assert_told(await asyncio.to_thread(onceover, "recrawl", crawled, cwd=tmp_path), COMPLETE)
        await crawl(server, tmp_path / "crawl", frontier__max_attempts=1)
    ended = search(crawled, "leather")
    assert re.search(r"\n   as of \S+Z; the last visit got: 500\n   Shoes of red leather", ended.out)


async def test_a_crawl_is_searched_while_it_runs(tmp_path: Path) -> None:
    found: list[int] = []
    async with raw_server(answer) as server:
        given = {"fetch.hosts": {"*.test": f"127.0.0.1:{server.port}"}, "crawl.seeds": ["http://shop.test/"]}
        async with Crawl(directory=tmp_path / "crawl", set=SETTINGS | given) as running:
            async for _ in running:
                found += [len(urls(tmp_path / "crawl", "shoes OR 東京"))]
    assert found == sorted(found)
    assert len(urls(tmp_path / "crawl", "shoes OR 東京")) == len(PAGES)


async def test_a_page_that_has_changed_is_found_by_its_new_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with raw_server(answer) as server:
        crawled = await crawl(server, tmp_path / "crawl")
        assert urls(crawled, "leather") == ["/red"]
        monkeypatch.setitem(PAGES, "/red", b"<title>Red shoes</title><main><p>Shoes of red cloth.</main>")
        monkeypatch.delitem(PAGES, "/blue")
        assert_told(await asyncio.to_thread(onceover, "recrawl", crawled, cwd=tmp_path), COMPLETE)
        await crawl(server, tmp_path / "crawl")
    assert urls(crawled, "leather") == []
    assert urls(crawled, "cloth") == ["/red"]
    assert urls(crawled, "blue") == []


async def test_the_parts_of_a_crawl_are_searched_as_one(tmp_path: Path) -> None:
    async with raw_server(answer) as server:
        crawled = await crawl(
            server, tmp_path / "crawl", crawl__seeds=[f"http://h{number}.test/red" for number in range(4)]
        )
    assert len(urls(crawled, "leather")) == 4
    for parts in (2, 3, 1):
        assert_told(await asyncio.to_thread(onceover, "parts", crawled, "--into", str(parts), cwd=tmp_path), COMPLETE)
        assert len(urls(crawled, "leather")) == 4
    moved = crawled.rename(tmp_path / "moved")
    assert len(urls(moved, "leather")) == 4


@pytest.mark.parametrize("machines", [False, True], ids=["a-disk-is-missing", "on-machines"])
async def test_what_is_here_of_a_crawl_is_searched_and_what_is_missing_is_told(tmp_path: Path, machines: bool) -> None:
    async with raw_server(answer) as server:
        crawled = await crawl(server, tmp_path / "crawl")
    why = "on other machines" if machines else "whose directory is missing"
    place = ClusterPlace(crawl="c", url="redis://127.0.0.1", prefix="p", lease_s=9, configuration_version=1)
    layout = msgspec.structs.replace(Layout.begin(2), cluster=place if machines else None)
    whole = tmp_path / "whole"
    shutil.copytree(crawled, whole / "part-1")
    shutil.copy(crawled / "crawl.toml", whole)
    (whole / "parts.json").write_bytes(msgspec.json.encode(layout))
    found = search(whole, "--json", "leather").json()
    assert (found["pages"], found["searched"]) == (1, 4)
    assert f"without part 0 of the crawl, {why}" in str(found["notes"])
    assert_told(search(whole, "leather"), COMPLETE, "note: without part 0 of the crawl")
    (whole / "part-1").rename(tmp_path / "part-1")
    assert_told(search(whole, "leather"), REFUSED, f"there are no records to search in {whole}: without", why)


async def test_a_deleted_crawl_leaves_no_index(tmp_path: Path) -> None:
    async with raw_server(answer) as server:
        crawled = await crawl(server, tmp_path / "crawl")
        assert urls(crawled, "leather") == ["/red"]
        (crawled / "search.sqlite.mine").touch()
        async with Crawl(directory=crawled, fresh=True, set=SETTINGS | {"crawl.seeds": ["http://a.test/"]}):
            assert [path.name for path in crawled.glob("search.sqlite*")] == ["search.sqlite.mine"]


async def test_a_crawl_that_may_only_be_read_is_searched_with_an_index_elsewhere(tmp_path: Path) -> None:
    async with raw_server(answer) as server:
        crawled = await crawl(server, tmp_path / "crawl")
    before = tree(crawled)
    ended = search(crawled, "--index", str(tmp_path / "index"), "leather")
    assert "Red shoes" in ended.out
    refused = search(crawled, "--index", str(crawled / "records" / "index"), "leather")
    assert_told(refused, REFUSED, "belongs to the crawl itself: name another place")
    assert tree(crawled) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_folder_that_takes_no_index_is_told(tmp_path: Path) -> None:
    async with raw_server(answer) as server:
        crawled = await crawl(server, tmp_path / "crawl")
    crawled.chmod(0o500)
    try:
        assert_told(search(crawled, "leather"), REFUSED, "--index")
    finally:
        crawled.chmod(0o700)


async def test_an_archive_that_is_gone_or_damaged_costs_its_texts_alone(tmp_path: Path) -> None:
    async with raw_server(answer) as server:
        crawled = await crawl(server, tmp_path / "crawl")
    [archive] = (crawled / "warc").glob("*.warc.gz")
    content = bytearray(archive.read_bytes())
    content[200 : len(content) // 2] = b"\0" * (len(content) // 2 - 200)
    archive.write_bytes(content)
    assert "/red" in urls(crawled, "title:red")
    shutil.rmtree(crawled / "warc")
    (crawled / "search.sqlite").unlink()
    assert urls(crawled, "title:red") == ["/red"]
    assert urls(crawled, "leather") == []


async def test_what_is_no_query_and_no_crawl_is_told(tmp_path: Path) -> None:
    assert_told(search(tmp_path / "none", "red"), REFUSED, "none")
    async with raw_server(answer) as server:
        crawled = await crawl(server, tmp_path / "crawl", output__records=False)
    assert_told(search(crawled, "--skip", "9" * 20, "red"), USAGE, "--skip")
    assert_told(search(crawled, "&&"), USAGE, "expected a word to look for")
    assert_told(search(crawled, "red"), REFUSED, "no records to search", "output.records")
    assert_told(search(crawled), USAGE, re.escape("WORD"))
