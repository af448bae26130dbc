"""A crawl on a disk, or in a copy, that can't be written to can be looked into."""

import re
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from crawler.testing.disks import mounted
from tests.e2e.crawling import COMPLETE, FAILED, LIMIT, REFUSED, Web, assert_told, onceover, setting, started, tree

LOOKS = (
    ("inspect", "DIR", "queues", "--json"),
    ("inspect", "DIR", "url", "http://h00000.sim.test/", "--json"),
    ("inspect", "DIR", "visited", "--json"),
    ("inspect", "DIR", "fsck", "--json"),
    ("frontier", "export", "DIR"),
)

ADVICE = "or mount its file system for writing, too"


def looks(directory: Path, cwd: Path) -> list[str]:
    told = []
    for look in LOOKS:
        ended = onceover(*(directory if part == "DIR" else part for part in look), cwd=cwd)
        assert_told(ended, COMPLETE)
        told.append(re.sub(r'"(disk|memory)_bytes":\d+', "", ended.out))  # of LevelDB's own log, which is another
    return told


@pytest.mark.parametrize("visited", ["store='leveldb'", "backend='dsbf'"])
def test_a_crawl_that_cannot_be_written_to_tells_what_it_told_before(tmp_path: Path, web: Web, visited: str) -> None:
    with mounted("-o", "size=100m", at=tmp_path / "mount") as mount:
        directory = mount / "crawl"
        options = [*web.options, "--dir", str(directory), "--max-pages", "20", *setting(f"visited.{visited}")]
        assert onceover("crawl", *options, cwd=tmp_path).code == LIMIT
        before = looks(directory, tmp_path)
        files = tree(directory)
        subprocess.run(["mount", "-o", "remount,ro", mount], check=True)
        assert looks(directory, tmp_path) == before
        assert tree(directory) == files
        refused = onceover("frontier", "pause", directory, "--reason", "no", cwd=tmp_path)
        assert_told(refused, REFUSED, "can't be used", "Read-only file system", ADVICE)


def test_a_daemon_refuses_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    with mounted("-o", "size=1m,ro", at=tmp_path / "mount") as mount:
        told = onceover("daemon", mount, cwd=tmp_path)
        assert_told(told, REFUSED, f"{mount} can't be served", f"Read-only file system ({mount / 'daemon'})", ADVICE)


def test_a_crawl_on_a_full_disk_tells_what_it_told_before(tmp_path: Path, web: Web) -> None:
    with mounted("-o", "size=20m", at=tmp_path / "mount") as mount:
        directory = mount / "crawl"
        options = [*web.options, "--dir", str(directory), "--max-pages", "20", *setting("output.min_free_bytes=0")]
        assert onceover("crawl", *options, cwd=tmp_path).code == LIMIT
        before = looks(directory, tmp_path)
        with suppress(OSError), (mount / "rest").open("wb", buffering=0) as rest:
            while rest.write(bytes(4096)):
                pass
        files = tree(directory)
        assert looks(directory, tmp_path) == before
        assert_told(onceover("status", directory, cwd=tmp_path), COMPLETE)
        assert tree(directory) == files
        assert_told(onceover("pause", directory, cwd=tmp_path), FAILED, "the disk is full")


def test_a_crawl_that_runs_answers_through_a_path_that_cannot_be_written_to(tmp_path: Path, web: Web) -> None:
    with mounted("-o", "size=100m", at=tmp_path / "mount") as mount:
        (tmp_path / "view").mkdir()
        options = [*web.options, "--dir", str(mount / "crawl"), *setting("politeness.min_delay_s=30")]
        with started("crawl", *options, cwd=tmp_path) as crawl:
            crawl.wait_until((mount / "crawl" / "control").is_socket, "its socket")
            subprocess.run(["mount", "--bind", mount, tmp_path / "view"], check=True)
            try:
                subprocess.run(["mount", "-o", "remount,bind,ro", tmp_path / "view"], check=True)
                ended = onceover("status", tmp_path / "view" / "crawl", "--json", cwd=tmp_path)
                refused = onceover("inspect", tmp_path / "view" / "crawl", "fsck", cwd=tmp_path)
            finally:
                subprocess.run(["umount", "--lazy", tmp_path / "view"], check=True)
        assert ended.json()["pid"] == crawl.pid
        assert_told(refused, REFUSED, f"in use by process {crawl.pid}")
