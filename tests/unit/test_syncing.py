"""A checkpoint brings every file of a crawl onto the disk."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from crawler.disk import syncing
from crawler.disk.directory import CrawlDirectory
from crawler.disk.syncing import FileSync, SyncFailed


class Disk:
    """What has been synced: each file with its size then, each folder."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: dict[str, int] = {}
        self.before: Callable[[str], None] = lambda _: None
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self._sync)

    def _sync(self, descriptor: int) -> None:
        path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        self.before(path)
        self._fsync(descriptor)
        self.synced[path] = os.fstat(descriptor).st_size

    def again(self, sync: FileSync) -> set[str]:
        """The names of the files that one more sync syncs."""
        self.synced.clear()
        sync.sync()
        return {Path(path).name for path in self.synced if Path(path).is_file()}


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDirectory:
    directory = CrawlDirectory(tmp_path / "crawl")
    for name in ("records", "warc", "sinks/mine/deep", "frontier", "browsers"):
        (directory.path / name).mkdir(parents=True)
    (directory.records / "records-00000.jsonl").write_bytes(b"r" * 10)
    (directory.warc / "c-00000.warc.gz.open").write_bytes(b"w" * 20)
    (directory.sinks / "mine" / "deep" / "pages.db").write_bytes(b"s")
    (directory.frontier / "000003.log").write_bytes(b"f")
    (directory.browsers / "profile").write_bytes(b"b")
    (directory.path / "lock").write_bytes(b"1")
    return directory


def test_all_files_and_folders_are_synced_and_then_only_what_has_changed(crawl: CrawlDirectory, disk: Disk) -> None:
    sync = FileSync(crawl)
    names = {"records-00000.jsonl", "c-00000.warc.gz.open", "pages.db", "000003.log", "lock"}
    assert disk.again(sync) == names
    folders = {Path(path).name for path in disk.synced} - names
    assert folders == {"crawl", "records", "warc", "sinks", "mine", "deep", "frontier"}
    assert disk.again(sync) == set()
    with (crawl.records / "records-00000.jsonl").open("ab") as file:
        file.write(b"more")
    (crawl.warc / "c-00001.warc.gz.open").write_bytes(b"next")
    assert disk.again(sync) == {"records-00000.jsonl", "c-00001.warc.gz.open"}


def test_a_folder_on_another_disk_is_synced_too(crawl: CrawlDirectory, disk: Disk, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "x.warc.gz").write_bytes(b"x")
    (crawl.warc / "c-00000.warc.gz.open").unlink()
    crawl.warc.rmdir()
    crawl.warc.symlink_to(tmp_path / "disk")
    assert "x.warc.gz" in disk.again(FileSync(crawl))


def test_a_file_that_is_renamed_meanwhile_is_synced_under_its_new_name(crawl: CrawlDirectory, disk: Disk) -> None:
    opened = crawl.warc / "c-00000.warc.gz.open"

    def finish(_: str) -> None:
        if opened.exists():
            opened.rename(crawl.warc / "c-00000.warc.gz")

    disk.before = finish
    assert "c-00000.warc.gz" in disk.again(FileSync(crawl))


def test_after_a_failure_nothing_is_said_to_be_safe(crawl: CrawlDirectory, disk: Disk) -> None:
    sync = FileSync(crawl)

    def fail(path: str) -> None:
        if path.endswith(".jsonl"):
            raise OSError(errno.EIO, "Input/output error")

    disk.before = fail
    with pytest.raises(SyncFailed, match=r"records-00000.jsonl: Input/output error"):
        sync.sync()
    disk.before = lambda _: None
    with pytest.raises(SyncFailed, match=r"an earlier sync failed.*records-00000.jsonl"):
        sync.sync()


def test_the_newest_file_of_each_output_is_told_with_its_size(crawl: CrawlDirectory) -> None:
    old, new = crawl.records / "records-00000.jsonl", crawl.records / "records-00001.jsonl"
    new.write_bytes(b"r" * 7)
    (crawl.records / "records-00001.jsonl.damaged-5").write_bytes(b"d")
    os.utime(old, (1, 1))
    assert FileSync(crawl).newest_files() == {"records/records-00001.jsonl": 7, "warc/c-00000.warc.gz.open": 20}


def test_a_file_that_is_pruned_meanwhile_is_not_the_newest(
    crawl: CrawlDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    (crawl.warc / "c-00001.warc.gz.open").write_bytes(b"next")
    list_files = syncing._files_in

    def prune_after(folder: Path) -> list[os.DirEntry[str]]:
        found = list_files(folder)
        if folder == crawl.warc:
            (folder / "c-00000.warc.gz.open").unlink()
        return found

    monkeypatch.setattr(syncing, "_files_in", prune_after)
    assert FileSync(crawl).newest_files() == {"records/records-00000.jsonl": 10, "warc/c-00001.warc.gz.open": 4}
