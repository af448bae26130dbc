"""That what a crawl must not ask for is told by name, at once, and asked for by nobody."""

from asyncio import to_thread
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from config import load, toml_value
from crawler.discover.links.filter import LinkRefusal
from crawler.discover.links.followed import MAX_NESTED_SITEMAPS
from crawler.discover.quota import OverQuota
from crawler.discover.scope import ScopeRefusal
from crawler.discover.traps import Trap
from crawler.disk.directory import CrawlDirectory
from crawler.testing.fetch.raw_server import Script, page, raw_server
from crawler.url.urls import BadUrl
from crawler.wiring.crawl import open_crawl
from crawler.write.records import read_records
from tests.e2e.crawling import COMPLETE, LIMIT, Ended, onceover

PRIVATE = ("http://192.168.0.1/", "http://[::1]:8080/x", "http://0x7f.1/", "https://10.1/")
OTHERS = ("https://library.se/", "http://93.184.215.14/")


@pytest.mark.parametrize("robots", [True, False])
async def test_links_to_private_addresses_and_to_others_without_a_contact_are_refused_at_once(
    tmp_path: Path, robots: bool
) -> None:
    links = "".join(f"<a href={url}>x</a>" for url in PRIVATE + OTHERS)
    async with raw_server({"/": [page(links.encode(), b"Content-Type: text/html")]}) as server:
        file = tmp_path / "crawl.toml"
        file.write_text(
            '[crawl]\nseeds = ["http://a.test/"]\n[scope]\nwithin = "any"\nsitemap_paths = []\n'
            f"[politeness]\nmin_delay_s = 0\nrobots = {toml_value(robots)}\n[fetch]\nresolver = 'system'\n"
            f'hosts = {{ "a.test" = "127.0.0.1:{server.port}" }}\n'
        )
        with CrawlDirectory(tmp_path / "crawl") as directory:
            # Were it tried again, the crawl would not end before the test does.
            async with open_crawl(load(file, overrides=["frontier.retry_delay_s=3600"]), directory) as crawl:
                await crawl.engine.run()
    records = {record.url: record for record in read_records(tmp_path / "crawl" / "records")}
    state = "excluded" if robots else "failed"
    told = {url: (record.state, record.reason) for url, record in records.items() if url != "http://a.test/"}
    assert told == {
        "http://192.168.0.1/": (state, "private-address"),
        "http://[::1]:8080/x": (state, "private-address"),
        "http://127.0.0.1/": (state, "private-address"),
        "https://10.0.0.1/": (state, "private-address"),
        "https://library.se/": (state, "no-contact"),
        "http://93.184.215.14/": (state, "no-contact"),
    }
    assert {seen.target for seen in server.seen} <= {"/", "/robots.txt"}


LINKS = {
    "http://[": BadUrl.INVALID,
    "http://*.a.test/page": BadUrl.INVALID_HOST,
    "http://a.test:25/page": ScopeRefusal.PORT,
    "mailto:us@our.site": BadUrl.SCHEME,
    f"http://a.test/long{'x' * 3000}": BadUrl.TOO_LONG,
    "http://b.test/": ScopeRefusal.OUT_OF_SCOPE,
    "http://a.test/page.iso": ScopeRefusal.EXCLUDED,
    "http://a.test/strange": ScopeRefusal.NOT_INCLUDED,
    "http://a.test/page/x/x/x/x": Trap.REPEATED_SEGMENTS,
    "http://a.test/page/1/2/3/4/5/6": Trap.TOO_MANY_SEGMENTS,
    "http://a.test/page?a=1&a=1&a=1": Trap.QUERY_GROWTH,
    "http://a.test/page/calendar/2999/01": Trap.CALENDAR,
    "http://a.test/page/nofollow": LinkRefusal.NOFOLLOW,
    "http://a.test/page/image": LinkRefusal.UNWANTED_KIND,
    "http://a.test/page/dull": LinkRefusal.IRRELEVANT,
}
"""Of the first page, and why they are not followed."""


