"""That a crawl which is copied while it runs is restored as a crawl: it goes on, loses nothing and repeats nothing."""

from pathlib import Path

import msgspec

from crawler.write.records import read_records
from tests.e2e.crawling import COMPLETE, Ended, assert_sound, assert_told, fetched, onceover, setting
from tests.e2e.operating import Operated, command_here, operated
from tests.e2e.parts.in_parts import HURRIED, UNHURRIED, assert_fetched_once, crossed, in_parts

_SLOW = setting("politeness.min_delay_s=2", "scope.sitemaps=false")
_SINKS = setting('output.sinks=["sqlite"]', "duplicates.near=mark")


def back_up(directory: Path, copy: Path, *more: str) -> dict[str, object]:
    done = command_here("backup", str(directory), "--to", str(copy), "--json", *more)
    assert_told(done, COMPLETE)
    return done.json()


def restore(copy: Path, directory: Path, *more: str) -> Ended:
    return command_here("restore", str(copy), "--to", str(directory), *more)


def assert_verified(directory: Path) -> None:
    """Ledger, output and databases agree."""
    verified = command_here("inspect", str(directory), "verify", "--json")
    assert_told(verified, COMPLETE)
    assert verified.json()["problems"] == []


def wait_for_pages(crawl: Operated, count: int) -> None:
    folder = crawl.directory / "records"
    crawl.crawl.wait_until(lambda: folder.is_dir() and sum(1 for _ in read_records(folder)) >= count, "pages")


def lineages(directory: Path) -> set[int]:
    return {record.number >> 40 for record in read_records(directory / "records")}


def test_a_crawl_that_is_copied_while_it_runs_is_restored_and_goes_on(tmp_path: Path) -> None:
    copy, restored = tmp_path / "copy", tmp_path / "restored"
    with operated(tmp_path, *_SLOW, *_SINKS) as crawl:
        wait_for_pages(crawl, 1)
        first = back_up(crawl.directory, copy)
        wait_for_pages(crawl, 2)
        second = back_up(crawl.directory, copy)
        assert int(str(second["new_bytes"])) < int(str(second["bytes"]))
        assert first["copy"] == second["copy"]
        assert not (crawl.directory / "copying").exists()
        crawl.hurry()
        assert_told(crawl.crawl.wait(), COMPLETE)
        assert_told(restore(copy, restored), COMPLETE)
        assert_sound(restored)
        assert_verified(restored)
        before = fetched(restored)
        assert 0 < len(before) < len(crawl.web.pages)
        assert lineages(restored) == {0}
        assert_told(onceover("crawl", "--dir", "restored", *HURRIED, cwd=tmp_path), COMPLETE)
        for directory in (crawl.directory, restored):
            assert set(fetched(directory)) == crawl.web.pages
            assert_sound(directory)
            assert_verified(directory)
        after = {record.number for record in read_records(restored / "records") if record.number >> 40}
        assert after, "nothing was admitted after the copy"
        assert lineages(crawl.directory) == {0}


def test_a_crawl_in_parts_is_restored_with_all_links_between_its_parts(tmp_path: Path) -> None:
    copy, restored = tmp_path / "copy", tmp_path / "restored"
    with in_parts(tmp_path, *UNHURRIED) as crawl:
        with crawl.started() as supervisor:
            crawl.wait_until_all_crawl(supervisor)
            done = back_up(crawl.directory, copy)
            assert len(msgspec.convert(done["parts"], list[dict[str, object]])) == 2
        assert_told(restore(copy, restored), COMPLETE)
        assert_sound(restored)
        ended = onceover("crawl", "--dir", "restored", *HURRIED, cwd=tmp_path)
        assert_told(ended, COMPLETE)
        crawl.directory.rename(tmp_path / "original")
        restored.rename(crawl.directory)
        assert_fetched_once(crawl.records(), crawl.web.pages)
        assert crossed(crawl.records()) > 0
        assert_sound(crawl.directory)
        assert_verified(crawl.directory)
