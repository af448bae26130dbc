"""A frontier that was lost gets back what the last visits have found, not what the first ones have."""

import asyncio
import gzip
import json
import shutil
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from crawler.disk.directory import CrawlDirectory
from crawler.operate.opening import stored_configuration
from crawler.testing.fetch.raw_server import Script, Seen, page, raw_server
from crawler.wiring.recovery.recover import recover
from crawler.wiring.recovery.sources import Sources
from crawler.wiring.storage import open_state
from frontier import Damaged, LedgerEntry, LedgerReads, UrlState
from tests.e2e.operating import command_here
from tests.e2e.test_text import crawled

HTML = b"Content-Type: text/html"
SEEDS = [f"http://a.test/{path}" for path in ("moved", "", "coded", "repeated", "dated")]
LINKS = b"<a href=/same>1</a><a href=/changing>2</a><a href=/going>3</a><a href=/breaking>4</a>"


def answer(seen: Seen, visit: int) -> Script:
    if seen.target == "/going" and visit > 1:
        return [page(b"", HTML, status=b"404 Not Found")]
    if seen.target == "/breaking" and visit > 1:
        return [page(b"", HTML, status=b"500 Oh")]
    if seen.target == "/moved":
        return [page(b"", b"Location: /changing?utm_source=moved", status=b"302 Found")]
    if seen.target == "/coded":
        return [page(gzip.compress(b"<a href=/same>" * 9, mtime=0), HTML, b"Content-Encoding: gzip")]
    if seen.target == "/repeated":
        return [page(LINKS + b"<a href=/repeated>itself</a>", HTML)]
    if seen.target == "/dated":
        dated = b"Last-Modified: Mon, 01 Jun 2026 00:00:00 GMT"
        is_known = seen.header("If-Modified-Since") is not None
        return [page(b"", HTML, dated, status=b"304 Not Modified") if is_known else page(b"dated", HTML, dated)]
    if seen.target.startswith("/changing") and visit > 3:
        return [page(b"<a href=/new>1</a>", HTML)]
    tag = f'"{visit if seen.target.startswith("/changing") else 0}"'
    headers = HTML, b"ETag: " + tag.encode()
    if seen.header("If-None-Match") == tag:
        return [page(b"", *headers, status=b"304 Not Modified")]
    return [page(LINKS if seen.target == "/" else seen.target.encode() + tag.encode(), *headers)]


async def visit_once(crawl: Path, settings: Mapping[str, object], visit: int) -> None:
    async with raw_server(lambda seen: answer(seen, visit)) as server:
        await crawled(server, crawl, {"frontier.max_attempts": 1, **settings})


def crawled_anew(crawl: Path, settings: Mapping[str, object], *, visits: int) -> None:
    for visit in range(1, visits + 1):
        asyncio.run(visit_once(crawl, settings, visit))
        if visit < visits:
            assert command_here("recrawl", str(crawl)).code == 0


def ledger(crawl: Path) -> dict[str, tuple[object, ...]]:
    lines = command_here("frontier", "export", str(crawl)).out.splitlines()
    told = ("state", "status", "digest", "etag", "reason", "hit_count")
    return {each["url"][13:]: tuple(map(each.get, told)) for each in map(json.loads, lines)}


def rebuilt(crawl: Path) -> tuple[int, str]:
    shutil.rmtree(crawl / "frontier")
    ended = command_here("frontier", "rebuild", str(crawl), "--from-records")
    return ended.code, ended.out


