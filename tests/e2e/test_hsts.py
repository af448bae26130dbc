"""That a crawl honours HSTS where it is asked to."""

from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from config import load, toml_value
from crawler.disk.directory import CrawlDirectory
from crawler.testing.fetch.raw_server import page, raw_server
from crawler.wiring.crawl import open_crawl
from crawler.write.records import read_records
from tests.certificates import issued


@pytest.mark.parametrize("honoured", [True, False])
async def test_http_urls_of_a_host_that_wants_https_are_redirects_and_never_sent(
    tmp_path: Path, honoured: bool
) -> None:
    tls, authorities = issued("a.test", tmp_path)
    wish = b"Strict-Transport-Security: max-age=3600"
    scripts = {
        "/": [page(b'<a href="http://a.test/in">x</a>', wish, b"Content-Type: text/html")],
        "/in": [page(b"in", b"Content-Type: text/html")],
    }
    async with raw_server(scripts, tls=tls) as server:
        file = tmp_path / "crawl.toml"
        file.write_text(
            '[crawl]\nseeds = ["https://a.test/"]\n[politeness]\nmin_delay_s = 0\n[frontier]\nmax_attempts = 1\n'
            f'[fetch]\nhosts = {{ "a.test" = "127.0.0.1:{server.port}" }}\n'
            f"authorities = {toml_value([authorities])}\nhsts = {toml_value(honoured)}\n"
        )
        with CrawlDirectory(tmp_path / "crawl") as directory:
            async with open_crawl(load(file), directory) as crawl:
                await crawl.engine.run()
    records = {record.url: record for record in read_records(tmp_path / "crawl" / "records")}
    archived = set()
    for archive in (tmp_path / "crawl" / "warc").iterdir():
        with archive.open("rb") as stream:
            archived |= {each.rec_headers.get_header("WARC-Target-URI") for each in ArchiveIterator(stream)} - {None}
    if honoured:
        told = records["http://a.test/in"]
        assert (told.status, told.redirect, told.ip) == (307, "https://a.test/in", None)
        assert records["https://a.test/in"].status == 200
        assert "http://a.test/in" not in archived
        assert {"https://a.test/", "https://a.test/in"} <= archived
    else:
        assert records["http://a.test/in"].status is None
        assert "https://a.test/in" not in records
