"""The crawl waits while it takes more disk space than it may."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.used_space import LONGEST_S, SHORTEST_S, UsedSpaceGuard, growing_folders, used_bytes


def du(path: Path) -> int:
    return sum(each.lstat().st_blocks * 512 for each in path.rglob("*"))


def test_files_in_all_folders_count_and_those_behind_links_do_not(tmp_path: Path) -> None:
    crawl, other = tmp_path / "crawl", tmp_path / "other"
    for name in ("a", "b/c", "b/d/e"):
        (crawl / name).parent.mkdir(parents=True, exist_ok=True)
        (crawl / name).write_bytes(os.urandom(50_000))
    other.mkdir()
    (other / "f").write_bytes(os.urandom(500_000))
    (crawl / "part-1").symlink_to(other)
    assert used_bytes([crawl]) == du(crawl) >= 150_000
    assert used_bytes([crawl, crawl / "part-1", crawl]) == du(crawl) + du(other)  # a part on another disk counts, once
    assert used_bytes([crawl, crawl / "b", crawl / "b/d"]) == du(crawl)  # parts that lie in the crawl count once
    assert used_bytes([tmp_path / "missing"]) == 0
    (crawl / "warc").symlink_to(other)
    folders = growing_folders(CrawlDirectory(crawl))
    assert used_bytes(folders) == du(crawl) + du(other)  # archives on another disk count


class Disk:
    def __init__(self, limit: int | None) -> None:
        self.used = 0
        self.now = 0.0
        self.told: list[str] = []
        self.guard = UsedSpaceGuard(
            list,
            max_bytes=limit,
            pause=self.told.append,
            resume=lambda: self.told.append("resume"),
            measure=self._measure,
            monotonic=lambda: self.now,
        )

    def _measure(self, _directories: Sequence[Path]) -> int:
        return self.used

    def check(self, used: int, after_s: float = 0.0) -> float:
        self.used, self.now = used, self.now + after_s
        return asyncio.run(self.guard.check())


def test_the_crawl_waits_above_its_limit_and_goes_on_well_below_it() -> None:
    disk = Disk(1000)
    disk.check(999)
    assert disk.told == []
    disk.check(1000)
    assert disk.told == ["the crawl takes 1.0 kB, and output.max_disk_bytes is 1.0 kB"]
    disk.check(980)
    assert "resume" not in disk.told
    disk.check(969)
    assert disk.told[-1] == "resume"
    disk.check(2000)
    disk.guard.set_max_bytes(None)
    assert disk.check(2000) == LONGEST_S
    assert disk.told[-1] == "resume"


async def test_the_crawl_goes_on_while_nobody_knows_its_directories(caplog: pytest.LogCaptureFixture) -> None:
    def unreadable() -> Sequence[Path]:
        raise DirectoryRefused("parts.json can't be read")

    guard = UsedSpaceGuard(unreadable, max_bytes=1, pause=pytest.fail, resume=pytest.fail)
    assert await guard.check() == LONGEST_S
    assert "parts.json can't be read" in caplog.text


def test_it_looks_the_more_often_the_less_room_there_is() -> None:
    disk = Disk(1000)
    assert disk.check(0) == SHORTEST_S  # it does not know yet how fast the crawl writes
    assert disk.check(100, after_s=10) == 900 / 10 * 0.25
    assert disk.check(950, after_s=10) == SHORTEST_S
    disk = Disk(10**9)
    disk.check(0)
    assert disk.check(100, after_s=10) == LONGEST_S
