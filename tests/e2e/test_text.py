"""The text of pages, from the server to records, tables and databases."""

import csv
import gzip
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

import pytest
from warcio.archiveiterator import ArchiveIterator

from config import ConfigError, load
from crawler import Crawl, CrawledPage, read_records
from crawler.testing.fetch.raw_server import RawServer, Script, Seen, page, raw_server
from tests.e2e.crawling import assert_sound, onceover
from tests.e2e.operating import command_here
from tests.unit.read.content.test_pdf_text import pdf

SENTENCES = b"It was a bright cold day in April, and the clocks were striking thirteen. " * 5
DATA = b'<meta property=og:type content=article><script type=application/ld+json>{"@type": "NewsArticle"}</script>'
ARTICLE = DATA + b"<title>T</title><nav><a href=/>Home</a></nav><article><p>%b<a href=b>more</a></article>" % SENTENCES
HTML = b"Content-Type: text/html"


def answer(seen: Seen) -> Script:
    if seen.target == "/":
        return [page(b"<a href=/a>a</a><a href=/gone>x</a><a href=/i.png>i</a>" + ARTICLE, HTML)]
    if seen.target == "/i.png":
        return [page(b"\x89PNG\r\n\x1a\n", b"Content-Type: image/png")]
    if seen.target == "/gone":
        return [page(ARTICLE, HTML, status=b"404 Not Found")]
    return [page(ARTICLE, HTML)]


async def crawled(server: RawServer, directory: Path, settings: Mapping[str, object]) -> list[CrawledPage]:
    """The pages of a whole crawl."""
    async with Crawl(directory=directory, set={**settings_of(server), **settings}) as crawl:
        return [page async for page in crawl]


def settings_of(server: RawServer) -> dict[str, object]:
    return {
        "crawl.seeds": ["http://a.test/"],
        "fetch.hosts": {"*.test": f"127.0.0.1:{server.port}"},
        "politeness.min_delay_s": 0,
        "politeness.robots": False,
        "scope.sitemap_paths": [],
    }


async def test_records_tables_and_databases_have_the_text_of_pages(tmp_path: Path) -> None:
    settings = {
        "output.text": True,
        "output.markdown": True,
        "output.structured_data": True,
        "output.sinks": ["sqlite"],
    }
    async with raw_server(answer) as server:
        pages = await crawled(server, tmp_path / "crawl", settings)
    crawl = tmp_path / "crawl"
    texts = {each.url: (each.main_text, each.markdown) for each in read_records(crawl / "records")}
    assert [(each.main_text, each.markdown) for each in pages] == [texts[each.url] for each in pages]
    text, markdown = texts["http://a.test/a"]
    assert (text or "").startswith("It was a bright cold day")
    assert "[more](http://a.test/b)" in (markdown or "")
    assert texts["http://a.test/gone"] == texts["http://a.test/i.png"] == (None, None)
    assert_sound(crawl)

    assert command_here("export", str(crawl), "--format", "jsonl", "--to", str(tmp_path / "all.jsonl")).code == 0
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert {line["url"]: (line.get("text"), line.get("markdown")) for line in lines} == texts
    assert command_here("export", str(crawl), "--format", "csv", "--to", str(tmp_path / "all.csv")).code == 0
    assert "clocks were striking" in (tmp_path / "all.csv").read_text()
    [row] = [
        row
        for row in csv.DictReader((tmp_path / "all.csv").read_text().splitlines())
        if row["url"] == "http://a.test/a"
    ]
    assert json.loads(row["json_ld"]) == [{"@type": "NewsArticle"}]
    assert json.loads(row["open_graph"]) == {"og:type": "article"}
    with sqlite3.connect(next((crawl / "sinks").rglob("*.sqlite*"))) as database:
        stored = dict(database.execute('SELECT url, "text" FROM pages').fetchall())
    database.close()
    assert stored == {url: found[0] for url, found in texts.items()}


