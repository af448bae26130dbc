"""That a crawl ends when its directory is deleted, and makes nothing anew there."""

import asyncio
import shutil
from pathlib import Path

import pytest

from config import load
from crawler.course.history import History
from crawler.disk import unlocking
from crawler.disk.directory import CrawlDirectory
from crawler.disk.unlocking import LockCheck
from crawler.operate.course import write_history
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.wiring.crawl import open_crawl


async def test_a_lock_that_is_gone_or_another_is_found(tmp_path: Path) -> None:
    with CrawlDirectory(tmp_path / "crawl") as directory:
        lock = LockCheck(directory)
        await lock.check()
        directory.path.rename(tmp_path / "moved")
        with pytest.raises(OSError, match="was deleted, moved or replaced while the crawl ran"):
            await lock.check()
        with CrawlDirectory(tmp_path / "crawl"), pytest.raises(OSError, match="was deleted, moved or replaced"):
            await lock.check()
        shutil.rmtree(tmp_path / "crawl")
        (tmp_path / "moved").rename(directory.path)
        await lock.check()


async def test_a_lock_of_which_the_system_can_tell_nothing_is_no_lost_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with CrawlDirectory(tmp_path / "crawl") as directory:
        lock = LockCheck(directory)

        def fail(_path: Path) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(Path, "stat", fail)
        await lock.check()
        monkeypatch.undo()


async def test_a_crawl_whose_directory_is_deleted_ends_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unlocking, "CHECK_INTERVAL_S", 0.01)
    loaded = load(None, overrides=['crawl.seeds=["http://a.test/"]'])

    async def crawl(directory: CrawlDirectory) -> None:
        async with asyncio.timeout(MAX_WAIT_S), open_crawl(loaded, directory):
            shutil.rmtree(directory.path)
            await asyncio.Event().wait()

    with CrawlDirectory(tmp_path / "crawl") as directory:
        with pytest.raises(ExceptionGroup) as raised:
            await crawl(directory)
        write_history(directory.course, History())
    [error] = raised.value.exceptions
    assert isinstance(error, OSError)
    assert "was deleted, moved or replaced" in str(error)
    assert list(tmp_path.iterdir()) == []
