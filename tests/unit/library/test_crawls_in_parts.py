"""A program can't run a crawl in parts, and is told what can."""

from pathlib import Path

import pytest

from crawler import Crawl
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import Layout, write_layout


@pytest.mark.parametrize(("parts", "has"), [(1, "1 part"), (2, "2 parts")])
async def test_a_program_is_told_that_only_the_command_runs_a_crawl_in_parts(
    tmp_path: Path, parts: int, has: str
) -> None:
    """Also one that was merged into one part: it stays a crawl in parts."""
    with CrawlDirectory(tmp_path):
        write_layout(tmp_path, Layout.begin(parts))
    crawl = Crawl(seeds=["http://a.test/"], directory=tmp_path)
    with pytest.raises(DirectoryRefused) as refused:
        await crawl.open()
    assert f"has a crawl in {has}, and only the command runs" in str(refused.value)
    assert "--into" not in str(refused.value)