def moved(to: str) -> bytes:
    return f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode()


def refused_site() -> dict[str, Script]:
    """`LINKS`, and what a crawl must go on to meet: depth, redirects, sitemaps, many of one kind."""
    anchors = ""
    for url, reason in LINKS.items():
        if reason is LinkRefusal.UNWANTED_KIND:
            anchors += f"<img src='{url}'>"
        else:
            rel, text = "nofollow" * (reason is LinkRefusal.NOFOLLOW), "x" if "dull" in url else "sheep"
            anchors += f"<a href='{url}' rel='{rel}'>{text}</a>"
    anchors += "".join(f"<a href=/page/{name}>sheep</a>" for name in ("deep", "loop", "chain", "1", "2"))
    html, xml = b"Content-Type: text/html", b"Content-Type: text/xml"
    indexes = (
        f"<sitemapindex><sitemap><loc>/{number + 1}.xml</loc></sitemap></sitemapindex>"
        for number in range(MAX_NESTED_SITEMAPS + 1)
    )
    return {
        "/robots.txt": [page(b"Sitemap: /0.xml\nSitemap: /old.xml", b"Content-Type: text/plain")],
        "/old.xml": [page(b"<urlset><url><loc>/page/old</loc><lastmod>1999-01-01</lastmod></url></urlset>", xml)],
        "/": [page(anchors.encode(), html)],
        "/page/1": [page(b"", html)],
        "/page/2": [page(b"", html)],
        "/page/deep": [page(b"<a href=/page/deep/er>sheep</a>", html)],
        "/page/deep/er": [page(b"<a href=/page/deep/est>sheep</a>", html)],
        "/page/loop": [moved("/page/loop")],
        "/page/chain": [moved("/page/chain/a")],
        "/page/chain/a": [moved("/page/chain/b")],
        **{f"/{number}.xml": [page(index.encode(), xml)] for number, index in enumerate(indexes)},
    }


async def test_every_link_that_is_refused_is_counted_under_its_reason_and_told_with_it(tmp_path: Path) -> None:
    async with raw_server(refused_site()) as server:
        file = tmp_path / "crawl.toml"
        file.write_text(
            '[crawl]\nseeds = ["http://a.test/"]\n[scope]\nnofollow = true\nembeds = false\nmax_depth = 2\n'
            "include = ['/page', '^http://a.test/$', 'xml$']\nexclude = ['iso$']\nsitemap_max_age_s = '7 d'\n"
            "[traps]\nmax_segments = 6\n"
            "pages_per_pattern = 1\n[focus]\nwords = ['sheep']\nmin_weight = 0.6\n[output]\nrefusals = true\n"
            "[politeness]\nmin_delay_s = 0\n[fetch]\nmax_redirects = 1\nresolver = 'system'\n"
            f'hosts = {{ "a.test" = "127.0.0.1:{server.port}" }}\n'
        )
        with CrawlDirectory(tmp_path / "crawl") as directory:
            async with open_crawl(load(file), directory) as crawl:
                await crawl.engine.run()
                counters = crawl.engine.counters
    records = read_records(tmp_path / "crawl" / "records")
    told = [(record.url, url, reason) for record in records for url, reason in record.refusals or ()]
    assert counters.refused == Counter(reason for _, _, reason in told)
    # The one that is left needs six thousand pages; discovery has a test of its own for it.
    assert set(counters.refused) == {*BadUrl, *ScopeRefusal, *Trap, *LinkRefusal} - {LinkRefusal.TOO_MANY_LINKS}
    assert {url: reason for page, url, reason in told if page == "http://a.test/" and url in LINKS} == LINKS
    assert counters.excluded == {OverQuota.PATTERN: 1}


