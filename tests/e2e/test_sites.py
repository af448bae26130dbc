"""That what blocks `[[site]]` set holds on those sites, and nowhere else: one crawl over hosts that serve the same."""

from itertools import pairwise
from pathlib import Path

from config import load
from crawler.disk.directory import CrawlDirectory
from crawler.page import PageRecord
from crawler.testing.fetch.raw_server import Script, Seen, page, raw_server
from crawler.wiring.crawl import open_crawl
from crawler.write.records import read_records

HOSTS = "plain slow headed small narrow shallow bare spent free few parted".split()
PAGES = 6
SITES = """
[[site]]
match = ["slow.sites.test"]
politeness.min_delay_s = 0.3

[[site]]
match = ["headed.sites.test"]
fetch.headers = { "X-Key" = "7" }
fetch.languages = ["sv"]
fetch.cookies = true

[[site]]
match = ["small.sites.test"]
fetch.max_body_bytes = 200

[[site]]
match = ["narrow.sites.test", "parted.sites.test"]
scope.exclude = ['/[0-9]+$']

[[site]]
match = ["https://parted.sites.test/a/"]
scope.exclude = []

[[site]]
match = ["shallow.sites.test"]
scope.max_depth = 1

[[site]]
match = ["bare.sites.test"]
traps.max_segments = 1

[[site]]
match = ["spent.sites.test"]
frontier.total_budget = 3

[[site]]
match = ["free.sites.test"]
politeness.robots = false

[[site]]
match = ["few.sites.test"]
traps.pages_per_host = 2
"""


def served(seen: Seen) -> Script:
    """Of `/`: links to pages, of which one leads a level deeper; one is forbidden."""
    if seen.target == "/robots.txt":
        return [page(b"User-agent: *\nDisallow: /1\n", b"Content-Type: text/plain")]
    hrefs = [f"/{number}" for number in range(1, PAGES)] + ["/a/9"] if seen.target == "/" else ["/deep"]
    body = "".join(f"<a href={href}>x</a>" for href in hrefs) + " " * 300
    return [page(body.encode(), b"Content-Type: text/html", b"Set-Cookie: visitor=1; Path=/")]


async def test_each_block_holds_on_its_site_alone(tmp_path: Path) -> None:
    async with raw_server(served) as server:
        file = tmp_path / "crawl.toml"
        seeds = [f"http://{host}.sites.test/" for host in HOSTS]
        file.write_text(
            f"[crawl]\nseeds = {seeds}\n[scope]\nmax_depth = 2\nsitemap_paths = []\n"
            "[politeness]\nmin_delay_s = 0\ndelay_factor = 0\n"
            f'[fetch]\nhosts = {{ "*.sites.test" = "127.0.0.1:{server.port}" }}\n{SITES}'
        )
        with CrawlDirectory(tmp_path / "crawl") as directory:
            async with open_crawl(load(file), directory) as crawl:
                await crawl.engine.run()
                retired = crawl.frontier.describe().retired_queues
        asked: dict[str, list[Seen]] = {}
        for seen in server.seen:
            asked.setdefault((seen.header("Host") or "").partition(".")[0], []).append(seen)
    records: dict[str, list[PageRecord]] = {}
    for record in read_records(tmp_path / "crawl" / "records"):
        records.setdefault(record.url.split("/")[2].partition(".")[0], []).append(record)

    usual = ["/", "/2", "/3", "/4", "/5", "/a/9", "/deep"]

    def targets(host: str) -> list[str]:
        return sorted(seen.target for seen in asked[host] if seen.target != "/robots.txt")

    for host in ("plain", "slow", "headed", "small"):
        assert targets(host) == usual, host
    assert targets("narrow") == ["/"]
    assert targets("parted") == ["/", "/a/9", "/deep"]
    assert targets("shallow") == ["/", "/2", "/3", "/4", "/5", "/a/9"]
    assert targets("bare") == ["/", "/2", "/3", "/4", "/5", "/deep"]
    assert targets("free") == ["/", "/1", *usual[1:]]
    assert [seen.target for seen in asked["free"]].count("/robots.txt") == 0
    assert len(targets("few")) == 2
    assert len(targets("spent")) <= 3
    assert retired == 1

    headed, plain = asked["headed"][0], asked["plain"][0]
    assert (headed.header("X-Key"), headed.header("Accept-Language")) == ("7", "sv")
    assert (plain.header("X-Key"), plain.header("Accept-Language")) == (None, None)
    assert asked["headed"][-1].header("Cookie") == "visitor=1"
    assert {seen.header("Cookie") for seen in asked["plain"]} == {None}
    assert {record.truncated for record in records["small"] if record.status == 200} == {"length"}
    assert {record.truncated for record in records["plain"] if record.status == 200} == {None}
    times = sorted(record.fetched_at or "" for record in records["slow"] if record.status == 200)
    seconds = [int(each[14:16]) * 60 + float(each[17:23]) for each in times]
    assert min((later - earlier) % 3600 for earlier, later in pairwise(seconds)) >= 0.298
