"""Commands take the parts of a crawl that a machine has, and say which ones it lacks."""

import shutil
from pathlib import Path

import msgspec
import pytest

from crawler.disk.layout import ClusterPlace, read_layout, write_layout
from tests.e2e.crawling import AWAY, COMPLETE, REFUSED, Ended, assert_told
from tests.e2e.operating import command_here
from tests.unit.operate.stored_crawls import StoredCrawl, make

ON_MACHINES = ClusterPlace(
    crawl="c", url="redis://127.0.0.1:1/0", prefix="onceover", lease_s=30.0, configuration_version=1
)
NOTE = "without parts 0, 2 of the crawl, on other machines"


@pytest.fixture
def crawl(tmp_path: Path) -> StoredCrawl:
    """Part 1 of three."""
    made = make(tmp_path / "crawl")
    assert command_here("parts", str(made.directory), "--into", "3").code == COMPLETE
    layout = read_layout(made.directory)
    assert layout is not None
    layout = msgspec.structs.replace(layout, cluster=ON_MACHINES, earlier=())
    write_layout(made.directory, layout)
    for part in (0, 2):
        shutil.rmtree(layout.directories(made.directory)[part])
    return made


def run(crawl: StoredCrawl, *command: str) -> Ended:
    return command_here(*(str(crawl.directory) if each == "DIR" else each for each in command))


@pytest.mark.parametrize(
    "command",
    [
        ("inspect", "DIR", "fsck", "--no-output"),
        ("inspect", "DIR", "fsck", "--no-output", "--json"),
        ("status", "DIR"),
        ("report", "DIR"),
    ],
)
def test_what_is_here_is_told_and_what_is_not_named(crawl: StoredCrawl, command: tuple[str, ...]) -> None:
    ended = run(crawl, *command)
    assert ended.code == COMPLETE, ended
    assert NOTE in ended.err
    assert NOTE not in ended.out


def test_a_machine_without_parts_tells_what_an_export_lacks_and_why_it_has_no_status(
    crawl: StoredCrawl, tmp_path: Path
) -> None:
    """Nobody takes the output of an earlier division, or an empty table, for the whole crawl."""
    layout = read_layout(crawl.directory)
    assert layout is not None
    shutil.rmtree(layout.directories(crawl.directory)[1])
    ended = run(crawl, "export", "DIR", "--format", "csv", "--to", str(tmp_path / "pages.csv"))
    assert (ended.code, "note: without parts 0, 1, 2 of the crawl" in ended.err) == (COMPLETE, True)
    ended = run(crawl, "status", "DIR")
    assert ended.code == REFUSED
    assert "has no part of the crawl: other machines may have them" in ended.err
    assert "note" not in ended.err


def test_a_broken_part_is_named_by_its_number_and_its_own_directory(crawl: StoredCrawl) -> None:
    layout = read_layout(crawl.directory)
    assert layout is not None
    broken = layout.directories(crawl.directory)[1]
    (broken / "frontier" / "CURRENT").write_text("nothing\n")
    for command in ("fsck", "verify"):
        ended = run(crawl, "inspect", "DIR", command)
        assert f"damaged: {broken}: " in ended.out, ended
        assert NOTE in ended.err


def test_a_crawl_is_not_divided_without_all_of_its_parts(crawl: StoredCrawl) -> None:
    ended = run(crawl, "parts", "DIR", "--into", "2")
    assert ended.code == REFUSED
    assert "does not have 0, 2, which other machines have" in ended.err


@pytest.mark.parametrize(
    "command",
    [
        ("status", "DIR"),
        ("top", "DIR", "--once"),
        ("pause", "DIR"),
        ("recrawl", "DIR", "--failed"),
        ("checkpoint", "DIR"),
        ("inspect", "DIR", "visited"),
        ("inspect", "DIR", "fsck"),
        ("report", "DIR"),
    ],
)
def test_a_machine_without_a_part_says_that_others_may_have_them(crawl: StoredCrawl, command: tuple[str, ...]) -> None:
    shutil.rmtree(crawl.directory / "part-1")
    assert_told(run(crawl, *command), REFUSED, "has no part of the crawl: other machines may have them")
    assert_told(run(crawl, "stop", "DIR"), COMPLETE)


@pytest.mark.parametrize("command", [("set", "DIR", "politeness.min_delay_s=9"), ("reload", "DIR")])
def test_a_machine_that_does_not_run_changes_no_settings_for_itself(
    crawl: StoredCrawl, command: tuple[str, ...]
) -> None:
    before = (crawl.directory / "crawl.toml").read_bytes()
    assert_told(run(crawl, *command), AWAY, "Redis at redis://127.0.0.1:1/0 can't be reached")
    assert (crawl.directory / "crawl.toml").read_bytes() == before
