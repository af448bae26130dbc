"""That what a crawl must not ask for is told by name, at once, and asked for by nobody."""

from pathlib import Path

import pytest

from config import load, toml_value
from crawler.directory import CrawlDirectory
from crawler.wiring.crawl import assembled
from crawler.write.records import read_records
from tests.servers import page, raw_server

PRIVATE = ("http://192.168.0.1/", "http://[::1]:1/x", "http://0x7f.1/", "https://10.1/")
OTHERS = ("https://library.se/", "http://93.184.215.14/")


@pytest.mark.parametrize("robots", [True, False])
async def test_links_to_private_addresses_and_to_others_without_a_contact_are_refused_at_once(
    tmp_path: Path, robots: bool
) -> None:
    links = "".join(f"<a href={url}>x</a>" for url in PRIVATE + OTHERS)
    async with raw_server({"/": [page(links.encode(), b"Content-Type: text/html")]}) as server:
        file = tmp_path / "crawl.toml"
        file.write_text(
            '[crawl]\nseeds = ["http://a.test/"]\n[scope]\nwithin = "any"\n'
            f"[politeness]\nmin_delay_s = 0\nrobots = {toml_value(robots)}\n[fetch]\nresolver = 'system'\n"
            f'hosts = {{ "a.test" = "127.0.0.1:{server.port}" }}\n'
        )
        with CrawlDirectory(tmp_path / "crawl") as directory:
            # Were it tried again, the crawl would not end before the test does.
            async with assembled(load(file, overrides=["frontier.retry_delay_s=3600"]), directory) as crawl:
                await crawl.engine.run()
    records = {record.url: record for record in read_records(tmp_path / "crawl" / "records")}
    state = "excluded" if robots else "failed"
    told = {url: (record.state, record.reason) for url, record in records.items() if url != "http://a.test/"}
    assert told == {
        "http://192.168.0.1/": (state, "private-address"),
        "http://[::1]:1/x": (state, "private-address"),
        "http://127.0.0.1/": (state, "private-address"),
        "https://10.0.0.1/": (state, "private-address"),
        "https://library.se/": (state, "no-contact"),
        "http://93.184.215.14/": (state, "no-contact"),
    }
    assert {seen.target for seen in server.seen} <= {"/", "/robots.txt"}
