"""Reports and searches that a daemon makes at once."""

import asyncio
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from crawler.search.forms import Found
from crawler.serve.inspection import MOST_PROCESSES
from crawler.serve.reporting import Reporter


class Commands:
    """Commands that end when they may."""

    def __init__(self) -> None:
        self.running: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.begun: list[tuple[str, ...]] = []
        self.may_end = asyncio.Event()
        self.read = 5

    async def run(self, *arguments: str, within_s: float) -> tuple[int, bytes, str]:
        assert within_s > 0
        self.begun.append(arguments)
        keys = arguments[0], arguments[-2] if arguments[0] == "search" else ""
        self.running.update(keys)
        self.most |= self.running
        await self.may_end.wait()
        self.running.subtract(keys)
        found = Found(
            query="", pages=0, searched=0, with_text=0, read_bytes=self.read, records_bytes=5, hits=[], notes=[]
        )
        return 0, msgspec.json.encode(found), ""


async def until_idle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
def crawls(tmp_path: Path) -> list[Path]:
    directories = [tmp_path / name for name in "abcd"]
    for directory in directories:
        directory.mkdir()
        (directory / "lock").touch()
    return directories


@pytest.fixture
async def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    made = Commands()
    monkeypatch.setattr("crawler.serve.reporting.run_command", made.run)
    monkeypatch.setattr("crawler.serve.reporting.check_begun", lambda _: None)
    return made


async def test_some_crawls_are_searched_at_once_and_no_report_waits_for_them(
    crawls: list[Path], commands: Commands
) -> None:
    reporter = Reporter()
    async with asyncio.TaskGroup() as tasks:
        for words in ("red", "blue"):
            for crawl in crawls:
                tasks.create_task(reporter.search(crawl, words, limit=1, skip=0))
        await until_idle()
        tasks.create_task(reporter.page(crawls[0], limit=1))
        await until_idle()
        assert commands.running["search"] == MOST_PROCESSES
        assert commands.running["report"] == 1
        commands.may_end.set()
    assert commands.most["search"] == MOST_PROCESSES
    assert {commands.most[str(crawl)] for crawl in crawls} == {1}


async def test_a_search_that_has_not_read_all_is_made_again(crawls: list[Path], commands: Commands) -> None:
    reporter = Reporter()
    commands.may_end.set()
    for read, begun in ((3, 1), (4, 2), (5, 3), (5, 3)):
        commands.read = read
        found = await reporter.search(crawls[0], "red", limit=1, skip=0)
        assert (found.read_bytes, len(commands.begun)) == (read, begun)
    assert "--within" in commands.begun[0]
