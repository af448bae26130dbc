"""That a trial of a URL tells what a crawl of the same configuration does with it, and leaves nothing behind."""

import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from config import load, toml_value
from crawler.cli.trial import lines
from crawler.disk.directory import CrawlDirectory
from crawler.library.trial.forms import Tried
from crawler.library.trial.trying import try_urls
from crawler.page import PageRecord
from crawler.progress import ReadStatus
from crawler.testing.fetch.raw_server import RawServer, Script, Seen, page, raw_server
from crawler.wiring.crawl import open_crawl
from tests.certificates import issued
from tests.e2e.crawling import (
    COMPLETE,
    FAILED,
    USAGE,
    Ended,
    Web,
    assert_told,
    onceover,
    records,
    setting,
    tree,
)
from tests.nginx import NGINX, serving

OF_A_RUN: Final = {"number", "fetched_at", "duration_s"}
OF_THE_WAY: Final = {"depth", "via", "kind", "anchor", "hit_count", "precedence", "duplicate_of", "attempts"}
"""What a record says of how a crawl came to a URL, which a trial can't know."""
HTML: Final = b"Content-Type: text/html; charset=utf-8"


def tried(ended: Ended) -> list[Tried]:
    return [msgspec.json.decode(line, type=Tried) for line in ended.out.splitlines()]


def of_page(record: PageRecord) -> dict[str, Any]:
    fields = msgspec.to_builtins(record)
    return {name: value for name, value in fields.items() if name not in OF_A_RUN | OF_THE_WAY}


def configuration(folder: Path, *, seeds: Sequence[str], port: int, more: str = "", fetch: str = "") -> Path:
    file = folder / "site.toml"
    file.write_text(
        f"[crawl]\nseeds = {toml_value(list(seeds))}\n"
        f'[fetch]\nhosts = {{ "*.test" = "127.0.0.1:{port}" }}\n{fetch}\n'
        f"[scope]\nsitemap_paths = []\n[politeness]\nmin_delay_s = 0\ndelay_factor = 0\n{more}"
    )
    return file


async def try_in_process(file: Path, *urls: str) -> list[Tried]:
    async def show(_: ReadStatus) -> None: ...

    return await try_urls(load(file), urls, show=show)


def scripted(scripts: Mapping[str, Script]) -> Callable[[Seen], Script]:
    def answer(seen: Seen) -> Script:
        return scripts.get(seen.target) or [page(b"", status=b"404 Not Found")]

    return answer


def asked(server: RawServer) -> list[str]:
    return [seen.target for seen in server.seen]


def test_each_url_is_told_as_a_crawl_records_it(tmp_path: Path, web: Web) -> None:
    details = setting("output.link_details=true", "output.refusals=true")
    assert onceover("crawl", *web.options, *details, "--dir", "crawl", cwd=tmp_path).code == COMPLETE
    crawled = {each.url: each for each in records(tmp_path / "crawl")}
    file = tmp_path / "crawl" / "crawl.toml"
    before = tree(tmp_path / "crawl")
    (tmp_path / "temporary").mkdir()

    ended = onceover("try", file, *crawled, "--json", cwd=tmp_path, TMPDIR=str(tmp_path / "temporary"))

    assert (ended.code, ended.err) == (FAILED, "")
    found = tried(ended)
    assert [each.url for each in found] == list(crawled)
    for each in found:
        for hop in each.hops:
            record, expected = hop.record, crawled[hop.url]
            assert record is not None
            if expected.kind == "sitemap":
                assert (record.state, record.status, record.digest) == ("done", expected.status, expected.digest)
                continue
            assert of_page(record) == of_page(expected), hop.url
        record = each.hops[-1].record
        assert record is not None
        if record.kind == "sitemap" or record.link_details is None or crawled[record.url].kind == "sitemap":
            continue
        is_excluded = {url for url in crawled if crawled[url].reason == "robots"}
        enqueued = {link.url for link in each.links if link.refused in (None, "robots")}
        followed = {link.url for link in record.link_details if link.refused is None}
        canonical = {link.url: link.canonical or link.url for link in record.link_details}
        assert {canonical[url] for url in enqueued} == {canonical[url] for url in followed} - {record.url}
        assert {link.url for link in each.links if link.refused == "robots"} == enqueued & is_excluded
        refused = Counter(link.refused for link in each.links if link.refused not in (None, "robots"))
        assert refused == (record.refused or {})
    assert Counter(each.fetched for each in found)[True] >= len(web.pages)
    assert tree(tmp_path / "crawl") == before
    assert list((tmp_path / "temporary").iterdir()) == []


