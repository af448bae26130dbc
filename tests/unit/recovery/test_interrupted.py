"""A recovery from the output that is killed."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.crawling import COMPLETE, FAILED, assert_told
from tests.full_disk import no_space
from tests.unit.operate.stored_crawls import StoredCrawl, make


class Killed(BaseException):
    pass


def known(crawl: StoredCrawl) -> list[tuple[object, object]]:
    return [(each["url"], each["state"]) for each in crawl.exported()]


def test_a_crawl_whose_recovery_was_killed_is_not_complete_and_is_recovered_by_the_next_repair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = make(tmp_path / "crawl")
    before = known(crawl)
    shutil.rmtree(crawl.directory / "frontier")

    def die(_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        # Settled URLs are known again by then, and none of the links.
        patch.setattr("crawler.wiring.recovery.output_links.LinksInOutput.links", die)
        with pytest.raises(Killed):
            crawl.run("inspect", "DIR", "fsck", "--repair")
    found = crawl.look("fsck")
    assert (found.code, "missing: " in found.out) == (FAILED, True), found
    assert_told(crawl.look("fsck", "--repair"), COMPLETE)
    assert known(crawl) == before
    assert_told(crawl.look("fsck"), COMPLETE)


def test_a_rebuild_that_fails_leaves_the_old_frontier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = make(tmp_path / "crawl")
    before = known(crawl)

    with monkeypatch.context() as patch:
        patch.setattr("crawler.wiring.recovery.output_links.LinksInOutput.links", no_space)
        ended = crawl.run("frontier", "rebuild", "DIR", "--from-records")
    assert_told(ended, FAILED, "the disk is full", "the old frontier is as it was")
    assert known(crawl) == before
    assert not list(crawl.directory.glob("frontier.before-*"))
    assert not list(crawl.directory.glob("*.rebuilding"))
    assert_told(crawl.look("fsck"), COMPLETE)


def test_a_rebuild_that_is_killed_leaves_the_old_frontier_and_the_next_one_keeps_a_single_copy_of_it(
    tmp_path: Path,
) -> None:
    crawl = make(tmp_path / "crawl")
    before = known(crawl)
    for _ in range(2):
        kill_rebuild(crawl)
        assert known(crawl) == before
        assert not list(crawl.directory.glob("frontier.before-*"))
    assert_told(crawl.run("frontier", "rebuild", "DIR", "--from-records"), COMPLETE, "a copy of the old frontier")
    assert known(crawl) == before
    assert len(list(crawl.directory.glob("frontier.before-*"))) == 1
    assert not list(crawl.directory.glob("*.rebuilding"))
    assert_told(crawl.look("fsck"), COMPLETE)


def kill_rebuild(crawl: StoredCrawl) -> None:
    """Kill a process that rebuilds, when it has the settled URLs and no links."""
    text = (
        "import os, sys\n"
        "import crawler.wiring.recovery.recover as it\n"
        "from crawler.cli import main\n"
        "it.LinksInOutput.links = lambda _: os.kill(os.getpid(), 9)\n"
        "sys.argv = ['onceover', 'frontier', 'rebuild', sys.argv[1], '--from-records']\n"
        "main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", text, str(crawl.directory)], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def test_a_rebuild_leaves_a_link_of_the_visited_set_to_another_disk(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    before = known(crawl)
    visited, elsewhere = crawl.directory / "visited", tmp_path / "disk"
    shutil.rmtree(visited, ignore_errors=True)
    elsewhere.mkdir()
    (elsewhere / "old").touch()
    visited.symlink_to(elsewhere)
    assert_told(crawl.run("frontier", "rebuild", "DIR", "--from-records"), COMPLETE)
    assert visited.readlink() == elsewhere
    assert not (elsewhere / "old").exists()
    assert known(crawl) == before
    assert not list(crawl.directory.glob("*.rebuilding"))