@pytest.fixture(params=[1, 1000], autouse=True)
def _together(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Visits of one URL are entered into the ledger apart, as those of a large crawl, or together."""
    monkeypatch.setattr("crawler.wiring.recovery.entries.BATCH_SIZE", request.param)


@pytest.mark.parametrize("settings", [{}, {"output.links": True, "output.warc": False}], ids=["archive", "links"])
def test_what_the_last_visits_have_found_is_recovered(tmp_path: Path, settings: dict[str, object]) -> None:
    crawl = tmp_path / "crawl"
    crawled_anew(crawl, settings, visits=3)
    before = ledger(crawl)
    assert {path: found[:2] for path, found in before.items()} == {
        "/": ("done", 304),
        "/same": ("done", 304),
        "/changing": ("done", 200),
        "/going": ("done", 404),
        "/breaking": ("failed", 500),
    }
    assert rebuilt(crawl) == (0, "5 URLs, 0 pending\n")
    assert ledger(crawl) == before
    for check in ("fsck", "verify"):
        ended = command_here("inspect", str(crawl), check)
        assert ended.code == 0, ended


@pytest.mark.parametrize("settings", [{}, {"output.links": True, "output.warc": False}], ids=["archive", "links"])
def test_links_to_what_a_repaired_state_knows_are_not_counted_again(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    crawl = tmp_path / "crawl"
    crawled_anew(crawl, {"crawl.seeds": SEEDS, **settings}, visits=2)
    before, loaded = entries(crawl), stored_configuration(crawl)
    directory = CrawlDirectory(crawl)
    state = open_state(loaded.config, directory)
    asyncio.run(recover(loaded, Sources(own=directory), state, progress=lambda _: None))
    assert entries(crawl) == before


def test_a_rebuild_without_links_keeps_the_counts_of_records(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawled_anew(crawl, {"output.warc": False}, visits=2)
    before = entries(crawl)
    assert rebuilt(crawl)[0] == 1
    assert {name: each.hit_count for name, each in entries(crawl).items()} == {
        name: each.hit_count for name, each in before.items()
    }


def test_a_page_whose_first_record_is_lost_is_known_by_its_last_one(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawled_anew(crawl, {}, visits=1)
    for file in (crawl / "records").iterdir():
        file.unlink()
    assert command_here("inspect", str(crawl), "fsck", "--refetch").code == 0
    asyncio.run(visit_once(crawl, {}, 1))
    assert rebuilt(crawl) == (0, "5 URLs, 0 pending\n")
    ended = command_here("inspect", str(crawl), "fsck")
    assert ended.code == 0, ended


def test_a_url_that_was_met_again_after_it_was_forgotten_counts_once_after_a_rebuild(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawled_anew(crawl, {"crawl.seeds": SEEDS}, visits=2)
    assert generation(crawl) == 0
    assert rebuilt(crawl)[0] == 0
    assert generation(crawl) == 0, "visits of the same page are told from each other"
    for command in (("forget", "--matching", "/same"), ("recrawl", "--whole")):
        assert command_here(command[0], str(crawl), *command[1:]).code == 0
    asyncio.run(visit_once(crawl, {"crawl.seeds": SEEDS}, 3))
    report, known = command_here("report", str(crawl)).out, set(entries(crawl))
    assert rebuilt(crawl)[0] == 0
    assert generation(crawl) == 1
    assert set(entries(crawl)) == known
    assert counts(command_here("report", str(crawl)).out) == counts(report)
    for check in ("fsck", "verify"):
        ended = command_here("inspect", str(crawl), check)
        assert ended.code == 0, ended


def generation(crawl: Path) -> int:
    state = open_state(stored_configuration(crawl).config, CrawlDirectory(crawl))
    with closing(state):
        return state.describe().generation


def counts(report: str) -> list[str]:
    return [line for line in report.splitlines() if line.lstrip().startswith(("URLs", "pages", "answers"))]


@pytest.mark.parametrize("visits", [1, 3])
def test_links_of_pages_that_have_not_changed_in_another_part_are_known(tmp_path: Path, visits: int) -> None:
    other = CrawlDirectory(tmp_path / "other")
    crawled_anew(other.path, {}, visits=visits)
    loaded, own = stored_configuration(other.path), CrawlDirectory(tmp_path / "own")
    own.path.mkdir()
    sources = Sources(own=own, others=[other], owns=lambda _: False)
    state = open_state(loaded.config, own, may_begin=True)
    found = asyncio.run(recover(loaded, sources, state, progress=lambda _: None))
    assert (found.settled, found.unread, found.unread_elsewhere) == (0, 0, 0)
    for file in other.warc.iterdir():
        file.unlink()
    state = open_state(loaded.config, own, may_begin=True)
    found = asyncio.run(recover(loaded, sources, state, progress=lambda _: None))
    assert found.unread_elsewhere >= 5


def entries(crawl: Path) -> dict[str, LedgerEntry]:
    """All that the ledger knows, but for what only it can know; times as far as the output has them."""
    state = open_state(stored_configuration(crawl).config, CrawlDirectory(crawl))
    assert isinstance(state, LedgerReads)
    found = [each.entry for each in state.all_known() if not isinstance(each, Damaged)]
    state.close()
    return {
        each.canonical: replace(each, found_at=0, history=(), fetched_at=int(each.fetched_at or 0)) for each in found
    }


@pytest.mark.parametrize("revisits", [0, 1000])
@pytest.mark.parametrize("visits", [2, 3])
def test_an_archive_alone_tells_what_the_last_visits_have_found(tmp_path: Path, visits: int, revisits: int) -> None:
    crawl = tmp_path / "crawl"
    settings = {"output.records": False, "output.warc_revisits": revisits, "crawl.seeds": SEEDS}
    crawled_anew(crawl, settings, visits=visits)
    before = entries(crawl)
    assert {UrlState.DONE, UrlState.FAILED} == {each.state for each in before.values()}
    assert rebuilt(crawl) == (0, "9 URLs, 0 pending\n")
    assert entries(crawl) == before
    for check in ("fsck", "verify"):
        ended = command_here("inspect", str(crawl), check)
        assert ended.code == 0, ended
    # The next numbers are new, and pages lead to new ones.
    assert command_here("recrawl", str(crawl)).code == 0
    asyncio.run(visit_once(crawl, settings, 4))
    assert min(each.number for each in entries(crawl).values()) > max(each.number for each in before.values())
    assert "http://a.test/new" in entries(crawl)


@pytest.mark.parametrize("lacking", [set(), {1}, {2}, {3}, {1, 2}, {2, 3}, {1, 3}])
def test_visits_without_records_are_known_from_the_archive(tmp_path: Path, lacking: set[int]) -> None:
    crawl = tmp_path / "crawl"
    for visit in (1, 2, 3):
        if visit > 1:
            assert command_here("recrawl", str(crawl)).code == 0
        asyncio.run(visit_once(crawl, {"output.records": visit not in lacking, "crawl.seeds": SEEDS}, visit))
    before = entries(crawl)
    assert rebuilt(crawl) == (0, "9 URLs, 0 pending\n")

    def told(found: dict[str, LedgerEntry]) -> dict[str, LedgerEntry]:
        # Each output counts visits of its own.
        return {name: replace(each, visits=0) for name, each in found.items()}

    assert told(entries(crawl)) == told(before)


def test_a_visit_that_a_crash_left_twice_in_the_archive_is_one(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawled_anew(crawl, {"output.records": False, "crawl.seeds": SEEDS}, visits=2)
    before = entries(crawl)
    last = max((crawl / "warc").glob("*.warc.gz"))
    last.write_bytes(last.read_bytes() * 2)
    assert rebuilt(crawl) == (0, "9 URLs, 0 pending\n")
    assert entries(crawl) == before


@pytest.mark.parametrize("has_records", [False, True], ids=["archive", "pruned"])
def test_links_of_a_page_that_has_not_changed_are_known_from_the_archive_alone(
    tmp_path: Path, has_records: bool
) -> None:
    """Without records, or after those of its first visit were pruned."""
    crawl = CrawlDirectory(tmp_path / "crawl")
    settings = {"output.records": has_records}
    crawled_anew(crawl.path, settings, visits=1)
    if has_records:
        for file in crawl.records.iterdir():
            file.unlink()
    for visit in (2, 3):
        assert command_here("recrawl", str(crawl.path)).code == 0
        asyncio.run(visit_once(crawl.path, settings, visit))
    loaded = stored_configuration(crawl.path)
    state = open_state(loaded.config, crawl, may_begin=False)
    found = asyncio.run(recover(loaded, Sources(own=crawl), state, progress=lambda _: None))
    assert (found.settled, found.found, found.unread) == (0, 0, 0)
    empty, others = CrawlDirectory(tmp_path / "own"), [crawl]
    empty.path.mkdir()
    state = open_state(loaded.config, empty, may_begin=True)
    sources = Sources(own=empty, others=others, owns=lambda _: False)
    assert asyncio.run(recover(loaded, sources, state, progress=lambda _: None)).unread_elsewhere == 0


def test_visits_of_known_pages_are_no_lost_urls(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawled_anew(crawl, {"output.warc": False}, visits=3)
    assert rebuilt(crawl) == (1, "5 URLs, 0 pending\n")
    ended = command_here("inspect", str(crawl), "fsck")
    assert "missing: 1: this many admitted URLs" in ended.out, ended
