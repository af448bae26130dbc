"""That what the readers understand is what a whole crawl does."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from zipfile import ZipFile

import pytest

from config import load, toml_value
from crawler.disk.directory import CrawlDirectory
from crawler.page import LinkKind
from crawler.simweb.expected import Kind
from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from crawler.simweb.world import World
from crawler.testing.fetch.raw_server import Script, page, raw_server
from crawler.wiring.crawl import open_crawl
from crawler.write.records import read_records
from tests.certificates import issued
from tests.e2e.crawling import COMPLETE, Web, assert_told, fetched, onceover, records, setting

HIDING = WorldParams(
    seed=5,
    hosts=4,
    pages_per_host=10,
    links_per_page=6,
    page_bytes=1_000,
    sitemap_only=0.3,
    robots_rules=0.5,
    disallowed=0.1,
)


def test_pages_that_only_sitemaps_know_are_found_unless_sitemaps_are_off(tmp_path: Path) -> None:
    world = World(HIDING)
    with running(HIDING) as port:
        options = Web(port, HIDING).options
        read = onceover("crawl", *options, "--dir", "read", cwd=tmp_path)
        off = onceover("crawl", *options, "--dir", "off", *setting("scope.sitemaps=false"), cwd=tmp_path)
    assert_told(read, COMPLETE)
    assert_told(off, COMPLETE)
    expected = [(item.url, item.kind) for item in world.expected(sitemaps=True)]
    pages = {url for url, kind in expected if kind is Kind.PAGE}
    linked = {item.url for item in world.expected() if item.kind is Kind.PAGE}
    assert linked < pages
    assert fetched(tmp_path / "read") == dict.fromkeys(pages, 1)
    assert fetched(tmp_path / "off") == dict.fromkeys(linked, 1)
    sitemaps = {record.url for record in records(tmp_path / "read") if record.kind == LinkKind.SITEMAP}
    assert sitemaps == {url for url, kind in expected if kind is Kind.SITEMAP}
    assert {record.kind for record in records(tmp_path / "off")}.isdisjoint({LinkKind.SITEMAP, LinkKind.LISTED})


SITE = {
    "/": (
        b"<link rel=stylesheet href=/style><link rel=alternate type=application/rss+xml href=/feed><a href=/list>l</a>"
    ),
    "/style": b"@import '/more'; p { background: url(/image) }",
    "/more": b"p { background: url(/other-image) }",
    "/image": b"\x89PNG\r\n\x1a\n",
    "/other-image": b"GIF89a",
    "/feed": b"<?xml version='1.0'?><rss><channel><item><link>/entry</link></item></channel></rss>",
    "/entry": b"<p>An entry",
    "/list": b"http://site.test/listed\n",
    "/listed": b"<p>Listed",
    "/robots.txt": b"Sitemap: /packed\n",
    "/packed": gzip.compress(b"<urlset><url><loc>/mapped</loc><lastmod>2026-01-02</lastmod></url></urlset>"),
    "/mapped": b"<p>Mapped",
}
"""All of it declared as something else, or as nothing."""
DECLARED = {
    "/style": "text/css",
    "/more": "text/css",
    "/list": "text/plain",
    "/image": "text/html",
    "/packed": "text/html",
}


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = SITE.get(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        if declared := DECLARED.get(self.path):
            self.send_header("Content-Type", declared)
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - its name in the standard library


@contextmanager
def serving() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        server.daemon_threads = False
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def test_documents_of_every_kind_are_read_by_what_they_are(tmp_path: Path) -> None:
    with serving() as port:
        options = setting(
            f'fetch.hosts={{"site.test" = "127.0.0.1:{port}"}}', "politeness.min_delay_s=0", "politeness.delay_factor=0"
        )
        ended = onceover("crawl", "--seed", "http://site.test/", *options, "--dir", "crawl", cwd=tmp_path)
    assert_told(ended, COMPLETE)
    found = {record.url.removeprefix("http://site.test"): record for record in records(tmp_path / "crawl")}
    assert set(found) == set(SITE) - {"/robots.txt"}
    assert {
        path: record.kind for path, record in found.items() if path in ("/more", "/entry", "/listed", "/mapped")
    } == {
        "/more": LinkKind.CSS,
        "/entry": LinkKind.FEED,
        "/listed": LinkKind.LISTED,
        "/mapped": LinkKind.LISTED,
    }
    assert found["/mapped"].last_modified == "2026-01-02T00:00:00Z"
    assert found["/feed"].content_type == "application/rss+xml"
    assert found["/image"].content_type == "image/png"


_PROJECTS = (
    "Marketing-Attribution-Models marketing-data-sync jekyll-update-pages-action roger-watcher "
    "penguin-datalayer-collect penguin-datalayer-core penguin-datalayer penguin-document-formatter easy-collect"
).split()


async def test_a_sitemap_that_nobody_names_is_found_at_its_usual_place(tmp_path: Path) -> None:
    sitemap = page(b"<urlset><url><loc>/hidden</loc></url></urlset>", b"Content-Type: text/xml")
    gone = page(status=b"404 Not Found")
    site: dict[str, Script] = {"/": [page(b"x")], "/hidden": [page(b"y")], "/sitemap.xml": [sitemap], "/map": [gone]}
    for number, (paths, found) in enumerate(
        (
            ("", ["/", "/hidden", "/sitemap.xml"]),
            ("sitemap_paths = []", ["/"]),
            ('sitemap_paths = ["/map"]', ["/", "/map"]),
        )
    ):
        async with raw_server(site | {"/robots.txt": [gone]}) as server:
            file = tmp_path / f"{number}.toml"
            file.write_text(
                f'[crawl]\nseeds = ["http://a.test/"]\n[scope]\n{paths}\n[politeness]\nmin_delay_s = 0\n'
                f'[fetch]\nhosts = {{ "a.test" = "127.0.0.1:{server.port}" }}\n'
            )
            with CrawlDirectory(tmp_path / f"crawl{number}") as directory:
                async with open_crawl(load(file), directory) as crawl:
                    await crawl.engine.run()
        records = {
            record.url.removeprefix("http://a.test"): record
            for record in read_records(tmp_path / f"crawl{number}" / "records")
        }
        assert sorted(records) == found
        assert records.get("/map") is None or records["/map"].status == 404


@pytest.mark.parametrize(
    ("folder", "sitemap", "listed"),
    [
        ("DP6+dp6.github.io", "/sitemap/sitemap.xml", {"/", *(f"/{project}/" for project in _PROJECTS)}),
        ("DP6+dp6.github.io", "/sitemap/sitemap.txt", {"/", *(f"/{project}/" for project in _PROJECTS)}),
        ("DP6+dp6.github.io", "/sitemap/sitemap.rss", {"/", *(f"/{project}/" for project in _PROJECTS)}),
        (
            "arrowfeng+arrowfeng.github.io",
            "/sitemap.xml",
            {"/", "/posts/", "/posts/hello-world/", "/categories/", "/tags/"},
        ),
    ],
)
async def test_of_real_sites_all_that_their_sitemaps_name_is_fetched(
    corpora: Path, tmp_path: Path, folder: str, sitemap: str, listed: set[str]
) -> None:
    with ZipFile(corpora / "sitemaps.zip") as archive:
        prefix = f"real-sites/{folder}"
        files = {
            name.removeprefix(prefix).removesuffix("index.html"): archive.read(name)
            for name in archive.namelist()
            if name.startswith(f"{prefix}/") and not name.endswith("/")
        }
    files["/robots.txt"] = f"User-agent: *\nSitemap: {sitemap}\n".encode()
    host = folder.partition("+")[2]
    tls, authorities = issued(host, tmp_path)
    async with raw_server({path: [page(body)] for path, body in files.items()}, tls=tls) as server:
        file = tmp_path / "crawl.toml"
        file.write_text(
            f'[crawl]\nseeds = ["https://{host}/no-page"]\n[politeness]\nmin_delay_s = 0\n'
            f'[fetch]\nhosts = {{ "{host}" = "127.0.0.1:{server.port}" }}\nauthorities = {toml_value([authorities])}\n'
            "[scope]\nmax_depth = 1\nembeds = false\n"
        )
        with CrawlDirectory(tmp_path / "crawl") as directory:
            async with open_crawl(load(file), directory) as crawl:
                await crawl.engine.run()
    statuses = {
        record.url.removeprefix(f"https://{host}"): record.status
        for record in read_records(tmp_path / "crawl" / "records")
    }
    assert statuses == {
        "/no-page": 404,
        sitemap: 200,
        **{path: 200 if path in files else 404 for path in listed},
    }
    assert [seen.target for seen in server.seen].count(sitemap) == 1