async def test_what_traps_and_quotas_refused_is_listed_with_examples_also_after_a_restart(tmp_path: Path) -> None:
    html = b"Content-Type: text/html"
    pages = {
        "/": [page(b"<a href=/a/a/a/a>x</a><a href=http://b.test/?a=1&a=1&a=1>x</a><a href=/1>x</a>", html)],
        "/1": [page(b"<a href=/b/b/b/b>x</a><a href=/2>x</a>", html)],
    }
    async with raw_server(pages) as server:
        (tmp_path / "crawl.toml").write_text(
            '[crawl]\nseeds = ["http://a.test/"]\n[scope]\nwithin = "any"\n[traps]\npages_per_pattern = 1\n'
            "[politeness]\nmin_delay_s = 0\nrobots = false\n"
            f'[fetch]\nhosts = {{ "*.test" = "127.0.0.1:{server.port}" }}\n'
        )
        for more, code in ((["--max-pages", "1"], LIMIT), ([], COMPLETE)):
            ended = await to_thread(onceover, "crawl", "crawl.toml", "--dir", "crawl", *more, cwd=tmp_path)
            assert ended.code == code, ended
    told = onceover("inspect", "crawl", "refused", "--json", cwd=tmp_path)
    assert [msgspec.json.decode(line) for line in told.out.splitlines()] == [
        {
            "rule": "repeated-segments",
            "host": "a.test",
            "count": 2,
            "examples": ["http://a.test/a/a/a/a", "http://a.test/b/b/b/b"],
        },
        {"rule": "pages-per-pattern", "host": "a.test", "count": 1, "examples": ["http://a.test/2"]},
        {"rule": "query-growth", "host": "b.test", "count": 1, "examples": ["http://b.test/?a=1&a=1&a=1"]},
    ]
    assert onceover("inspect", "crawl", "refused", "--limit", "1", cwd=tmp_path).out.splitlines() == [
        "        2  repeated-segments  a.test",
        "             http://a.test/a/a/a/a",
        "             http://a.test/b/b/b/b",
    ]
    none = onceover("inspect", "crawl", "refused", "--match", "c.test", cwd=tmp_path)
    assert none.out == "No trap and no quota has refused anything on a host with 'c.test'.\n"


def test_the_manual_tells_every_reason(repository: Path) -> None:
    manual = (repository / "docs" / "reading.md").read_text(encoding="utf-8")
    for reason in (*BadUrl, *ScopeRefusal, *Trap, *LinkRefusal, *OverQuota):
        assert f"`{reason}`" in manual, reason


async def test_what_rules_excluded_is_fetched_once_they_are_changed(tmp_path: Path) -> None:
    pages = {
        "/robots.txt": [page(b"User-agent: *\nDisallow: /no\n")],
        "/": [page(b"<a href=/no>x</a><a href=/1>x</a><a href=/2>x</a>", b"Content-Type: text/html")],
        **{path: [page(b"")] for path in ("/no", "/1", "/2")},
    }
    async with raw_server(pages) as server:
        (tmp_path / "site.toml").write_text(
            '[crawl]\nseeds = ["http://a.test/"]\n[scope]\nsitemap_paths = []\n[traps]\npages_per_host = 2\n'
            f'[politeness]\nmin_delay_s = 0\n[fetch]\nhosts = {{ "a.test" = "127.0.0.1:{server.port}" }}\n'
        )

        async def run(*arguments: str) -> Ended:
            return await to_thread(onceover, *arguments, cwd=tmp_path)

        assert (await run("crawl", "site.toml")).code == COMPLETE
        for changed in ([], ["--set", "politeness.robots=false", "--set", "traps.pages_per_host=9"]):
            told = (await run("recrawl", "crawls/site", "--excluded", "--json")).json()
            assert (told["looked_at"], told["taken"]) == (4, 2)
            assert Counter(seen.target for seen in server.seen).keys() == {"/robots.txt", "/", "/1"}
            assert (await run("crawl", "--dir", "crawls/site", *changed)).code == COMPLETE
        assert Counter(seen.target for seen in server.seen) == dict.fromkeys(pages, 1)
        told = (await run("recrawl", "crawls/site", "--excluded", "--json")).json()
        assert told["taken"] == 0
