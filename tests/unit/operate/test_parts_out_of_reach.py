"""A crawl in parts one of whose directories can't be used: commands say what is wrong, and lose nothing."""

import os
import subprocess
from pathlib import Path
from unittest.mock import ANY

import msgspec
import pytest

from crawler.cli.operate.pausing import status_lines
from crawler.control.replies import CrawlStatus
from crawler.course.history import History, Point
from crawler.course.remaining import nothing_left, of_parts
from crawler.course.text import left_text
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import part_directories, read_layout
from crawler.operate.course import write_history
from crawler.operate.missing import missing_parts
from crawler.testing.disks import mounted
from tests.e2e.crawling import COMPLETE, FAILED, REFUSED, assert_told, tree
from tests.unit.operate.stored_crawls import PARTS, SETTLED, StoredCrawl, make

CHANGES = (("pause", "DIR"), ("parts", "DIR", "--into", "2"), ("crawl", "--dir", "DIR", "--seed", "http://a.test/"))
"""Commands that need all parts, and to write to them."""

RUN = (*CHANGES[2], "--parts", str(PARTS))


@pytest.fixture
def crawl(tmp_path: Path) -> StoredCrawl:
    return make(tmp_path / "crawl", parts=PARTS)


@pytest.mark.parametrize("command", [("recrawl", "DIR"), ("forget", "DIR", "--matching", ".")])
def test_no_part_is_changed_if_one_is_missing(crawl: StoredCrawl, tmp_path: Path, command: tuple[str, ...]) -> None:
    before = crawl.exported()
    part = part_directories(crawl.directory)[1]
    part.rename(tmp_path / "aside")
    assert_told(crawl.run(*command), REFUSED, str(part))
    (tmp_path / "aside").rename(part)
    assert crawl.exported() == before


def test_nothing_is_fetched_again_without_a_part_whose_ledger_may_have_it(crawl: StoredCrawl) -> None:
    part = CrawlDirectory(part_directories(crawl.directory)[1])
    part.visited.mkdir(exist_ok=True)
    part.visited.rename(part.path / "aside")
    part.visited.write_text("a file")
    for repair in ((), ("--repair",)):
        told = crawl.run("inspect", "DIR", "fsck", "--refetch", *repair)
        assert_told(told, REFUSED, "all parts are needed, and part 1", f"found a file: {part.visited}")


def told_of_parts(crawl: StoredCrawl) -> list[object]:
    """What `status` says is wrong with each part."""
    parts = msgspec.convert(crawl.do("status", "--json").json()["parts"], list[dict[str, object]])
    return [each["error"] for each in parts]


def test_status_names_a_part_once_and_counts_no_point_without_it(crawl: StoredCrawl) -> None:
    parts = [CrawlDirectory(part) for part in part_directories(crawl.directory)]
    for part in parts:
        write_history(part.course, History(points=[Point(1.0, 2 * SETTLED, SETTLED)]))
    parts[1].frontier.rename(parts[1].frontier.with_name("aside"))
    shown = crawl.do("status").out
    assert "\n    part 1  the crawl in " in shown
    told = crawl.do("status", "--json").json()
    assert told["course"] == [{"at": ANY, "discovered": 2 * PARTS * SETTLED, "finished": PARTS * SETTLED}]


def test_a_link_to_a_missing_disk_is_told_and_nothing_begins_anew(crawl: StoredCrawl, tmp_path: Path) -> None:
    before = crawl.exported()
    part = part_directories(crawl.directory)[1]
    part.rename(tmp_path / "disk")
    part.symlink_to(tmp_path / "mount" / "disk")
    words = (f"{part} is a link to {tmp_path / 'mount' / 'disk'}, which is missing", "mount its disk")
    for command in CHANGES:
        assert_told(crawl.run(*command), REFUSED, *words)
    first, second, third = told_of_parts(crawl)
    assert first is third is None
    assert words[0] in str(second)
    for repair in ([], ["--repair"]):
        checked = crawl.look("fsck", *repair)
        assert checked.code == FAILED
        assert words[0] in checked.out
    assert not (tmp_path / "mount").exists()
    part.unlink()
    (tmp_path / "disk").rename(part)
    assert crawl.exported() == before
    assert crawl.look("fsck").code == COMPLETE


