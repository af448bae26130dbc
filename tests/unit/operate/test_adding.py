"""`add` doesn't read all seeds of a crawl for each thousand of URLs, and asks for whole pages with `--force`."""

import asyncio
from pathlib import Path

import pytest

from config import Loaded
from crawler import Crawl, read_records
from crawler.codes.exit_codes import COMPLETE
from crawler.control.replies import Judged
from crawler.control.requests import MAX_URLS, Add
from crawler.library.opening import lock_crawl, open_run
from crawler.testing.fetch.raw_server import Script, Seen, page, raw_server
from crawler.url.urls import Target, UrlReader
from crawler.wiring import seeding
from crawler.wiring.configuration import load
from tests.e2e.operating import command_here
from tests.e2e.test_text import settings_of
from tests.unit.test_cli_frontier import ledger, made


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many seeds were read, each time."""
    read, found = seeding.seeds, list[int]()

    def counted(loaded: Loaded, urls: UrlReader) -> list[Target]:
        found.append(len(loaded.seeds))
        return read(loaded, urls)

    monkeypatch.setattr(seeding, "seeds", counted)
    return found


def test_a_crawl_that_does_not_run_reads_its_seeds_once(tmp_path: Path, reads: list[int]) -> None:
    crawl, listed = made(tmp_path / "crawl"), tmp_path / "listed.txt"
    listed.write_text("".join(f"http://a.test/{number}\n" for number in range(2 * MAX_URLS + 1)))
    added = command_here("add", str(crawl), "--force", "--from", str(listed))
    assert (added.code, len(reads)) == (COMPLETE, 1), added.err
    assert len(ledger(crawl)) == 2 * MAX_URLS + 1


async def test_a_running_crawl_has_read_its_seeds_already(tmp_path: Path, reads: list[int]) -> None:
    (tmp_path / "crawl.toml").write_text(
        '[crawl]\nseeds = ["http://a.test/"]\n[fetch]\nhosts = { "*.test" = "127.0.0.1" }\n'
    )
    loaded = load(tmp_path / "crawl.toml", overrides=[f"crawl.directory={tmp_path / 'crawl'}"], environ={})
    with lock_crawl(loaded) as directory:
        async with open_run(loaded, directory) as run:
            crawl = run._running(lambda _: None)
            reads.clear()
            judged = await crawl.answer(Add(urls=["http://a.test/x", "http://b.test/x"]))
            assert isinstance(judged, Judged)
            assert [each.outcome for each in judged.urls] == ["added", "refused"]
            assert reads == []


CUT = b"x" * 3000


def answer(seen: Seen) -> Script:
    headers = (b"Content-Type: text/html", b'ETag: "1"')
    if seen.header("If-None-Match") == '"1"':
        return [page(b"", *headers, status=b"304 Not Modified")]
    return [page(CUT, *headers)]


async def run(directory: Path, limit: int, *, forced: bool = False) -> None:
    async with (
        raw_server(answer) as server,
        Crawl(directory=directory, set={**settings_of(server), "fetch.max_body_bytes": limit}) as crawl,
    ):
        if forced:
            assert await crawl.add("http://a.test/", force=True) == 1
        await crawl.run()


@pytest.mark.parametrize("by", ["command", "program"])
def test_a_page_that_was_cut_is_fetched_to_its_end_once_the_limit_is_raised(by: str, tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    asyncio.run(run(crawl, 1000))
    if by == "command":
        assert command_here("add", str(crawl), "http://a.test/", "--force").code == COMPLETE
    asyncio.run(run(crawl, 10_000, forced=by == "program"))
    first, second = read_records(crawl / "records")
    assert (first.truncated, first.size_bytes) == ("length", 1000)
    assert (second.status, second.truncated, second.size_bytes) == (200, None, len(CUT))
