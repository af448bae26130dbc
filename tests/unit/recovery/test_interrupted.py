"""A recovery from the output that is killed."""

import shutil
from pathlib import Path

import pytest

from tests.e2e.crawling import COMPLETE, FAILED, assert_told
from tests.full_disk import no_space
from tests.unit.operate.stored_crawls import StoredCrawl, make


class Killed(BaseException):
    pass


def known(crawl: StoredCrawl) -> list[tuple[object, object]]:
    return [(each["url"], each["state"]) for each in crawl.exported()]


@pytest.mark.parametrize(
    "command", [("inspect", "DIR", "fsck", "--repair"), ("frontier", "rebuild", "DIR", "--from-records")]
)
def test_a_crawl_whose_recovery_was_killed_is_not_complete_and_is_recovered_by_the_next_repair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    crawl = make(tmp_path / "crawl")
    before = known(crawl)
    shutil.rmtree(crawl.directory / "frontier")

    def die(_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        # Settled URLs are known again by then, and none of the links.
        patch.setattr("crawler.wiring.recovery.recover._Output.links", die)
        with pytest.raises(Killed):
            crawl.run(*command)
    found = crawl.look("fsck")
    assert (found.code, "missing: " in found.out) == (FAILED, True), found
    assert_told(crawl.look("fsck", "--repair"), COMPLETE)
    assert known(crawl) == before
    assert_told(crawl.look("fsck"), COMPLETE)


def test_a_rebuild_that_fails_leaves_the_old_frontier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = make(tmp_path / "crawl")
    before = known(crawl)

    with monkeypatch.context() as patch:
        patch.setattr("crawler.wiring.recovery.recover._Output.links", no_space)
        ended = crawl.run("frontier", "rebuild", "DIR", "--from-records")
    assert_told(ended, FAILED, "the disk is full", "the old frontier was put back")
    assert known(crawl) == before
    assert not list(crawl.directory.glob("frontier.before-*"))
    # The new frontier may have left a snapshot that would be taken for one of the old.
    assert not list(crawl.directory.glob("visited/snapshot-*"))
    assert_told(crawl.look("fsck"), COMPLETE)
