"""Links out of scope are checked, and nothing more."""

import asyncio
import shutil
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from crawler.operate.report.forms import External, Report
from crawler.page import PageRecord
from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from crawler.testing.fetch.raw_server import Script, Seen, page
from crawler.url.urls import host_of
from tests.e2e.crawling import COMPLETE, LIMIT, Web, assert_sound, records, setting
from tests.e2e.operating import command_here
from tests.e2e.origins import GONE, host_name, linking, site, to
from tests.ports import no_connections

IN, OUT = "http://in.web.test", "http://out.web.test"
SETTINGS = {
    "scope.within": "host",
    "scope.check_external": True,
    "output.link_details": True,
    "politeness.min_delay_s": 0.0,
    "limits.pages": 3,
}


def answer(_scheme: str, seen: Seen) -> Script:
    path, is_head = seen.target, seen.method == "HEAD"
    if path == "/robots.txt" and host_name(seen) == "in.web.test":
        return [page(b"", b"Content-Type: text/plain")]
    if path == "/robots.txt":
        body = b"User-agent: *\nDisallow: /private\nSitemap: http://out.web.test/map.xml\n"
        return [page(body, b"Content-Type: text/plain")]
    if host_name(seen) == "in.web.test":
        out = [f"{OUT}/{name}" for name in ("fine", "nohead", "gone", "gone#part", "moved", "private", "nowhere")]
        return linking(*out, "http://gone.test/", "/second" if path == "/" else "/")
    match path:
        case "/moved":
            return to(f"{OUT}/gone")
        case "/nohead" if is_head:
            return [page(b"", status=b"405 Method Not Allowed")]
        case "/nowhere" if is_head:
            return [page(b"", status=b"302 Found")]
        case "/gone":
            return [page(b"", status=b"404 Not Found")]
    return [page(b"" if is_head else b"x", b"Content-Type: text/html")]


async def crawled(folder: Path) -> tuple[list[PageRecord], list[tuple[str, str]]]:
    """The records, and what was asked of the host out of scope."""
    async with site(folder, answer) as where:
        records = await where.crawl(f"{IN}/", settings=SETTINGS)
        return records, [(seen.method, seen.target) for seen in where.asked("out.web.test")]


def test_each_is_asked_once_and_is_no_page_and_the_report_names_pages_with_dead_ones(tmp_path: Path) -> None:
    found, asked = asyncio.run(crawled(tmp_path))
    records = {record.url: record for record in found}
    assert sorted(asked) == sorted(
        [
            ("GET", "/robots.txt"),
            ("HEAD", "/fine"),
            ("HEAD", "/nohead"),
            ("GET", "/nohead"),
            ("HEAD", "/gone"),
            ("GET", "/gone"),
            ("HEAD", "/moved"),
            ("HEAD", "/nowhere"),
            ("GET", "/nowhere"),
        ]
    )
    told = {url: (record.state, record.status or record.reason) for url, record in records.items()}
    assert {url: found for url, found in told.items() if not url.startswith(IN)} == {
        f"{OUT}/fine": ("done", 200),
        f"{OUT}/nohead": ("done", 200),
        f"{OUT}/nowhere": ("done", 200),
        f"{OUT}/gone": ("done", 404),
        f"{OUT}/moved": ("done", 301),
        f"{OUT}/private": ("excluded", "robots"),
        "http://gone.test/": ("failed", "connect"),
    }
    assert {record.kind for url, record in records.items() if not url.startswith(IN)} == {"external"}
    shutil.copy(tmp_path / "crawl.toml", tmp_path / "crawl")
    assert_sound(tmp_path / "crawl")
    assert command_here("inspect", str(tmp_path / "crawl"), "verify").code == COMPLETE
    report = msgspec.json.decode(
        command_here("report", str(tmp_path / "crawl"), "summary", "hosts", "dead-links", "--json").out, type=Report
    )
    assert (report.summary.pages, report.hosts.count) == (2, 1)
    assert report.summary.external == External(checked=6, dead=2, excluded=1, exclusions={"robots": 1})
    assert "1 not asked (robots: 1)" in command_here("report", str(tmp_path / "crawl")).out
    assert report.dead_links is not None
    dead = {(each.url, each.leads_to, each.page) for each in report.dead_links.links}
    pages = (f"{IN}/", f"{IN}/second")
    assert dead == {
        *((f"{OUT}/gone", None, each) for each in pages),
        *((f"{OUT}/moved", f"{OUT}/gone", each) for each in pages),
        *(("http://gone.test/", None, each) for each in pages),
    }
    assert all(each.external for each in report.dead_links.links)
    shown = command_here("inspect", str(tmp_path / "crawl"), "url", f"{OUT}/gone").out
    assert f"URL  {OUT}/gone\n" in shown
    assert f"on {IN}/; out of scope, and only checked\n" in shown
    exported = tmp_path / "pages.csv"
    command_here("export", str(tmp_path / "crawl"), "--format", "csv", "--to", str(exported))
    assert OUT not in exported.read_text()