def test_without_a_crawl_none_is_made_and_no_output_is_written(tmp_path: Path, web: Web) -> None:
    file = tmp_path / "site.toml"
    file.write_text(
        f'[fetch]\nhosts = {{ "*.{web.params.domain}" = "127.0.0.1:{web.port}" }}\n'
        '[output]\nsinks = ["sqlite"]\n[frontier]\ntotal_budget = 1\n[crawl]\nparts = 2\n'
        '[[site]]\nmatch = ["h00000.sim.test"]\nfrontier.total_budget = 1\nfrontier.max_attempts = 9\n'
    )
    url = f"http://h00000.{web.params.domain}/"
    ended = onceover("try", file, url, cwd=tmp_path)
    assert ended.code == COMPLETE, ended
    assert ended.out.splitlines()[0] == url
    assert "answer  200 in " in ended.out
    assert "would be enqueued" in ended.out
    assert "follows no link to it" not in ended.out  # the URL is the only seed
    assert [each.name for each in tmp_path.iterdir()] == ["site.toml"]


async def test_requests_are_those_of_a_crawl(tmp_path: Path) -> None:
    (tmp_path / "login").write_text("user:word")
    fetch = (
        f'logins = {{ "a.test" = "file:{tmp_path}/login" }}\nheaders = {{ "X-Key" = "7" }}\nlanguages = ["sv"]\n'
        "cookies = true"
    )
    scripts = {
        "/robots.txt": [page(b"User-agent: *\nDisallow: /no\n", b"Set-Cookie: visitor=1; Path=/")],
        "/": [page(b"<a href=/no>x</a>", HTML)],
    }
    async with raw_server(scripted(scripts)) as server:
        file = configuration(tmp_path, seeds=["http://a.test/"], port=server.port, fetch=fetch)
        with CrawlDirectory(tmp_path / "crawl") as directory:
            async with open_crawl(load(file), directory) as crawl:
                await crawl.engine.run()
        of_crawl = [(seen.target, seen.headers) for seen in server.seen]
        server.seen.clear()
        (found,) = await try_in_process(file, "http://a.test/")
        assert [(seen.target, seen.headers) for seen in server.seen] == of_crawl
    (hop,) = found.hops
    sent = dict(hop.request_headers)
    assert sent["Accept-Language"] == "sv"
    assert {"Authorization", "Cookie", "X-Key"} <= dict(of_crawl[-1][1]).keys()
    assert not {"Authorization", "Cookie", "X-Key"} & sent.keys()
    assert hop.protocol == "HTTP/1.1"
    assert ["Content-Type", "text/html; charset=utf-8"] in map(list, hop.headers)
    assert [(link.url, link.refused) for link in found.links] == [("http://a.test/no", "robots")]


async def test_redirects_are_told_hop_by_hop_over_hosts_and_wait_for_each(tmp_path: Path) -> None:
    def answer(seen: Seen) -> Script:
        host = seen.header("Host") or ""
        if seen.target == "/robots.txt":
            text = b"User-agent: *\nCrawl-delay: 0.4\nSitemap: /map.xml\n" if host == "b.test" else b""
            return [page(text)]
        to = {"a.test/": b"/2", "a.test/2": b"http://b.test/", "b.test/": b"http://b.test/end"}
        location = to.get(host + seen.target)
        if location is None:
            return [page(b"<a href=/next>x</a><a href=http://c.test/>x</a>", HTML)]
        return [page(b"", b"Location: " + location, status=b"302 Found")]

    async with raw_server(answer) as server:
        file = configuration(tmp_path, seeds=["http://a.test/"], port=server.port)
        (found,) = await try_in_process(file, "http://a.test/")
        of_b = [seen for seen in server.seen if seen.header("Host") == "b.test"]
    assert [hop.url for hop in found.hops] == [
        "http://a.test/",
        "http://a.test/2",
        "http://b.test/",
        "http://b.test/end",
    ]
    assert [hop.record and hop.record.status for hop in found.hops] == [302, 302, 302, 200]
    assert [seen.target for seen in of_b] == ["/robots.txt", "/", "/end"]
    assert min(after.at_s - before.at_s for before, after in pairwise(of_b)) >= 0.39
    assert found.hops[-1].crawl_delay_s == pytest.approx(0.4)
    assert (found.fetched, found.refused) == (True, None)
    assert found.sitemaps == ["http://b.test/map.xml"]
    assert {link.url: link.refused for link in found.links} == {
        "http://b.test/next": None,
        "http://c.test/": "out-of-scope",
    }