@pytest.mark.parametrize(
    "command",
    [
        *CHANGES[:2],
        RUN,
        ("prune", "DIR", "--keep", "90d"),
        ("sharing", "DIR", "--refill"),
        ("frontier", "rebuild", "DIR", "--from-records"),
        (
            "cluster",
            "init",
            "--from",
            "DIR",
            "--url",
            "redis://127.0.0.1:1/0",
            "--set",
            'crawl.seeds=["http://a.test/"]',
        ),
    ],
)
def test_a_part_that_is_missing_is_named_and_not_made(
    crawl: StoredCrawl, tmp_path: Path, command: tuple[str, ...]
) -> None:
    before = crawl.exported()
    part = part_directories(crawl.directory)[1]
    part.rename(tmp_path / "aside")
    assert_told(crawl.run(*command), REFUSED, "part 1", str(part), "its disk")
    assert not part.exists()
    part.mkdir()  # where it was mounted
    assert_told(crawl.run(*command), REFUSED, "part 1", str(part), "its disk")
    assert not [*part.iterdir()]
    part.rmdir()
    (tmp_path / "aside").rename(part)
    assert crawl.exported() == before


def test_a_backup_of_a_crawl_whose_part_is_missing_says_what_to_do(crawl: StoredCrawl, tmp_path: Path) -> None:
    part = part_directories(crawl.directory)[1]
    part.rename(tmp_path / "aside")
    ended = crawl.run("backup", "DIR", "--to", str(tmp_path / "copy"))
    repair = f"Mount its disk; if that is lost, `onceover inspect {crawl.directory} fsck --repair` rebuilds the part"
    assert_told(ended, REFUSED, f"the part of the crawl in {part} has no frontier", repair)


def test_a_lock_alone_is_no_part_once_the_crawl_has_begun(crawl: StoredCrawl, tmp_path: Path) -> None:
    part = part_directories(crawl.directory)[1]
    part.rename(tmp_path / "aside")
    part.mkdir()
    (part / "lock").touch()
    words = f"part 1 of the crawl in {crawl.directory} is missing: expected its frontier {part / 'frontier'}"
    assert_told(crawl.run(*RUN), REFUSED, words)
    layout = read_layout(crawl.directory)
    assert layout is not None
    assert list(missing_parts(crawl.directory, layout)) == [1]
    # The first start was killed: it stores the configuration when all parts have a frontier.
    (crawl.directory / "crawl.toml").unlink()
    assert not missing_parts(crawl.directory, layout)


@pytest.mark.parametrize(
    "command",
    [
        ("export", "DIR", "--format", "jsonl", "--to", "TO"),
        ("report", "DIR"),
        ("status", "DIR"),
        ("inspect", "DIR", "verify"),
        ("prune", "DIR", "--keep", "90d", "--dry-run"),
    ],
)
@pytest.mark.parametrize("is_mounted", [False, True])
def test_who_reads_a_crawl_is_told_that_a_part_is_missing(
    crawl: StoredCrawl, tmp_path: Path, command: tuple[str, ...], is_mounted: bool
) -> None:
    note = "note: without part 1 of the crawl"
    there = [str(tmp_path / f"{part}.jsonl") if part == "TO" else part for part in command]
    assert note not in crawl.run(*there).err
    part = part_directories(crawl.directory)[1]
    part.rename(tmp_path / "aside")
    if is_mounted:
        part.symlink_to(tmp_path / "mount" / "disk")
    assert note in crawl.run(*there, *(["--overwrite"] if "export" in command else [])).err
    assert part.is_symlink() or not part.exists()


def test_nobody_says_how_much_is_done_without_a_part(crawl: StoredCrawl, tmp_path: Path) -> None:
    assert isinstance(crawl.do("status", "--json").json()["share_done"], float)
    part_directories(crawl.directory)[1].rename(tmp_path / "aside")
    status, report = crawl.do("status", "--json").json(), crawl.do("report", "--json").json()
    assert status["share_done"] is None
    assert msgspec.convert(report["summary"], dict[str, object])["share_done"] is None
    for command in ("status", "report"):
        told = crawl.do(command).out
        assert "1 part can't tell" in " ".join(told.split())
        assert "%" not in told