async def test_texts_are_read_anew_from_the_archive_at_an_export(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    async with raw_server(answer) as server:
        await crawled(server, tmp_path / "inline", {"output.text": True, "output.markdown": True})
        await crawled(server, crawl, {"output.warc_revisits": 100})
    inline = {each.url: (each.main_text, each.markdown) for each in read_records(tmp_path / "inline" / "records")}
    assert all(each.main_text is None for each in read_records(crawl / "records"))
    assert b"WARC-Type: revisit" in gzip.decompress(next((crawl / "warc").glob("*.gz")).read_bytes())
    for library in ("turbohtml", "trafilatura"):
        to = tmp_path / library / "pages.jsonl"
        ended = command_here("export", str(crawl), "--format", "jsonl", "--to", str(to), "--text-by", library)
        assert (ended.code, ended.err) == (0, "")
        lines = [json.loads(line) for line in to.read_text().splitlines()]
        found = {line["url"]: (line.get("text"), line.get("markdown")) for line in lines}
        assert found.keys() == inline.keys()
        for url, (text, markdown) in inline.items():
            assert (found[url][0] is None) == (text is None)
            assert library == "trafilatura" or found[url] == (text, markdown)
        assert "[more](http://a.test/b)" in (found["http://a.test/a"][1] or "")
        assert "clocks were striking" in (found["http://a.test/b"][0] or "")

    for path in (crawl / "warc").iterdir():
        path.unlink()
    to = tmp_path / "lacking.csv"
    ended = command_here("export", str(crawl), "--format", "csv", "--to", str(to), "--text-by", "turbohtml")
    assert ended.code == 0
    assert "the archive lacks 3 pages" in ended.err


async def test_the_archive_has_the_text_beside_the_response_and_all_tools_read_it(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    async with raw_server(answer) as server:
        await crawled(server, crawl, {"output.text": True, "output.warc_text": True, "output.warc_revisits": 9})
    [path] = (crawl / "warc").glob("*.warc.gz")
    texts: dict[str, str] = {}
    responses: dict[str, str] = {}
    with path.open("rb") as file:
        for each in ArchiveIterator(file, check_digests="raise"):
            url = each.rec_headers.get_header("WARC-Target-URI") or ""
            if each.rec_type in ("response", "revisit"):
                responses[url] = each.rec_headers.get_header("WARC-Record-ID") or ""
            elif each.rec_type == "conversion":
                assert each.rec_headers.get_header("Content-Type") == "text/plain; charset=utf-8"
                assert each.rec_headers.get_header("WARC-Refers-To") == responses[url]
                texts[url] = each.content_stream().read().decode()
    records = {each.url: each.main_text for each in read_records(crawl / "records")}
    assert texts == {url: text for url, text in records.items() if text is not None}
    assert len(texts) == 3
    assert_sound(crawl)
    verified = onceover("inspect", "crawl", "verify", cwd=tmp_path)
    assert (verified.code, verified.err) == (0, ""), verified.out

    assert command_here("export", str(crawl), "--format", "wacz", "--to", str(tmp_path / "a.wacz")).code == 0
    with ZipFile(tmp_path / "a.wacz") as package:
        _, *lines = package.read("pages/pages.jsonl").splitlines()
        index = gzip.decompress(package.read("indexes/index.cdx.gz")).splitlines()
    assert {page["url"]: page.get("text") for page in map(json.loads, lines)} == texts
    assert len([line for line in index if not line.startswith(b"!")]) == len(responses)


def test_texts_are_archived_only_if_they_are_recorded() -> None:
    with pytest.raises(ConfigError, match=r"output\.text = true"):
        load(None, overrides=['crawl.seeds=["http://a.test/"]', "output.warc_text=true"], environ={})


async def test_the_text_of_pdf_documents_is_recorded(tmp_path: Path) -> None:
    def documents(seen: Seen) -> Script:
        body = {"/": b"<a href=/good>x</a><a href=/bad>x</a>", "/bad": b"%PDF-1.7 nothing"}.get(
            seen.target, pdf("Hello")
        )
        return [page(body, HTML if seen.target == "/" else b"Content-Type: application/pdf")]

    async with raw_server(documents) as server:
        await crawled(server, tmp_path / "crawl", {"output.pdf_text": True, "scope.pdf": True})
    records = {each.url.rpartition("/")[2]: each for each in read_records(tmp_path / "crawl" / "records")}
    assert {name: each.main_text for name, each in records.items()} == {"": None, "good": "Hello", "bad": None}
    assert "its content can't be read" in (records["bad"].message or "")
