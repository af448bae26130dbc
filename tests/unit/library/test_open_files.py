"""A program runs a crawl, and may open few files."""

import asyncio
from pathlib import Path

import pytest

from crawler import Crawl
from tests.e2e.crawling import COMPLETE, onceover


async def test_a_lack_of_open_files_is_told_when_a_crawl_opens_and_when_it_wants_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def limit(files: int) -> None:
        monkeypatch.setattr("resource.getrlimit", lambda _: (files, files))

    def told() -> list[str]:
        return [each.partition(" it ")[2] for each in caplog.messages if "open files (ulimit -n)" in each]

    async def change(setting: str) -> None:
        changed = await asyncio.to_thread(onceover, "set", str(tmp_path), setting, cwd=tmp_path)
        assert changed.code == COMPLETE, changed

    settings = {"fetch.hosts": {"a.test": "127.0.0.1:9"}, "frontier.retry_delay_s": 600}
    limit(1024)
    async with Crawl(seeds=["http://a.test/"], directory=tmp_path, set=settings):
        assert not told()
    limit(200)
    async with Crawl(directory=tmp_path) as crawl:
        page = asyncio.ensure_future(anext(aiter(crawl)))
        first = "fetches 64 URLs at once (fetch.concurrency), and up to 11 more from slow servers (fetch.spare)"
        assert told() == [first]
        await change("politeness.max_delay_s=50")
        assert told() == [first]
        await change("fetch.concurrency=100")
        assert told()[1:] == [first.replace("64", "75").replace("11", "0")]
        page.cancel()
        await asyncio.wait([page])
