"""A program opens a crawl whose directory is in use."""

import asyncio
from pathlib import Path

import pytest

from crawler import Crawl
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import Layout, write_layout
from crawler.library.opening import lock_crawl_in_loop
from crawler.wiring.configuration import load


async def test_the_loop_of_a_program_goes_on_while_its_crawl_waits_for_a_command_that_reads_it(tmp_path: Path) -> None:
    crawl = Crawl(seeds=["http://one.test/"], directory=tmp_path)
    reader = CrawlDirectory(tmp_path, to="read")
    reader.__enter__()
    opening = asyncio.create_task(crawl.open())
    for _ in range(5):
        await asyncio.sleep(0)
    assert not opening.done(), "the loop was held up until the wait was over"
    reader.__exit__()
    await opening
    assert (tmp_path / "lock").read_text()
    await crawl.aclose()


async def test_a_crawl_that_waits_for_a_command_can_be_cancelled_and_leaves_no_lock(tmp_path: Path) -> None:
    with CrawlDirectory(tmp_path, to="read"):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await Crawl(seeds=["http://one.test/"], directory=tmp_path).open()
        with pytest.raises(DirectoryRefused):
            CrawlDirectory(tmp_path).__enter__()
    with CrawlDirectory(tmp_path):
        pass


async def test_a_part_that_was_open_before_does_not_begin_anew_without_its_state(tmp_path: Path) -> None:
    write_layout(tmp_path, Layout.begin(2))
    part = CrawlDirectory(tmp_path / "part-0")
    values = {"crawl.seeds": ["http://one.test/"], "crawl.directory": str(part.path)}
    loaded = load(None, options={key: ("test", value) for key, value in values.items()}, environ={})
    async with lock_crawl_in_loop(loaded, as_part=True) as place:
        place.write_configuration("")  # which opening it does
    with pytest.raises(DirectoryRefused, match="its state is missing: mount its disk"):
        async with lock_crawl_in_loop(loaded, as_part=True):
            pass
