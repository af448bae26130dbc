"""Folders of a crawl that are links to another disk: it may be missing, and it may be another file system."""

import shutil
import subprocess
from pathlib import Path

import pytest

from crawler.cli.errors import error_text
from crawler.disk.clearing import clear_crawl
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.testing.disks import mounted
from tests.e2e.crawling import COMPLETE, REFUSED, assert_told
from tests.unit.operate.stored_crawls import EACH, HOSTS, StoredCrawl, make

FOLDERS = ("frontier", "visited", "records", "logs", "warc")


@pytest.fixture
def crawl(tmp_path: Path) -> StoredCrawl:
    return make(tmp_path / "crawl")


def move(crawl: StoredCrawl, name: str, disk: Path) -> None:
    """Move a folder to another disk, and put a link in its place."""
    folder, there = crawl.directory / name, (disk / name).absolute()
    if folder.exists():
        subprocess.run(["cp", "-a", folder, there], check=True)
        shutil.rmtree(folder)
    else:
        there.mkdir()
    folder.symlink_to(there)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_whose_disk_is_missing_is_told_and_nothing_is_done_without_it(
    crawl: StoredCrawl, tmp_path: Path, name: str
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    move(crawl, name, disk)
    disk.rename(tmp_path / "away")
    copy, table = str(tmp_path / "copy"), str(tmp_path / "pages.csv")
    commands = [
        ("crawl", "--dir", "DIR"),
        ("status", "DIR"),
        ("report", "DIR"),
        ("inspect", "DIR", "fsck", "--refetch"),
        ("inspect", "DIR", "verify"),
        ("export", "DIR", "--format", "csv", "--to", table),
        ("backup", "DIR", "--to", copy),
        ("prune", "DIR", "--keep-bytes", "1"),
    ]
    for command in commands:
        ended = crawl.run(*command)
        assert_told(ended, REFUSED, f"{name} is a link to {disk / name}, which is missing: mount its disk")
    assert not list((tmp_path / "copy").glob("*"))
    assert not Path(table).exists()
    (tmp_path / "away").rename(disk)
    assert_told(crawl.look("fsck"), COMPLETE)


def test_a_link_to_a_missing_disk_is_no_file_where_a_folder_is_to_be_made(tmp_path: Path) -> None:
    folder, disk = tmp_path / "sqlite", tmp_path / "disk"
    folder.symlink_to(disk)
    with pytest.raises(FileExistsError) as caught:
        folder.mkdir(parents=True, exist_ok=True)
    assert error_text(caught.value).startswith(f"{folder} is a link to {disk}, which is missing: mount its disk")


def test_a_crawl_begins_anew_on_the_disks_that_it_had(crawl: StoredCrawl, tmp_path: Path) -> None:
    for name in FOLDERS:
        move(crawl, name, tmp_path)
    directory = CrawlDirectory(crawl.directory)
    (directory.records / "folder").mkdir()
    with directory:
        clear_crawl(directory)
    assert not directory.has_output()
    assert [name for name in FOLDERS if (crawl.directory / name).is_symlink()] == list(FOLDERS)
    assert not any(path for name in FOLDERS for path in (tmp_path / name).iterdir())


def test_a_crawl_is_divided_whose_frontier_is_on_another_disk(crawl: StoredCrawl, tmp_path: Path) -> None:
    move(crawl, "frontier", tmp_path)
    assert_told(crawl.do("parts", "--into", "2"), COMPLETE)
    assert_told(crawl.look("fsck"), COMPLETE)


@pytest.mark.parametrize("damaged", ["CURRENT", "*.ldb"])
def test_a_damaged_frontier_on_another_file_system_is_repaired(
    crawl: StoredCrawl, tmp_path: Path, damaged: str
) -> None:
    assert_told(crawl.look("fsck"), COMPLETE)  # makes a table of the log
    with mounted("-o", "size=40m", at=tmp_path / "disk") as disk:
        move(crawl, "frontier", disk)
        path = next((crawl.directory / "frontier").glob(damaged))
        path.write_bytes(b"?" * path.stat().st_size)
        assert_told(crawl.look("fsck", "--repair"), COMPLETE)
        assert crawl.look("fsck").out.startswith(f"{EACH * len(HOSTS)} URLs, ")


def test_a_frontier_on_another_disk_of_which_nothing_can_be_read_is_filled_from_the_output(
    crawl: StoredCrawl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move(crawl, "frontier", tmp_path)
    (tmp_path / "frontier" / "CURRENT").write_bytes(b"?")
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "plyvel.py").write_text("raise SystemError\n")  # in the process that salvages
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
    assert_told(crawl.look("fsck", "--repair"), COMPLETE)
    assert (crawl.directory / "frontier").is_symlink()
    assert crawl.look("fsck").out.startswith(f"{EACH * len(HOSTS)} URLs, ")


def test_a_lost_disk_can_be_given_up(tmp_path: Path) -> None:
    directory = CrawlDirectory(tmp_path)
    directory.warc.symlink_to(tmp_path / "lost")
    with pytest.raises(DirectoryRefused, match="if all of that is lost, delete the link"):
        directory.check_place()
    directory.warc.unlink()
    directory.check_place()