def test_a_crawl_that_may_have_more_in_a_missing_part_is_not_said_to_be_done(
    crawl: StoredCrawl, tmp_path: Path
) -> None:
    part_directories(crawl.directory)[1].rename(tmp_path / "aside")
    found = msgspec.convert(crawl.do("status", "--json").json(), CrawlStatus)
    found = msgspec.structs.replace(found, frontier=msgspec.structs.replace(found.frontier, pending=0, retrying=0))
    assert "nothing left" not in status_lines(found, crawl.directory)[0]
    assert "nothing left" in status_lines(msgspec.structs.replace(found, parts=[]), crawl.directory)[0]
    silent = of_parts([nothing_left()], silent=1)
    assert left_text(silent) == "nothing that is known, but 1 part can't tell"
    assert left_text(nothing_left()) == "nothing that is known"


def test_a_disk_that_can_only_be_read_shows_the_crawl_and_takes_no_change(crawl: StoredCrawl, tmp_path: Path) -> None:
    before = crawl.exported()
    part = part_directories(crawl.directory)[1]
    with mounted("-o", "size=20m", at=tmp_path / "disk") as disk:
        part.rename(tmp_path / "aside")
        subprocess.run(["cp", "-a", tmp_path / "aside", disk / "part"], check=True)
        part.symlink_to(disk / "part")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        files = tree(disk)
        for command in CHANGES:
            assert_told(crawl.run(*command), REFUSED, f"{part} can't be used", "Read-only file system")
        assert crawl.exported() == before
        assert crawl.look("fsck").code == COMPLETE
        assert told_of_parts(crawl) == [None] * PARTS
        assert tree(disk) == files


def test_a_frontier_that_can_only_be_read_is_not_taken_for_damaged(crawl: StoredCrawl, tmp_path: Path) -> None:
    before = crawl.exported()
    frontier = part_directories(crawl.directory)[1] / "frontier"
    with mounted("-o", "size=20m", at=tmp_path / "disk") as disk:
        frontier.rename(tmp_path / "aside")
        subprocess.run(["cp", "-a", tmp_path / "aside", disk / "frontier"], check=True)
        frontier.symlink_to(disk / "frontier")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        for command in (*CHANGES, ("inspect", "DIR", "fsck", "--repair")):
            told = crawl.run(*command)
            assert told.code in (FAILED, REFUSED)
            assert (
                f"{frontier} can't be written to: its file system is mounted for reading alone" in told.out + told.err
            )
            assert "--repair" not in told.out + told.err
        assert crawl.exported() == before


@pytest.mark.parametrize(("is_owner", "words"), [(True, "`chmod -R u+w "), (False, "it belongs to ")])
def test_who_may_write_to_a_frontier_is_told(
    crawl: StoredCrawl, monkeypatch: pytest.MonkeyPatch, is_owner: bool, words: str
) -> None:
    frontier = part_directories(crawl.directory)[1] / "frontier"
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != frontier or mode != os.W_OK)
    if not is_owner:
        monkeypatch.setattr("os.geteuid", lambda: frontier.stat().st_uid + 4711)
    assert_told(crawl.run(*CHANGES[0]), REFUSED, f"{frontier} can't be written to", words, "Nothing is damaged")


def test_a_part_that_belongs_to_somebody_else_is_told(crawl: StoredCrawl, monkeypatch: pytest.MonkeyPatch) -> None:
    part = part_directories(crawl.directory)[1]
    # Root may read everything, so the system is asked in its place.
    monkeypatch.setattr("os.access", lambda path, _mode: Path(path) not in (part, part / "frontier"))
    words = (f"{part} can't be read by this user", "run the command as the user of the crawl")
    for command in CHANGES:
        assert_told(crawl.run(*command), REFUSED, *words)
    assert words[0] in str(told_of_parts(crawl)[1])
    assert words[0] in crawl.look("fsck").out


def test_a_directory_that_no_user_may_enter_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_symlink", refuse)
    with pytest.raises(DirectoryRefused, match="can't be read by this user"):
        CrawlDirectory(tmp_path / "closed" / "crawl").check_place()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"version": 1, "generation": "d2', "parts.json can't be read"),
        ("", "parts.json can't be read"),
        ('{"version": 2, "shards": {"web": 7}}', "has version 2, and this onceover reads version 1"),
    ],
)
def test_a_layout_that_can_t_be_used_changes_nothing(crawl: StoredCrawl, content: str, words: str) -> None:
    (crawl.directory / "parts.json").write_text(content)
    files = tree(crawl.directory)
    for command in (*CHANGES, (*CHANGES[2], "--fresh"), ("status", "DIR"), ("inspect", "DIR", "fsck", "--repair")):
        assert_told(crawl.run(*command), REFUSED, words)
    assert tree(crawl.directory) == files