def test_a_host_that_takes_no_connection_is_dead_although_its_robots_txt_was_asked_for_first(tmp_path: Path) -> None:
    """As one behind a firewall that drops packets."""
    silent = linking("http://silent.test/")

    async def crawled() -> list[PageRecord]:
        with no_connections() as port:
            async with site(tmp_path, lambda _, seen: silent if seen.target == "/" else GONE) as web:
                hosts = {"*.web.test": f"127.0.0.1:{web.port}", "silent.test": f"127.0.0.1:{port}"}
                once = {"fetch.hosts": hosts, "fetch.connect_timeout_s": 0.2, "frontier.max_attempts": 1}
                return await web.crawl(f"{IN}/", settings={**SETTINGS, **once})

    told = {record.url: (record.state, record.reason, record.message) for record in asyncio.run(crawled())}
    assert told["http://silent.test/"] == ("failed", "timeout", "no connection in time")
    shutil.copy(tmp_path / "crawl.toml", tmp_path / "crawl")
    report = command_here("report", str(tmp_path / "crawl"), "dead-links", "--exit-code")
    assert report.code == 1
    assert "timeout  http://silent.test/\n" in report.out


def test_a_host_that_only_refuses_head_has_not_failed(tmp_path: Path) -> None:
    """Failures would use up what the host may spend."""

    async def crawled() -> list[PageRecord]:
        async with site(tmp_path, answer) as where:
            budget = {"frontier.total_budget": 50, "frontier.error_penalty": 40, "frontier.max_attempts": 1}
            return await where.crawl(f"{IN}/", settings={**SETTINGS, **budget})

    checked = {record.url for record in asyncio.run(crawled()) if record.url.startswith(OUT)}
    assert checked == {f"{OUT}/{name}" for name in ("fine", "nohead", "gone", "moved", "nowhere", "private")}


async def test_a_killed_crawl_checks_what_is_left(tmp_path: Path) -> None:
    checked = asyncio.Event()

    def watched(scheme: str, seen: Seen) -> Script:
        if seen.target == "/fine":
            checked.set()
        return answer(scheme, seen)

    async with site(tmp_path, watched) as where:
        killed = await where.crawl_with_a_kill(f"{IN}/", settings=SETTINGS, at=checked)
        asked = Counter((seen.method, seen.target) for seen in where.asked("out.web.test"))
    done = {record.url for record in killed.records if record.state == "done" and record.kind == "external"}
    assert done == {f"{OUT}/{name}" for name in ("fine", "nohead", "gone", "moved", "nowhere")}
    assert max(asked.values()) <= 2
    assert_sound(tmp_path / "crawl")


@pytest.mark.parametrize("settings", [("output.links=true", "output.warc=false"), ("output.links=false",)])
def test_a_lost_ledger_is_rebuilt_with_checks_as_checks(tmp_path: Path, settings: tuple[str, ...]) -> None:
    world = WorldParams(seed=3, hosts=4, pages_per_host=8, page_bytes=1_000)
    with running(world) as port:
        options = [
            *Web(port, world).options,
            *setting('scope.within="host"', "scope.check_external=true", *settings),
            *("--dir", str(tmp_path / "crawl")),
        ]
        assert command_here("crawl", *options, "--max-pages", "3").code == LIMIT
        shutil.rmtree(tmp_path / "crawl" / "frontier")
        repaired = command_here("inspect", str(tmp_path / "crawl"), "fsck", "--repair")
        assert repaired.code == COMPLETE, repaired.out
        assert "not known: output.links" not in repaired.out
        assert command_here("crawl", *options).code == COMPLETE
    found = {(record.kind == "external", host_of(record.url)) for record in records(tmp_path / "crawl")}
    assert found == {(False, "h00000.sim.test"), *((True, f"h0000{number}.sim.test") for number in range(1, 4))}
    assert_sound(tmp_path / "crawl")