async def test_what_a_crawl_would_not_have_is_asked_once_and_told_with_its_reason(tmp_path: Path) -> None:
    def answer(seen: Seen) -> Script:
        host = seen.header("Host") or ""
        if seen.target == "/robots.txt":
            if host == "down.test":
                return [page(b"", status=b"503 Service Unavailable")]
            return [page(b"User-agent: *\nDisallow: /no\n")]
        redirects = {"/round": b"/trip", "/trip": b"/round#end", "/out": b"http://b.test/x.iso"}
        if seen.target in redirects:
            return [page(b"", b"Location: " + redirects[seen.target], status=b"301 Moved Permanently")]
        return [page(b"", status=b"503 Service Unavailable" if seen.target == "/busy" else b"404 Not Found")]

    async with raw_server(answer) as server:
        file = configuration(
            tmp_path,
            seeds=["http://a.test/"],
            port=server.port,
            more='[[site]]\nmatch = ["b.test"]\nscope.exclude = ["iso"]\n',
        )
        paths = ["/no", "/busy", "/gone", "/round", "/out"]
        found = await try_in_process(file, *(f"http://a.test{path}" for path in paths), "http://down.test/")
        targets = Counter(asked(server))
    assert [each.fetched for each in found] == [False] * 6
    no, busy, gone, circle, out, down = (each.hops[-1] for each in found)
    assert (no.robots, no.record and (no.record.state, no.record.reason)) == ("disallowed", ("excluded", "robots"))
    assert busy.record
    assert (busy.record.state, busy.record.reason, busy.record.status) == ("failed", "http-503", 503)
    assert gone.record
    assert (gone.record.state, gone.record.status) == ("done", 404)
    assert (len(found[3].hops), circle.url) == (2, "http://a.test/trip")
    rows = [row.strip() for row in lines(found[3], load(file).config, all_links=False)]
    assert [row for row in rows if row.startswith("redirects")] == [
        "redirects to  http://a.test/trip",
        "redirects to  http://a.test/round#end, which closes a circle",
    ]
    assert out.record
    assert (out.record.redirect, out.record.refused) == ("http://b.test/x.iso", {"excluded": 1})
    assert (down.robots, down.record and down.record.reason) == ("unreachable", "unreachable")
    assert targets == {"/robots.txt": 2, "/busy": 1, "/gone": 1, "/round": 1, "/trip": 1, "/out": 1}


async def test_a_robots_txt_that_failed_counts_as_asked_also_after_it_might_be_asked_again(tmp_path: Path) -> None:
    async with raw_server(lambda _: [page(b"", status=b"503 Service Unavailable")]) as server:
        again = "[frontier]\nretry_delay_s = 0\nretry_max_delay_s = 0\n"
        file = configuration(tmp_path, seeds=["http://a.test/"], port=server.port, more=again)
        (found,) = await try_in_process(file, "http://a.test/")
    assert (found.hops[0].robots, asked(server)) == ("unreachable", ["/robots.txt"])


async def test_a_host_outside_its_hours_is_not_asked_and_not_waited_for(tmp_path: Path) -> None:
    async with raw_server(scripted({"/": [page(b"")]})) as server:
        now = datetime.now(UTC)
        span = f"{now + timedelta(hours=2):%H:%M}-{now + timedelta(hours=3):%H:%M}"
        more = f'[[site]]\nmatch = ["shut.test"]\npoliteness.hours = "{span}"\n'
        file = configuration(tmp_path, seeds=["http://shut.test/"], port=server.port, more=more)
        shut, open_now = await try_in_process(file, "http://shut.test/", "http://open.test/")
        assert {seen.header("Host") for seen in server.seen} == {"open.test"}
    assert shut.waits_s is not None
    assert 3600 < shut.waits_s <= 7200
    assert (shut.fetched, shut.hops[0].record, shut.hops[0].robots) == (False, None, None)
    assert (open_now.fetched, open_now.waits_s) == (True, None)


async def test_what_a_page_asks_of_crawlers_is_told_and_what_the_crawl_makes_of_it(tmp_path: Path) -> None:
    body = b"<meta name=robots content='noindex, nofollow'><a href=/in>x</a><a href=http://b.test/>x</a>"
    async with raw_server(scripted({"/": [page(body, HTML)]})) as server:
        file = configuration(tmp_path, seeds=["http://a.test/"], port=server.port)
        (ignored,) = await try_in_process(file, "http://a.test/")
        file.write_text(file.read_text().replace("[scope]", "[scope]\nnofollow = true\ncheck_external = true"))
        (obeyed,) = await try_in_process(file, "http://a.test/")
    assert (ignored.noindex, ignored.nofollow, obeyed.nofollow) == (True, True, True)
    assert [link.refused for link in ignored.links] == [None, "out-of-scope"]
    assert [link.refused for link in obeyed.links] == ["nofollow", "nofollow"]


