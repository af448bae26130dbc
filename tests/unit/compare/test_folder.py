"""The directory of a comparison: nobody else's files come into it, and it comes into nobody else's."""

from pathlib import Path

import pytest

from crawler.compare.measure.folder import Folder, FolderRefused
from crawler.disk.directory import CrawlDirectory


def test_the_directory_of_a_crawl_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    with CrawlDirectory(tmp_path / "crawl") as crawl:
        crawl.records.mkdir()
    before = sorted(crawl.path.rglob("*"))
    with pytest.raises(FolderRefused, match="holds files, but no comparison"), Folder(crawl.path):
        pass
    assert sorted(crawl.path.rglob("*")) == before


def test_a_comparison_that_was_killed_before_its_first_trial_goes_on(tmp_path: Path) -> None:
    killed = tmp_path / "comparison"
    (killed / "works").mkdir(parents=True)
    (killed / "lock").touch()
    with Folder(killed) as folder:
        folder.journal.touch()
        (killed / "report.json").touch()
    with Folder(killed):
        pass


@pytest.mark.parametrize("is_fresh", [False, True])
def test_a_comparison_that_measured_nothing_goes_on(is_fresh: bool, tmp_path: Path) -> None:
    with Folder(tmp_path / "comparison") as folder:
        if is_fresh:
            folder.clear()
        (folder.path / "report.json").touch()
    with Folder(tmp_path / "comparison"):
        pass


def test_works_of_others_are_refused_and_left_as_they_are(tmp_path: Path) -> None:
    mine = tmp_path / "works" / "thesis.txt"
    mine.parent.mkdir()
    mine.touch()
    with pytest.raises(FolderRefused, match="holds files, but no comparison"), Folder(tmp_path):
        pass
    assert mine.exists()
    mine.unlink()
    with Folder(tmp_path):  # a run may have been killed before it had its lock
        pass
