"""The text of pages, from the server to records, tables and databases."""

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from crawler import Crawl, CrawledPage, read_records
from tests.e2e.crawling import assert_sound
from tests.e2e.operating import command_here
from tests.servers import RawServer, Script, Seen, page, raw_server

SENTENCES = b"It was a bright cold day in April, and the clocks were striking thirteen. " * 5
ARTICLE = b"<title>T</title><nav><a href=/>Home</a></nav><article><p>%b<a href=b>more</a></article>" % SENTENCES
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
    chosen = {
        "crawl.seeds": ["http://a.test/"],
        "fetch.hosts": {"*.test": f"127.0.0.1:{server.port}"},
        "politeness.min_delay_s": 0,
        "politeness.robots": False,
        "scope.sitemap_paths": [],
        **settings,
    }
    async with Crawl(directory=directory, set=chosen) as crawl:
        return [page async for page in crawl]


async def test_records_tables_and_databases_have_the_text_of_pages(tmp_path: Path) -> None:
    settings = {"output.text": True, "output.markdown": True, "output.sinks": ["sqlite"]}
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
    with sqlite3.connect(next((crawl / "sinks").rglob("*.sqlite*"))) as database:
        stored = dict(database.execute('SELECT url, "text" FROM pages').fetchall())
    database.close()
    assert stored == {url: found[0] for url, found in texts.items()}