async def test_a_url_without_a_scheme_is_tried_by_https_and_then_by_http(tmp_path: Path) -> None:
    _, authority = issued("a.test", tmp_path)
    async with raw_server(scripted({"/": [page(b"in", HTML)]})) as server:
        file = configuration(tmp_path, seeds=["b.test"], port=server.port, fetch=f"authorities = ['{authority}']")
        (found,) = await try_in_process(file, "a.test")
    assert [hop.url for hop in found.hops] == ["https://a.test/", "http://a.test/"]
    assert [hop.record and hop.record.status for hop in found.hops] == [307, 200]
    assert found.refused == "out-of-scope"


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed: apt-get install nginx-light")
def test_people_read_what_came_of_each_url(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    links = "".join(f"<a href=/{number}.html>x</a>" for number in range(8)) + "<a href=http://b.test/>x</a>"
    html = f"<meta charset=utf-8><meta name=robots content=nofollow><title>Grüße\x1b[31m</title>{links}{' ' * 2000}"
    (root / "index.html").write_text(html)
    (root / "robots.txt").write_text("User-agent: *\nDisallow: /0\n")
    (tmp_path / "nginx").mkdir()
    with serving(root, tmp_path / "nginx", http="gzip on;") as port:
        file = configuration(tmp_path, seeds=["http://a.test/"], port=port)
        read = onceover("try", file, "http://a.test/", "http://a.test/missing", cwd=tmp_path)
        whole = onceover("try", file, "http://a.test/", "--links", cwd=tmp_path)
    assert (read.code, read.err) == (FAILED, "")
    rows = [line.strip() for line in read.out.splitlines()]
    assert rows[:2] == ["http://a.test/", "robots  robots.txt allows it"]
    for expected in (
        "type  text/html",
        "encoding  utf-8, by meta",
        "title  Grüße\ufffd[31m",
        "nofollow  not obeyed: scope.nofollow is false",
        "links  7 would be enqueued, 2 not",
        "7  enqueued          http://a.test/1.html",
        "and 4 more; --links shows them",
        "1  out-of-scope      http://b.test/",
        "1  robots            http://a.test/0.html",
    ):
        assert expected in rows, read.out
    assert any(row.startswith("answer  404 in ") for row in rows)
    assert any(row.startswith("size  2.") and row.endswith(" received") for row in rows)
    assert whole.code == COMPLETE
    assert all(f"http://a.test/{number}.html" in whole.out for number in range(8))


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed: apt-get install chromium")
async def test_a_page_is_rendered_if_the_crawl_renders_it(tmp_path: Path) -> None:
    script = b"<script>document.title='made';document.body.innerHTML='<a href=/one>x</a>'</script>"
    async with raw_server(scripted({"/": [page(b"<body>" + script, HTML)]})) as server:
        file = configuration(tmp_path, seeds=["http://a.test/"], port=server.port, more='[render]\npatterns = ["."]\n')
        (found,) = await try_in_process(file, "http://a.test/")
    record = found.hops[0].record
    assert record is not None
    assert (record.rendering, record.title) == ("whole", "made")
    assert [link.url for link in found.links] == ["http://a.test/one"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["http://a.test/", "http://a.test/2"], "expected a configuration file, found the URL http://a.test/"),
        (["site.toml"], "missing argument 'URL...'"),
        (["missing.toml", "http://a.test/"], "missing.toml: can't read the configuration"),
        (["site.toml", "ftp://a.test/", "a"], "'ftp://a.test/' can't be crawled"),
        (["site.toml", "http://10.0.0.1/"], "10.0.0.1 is not a public address"),
        (["site.toml", "http://a.test/", "--set", "scope.exclude=['(']"], "scope.exclude"),
        (["site.toml", "http://a.test/", "--max-depth", "1"], "write `--set scope.max_depth=VALUE`"),
    ],
)
def test_what_can_not_be_tried_is_refused_with_what_to_do(arguments: list[str], told: str, tmp_path: Path) -> None:
    configuration(tmp_path, seeds=["http://a.test/"], port=9)
    ended = onceover("try", *arguments, cwd=tmp_path)
    assert_told(ended, USAGE, told)
    assert ended.out == ""
