"""The crawl waits before a disk is full."""

import asyncio
import errno
import os
from pathlib import Path

import pytest

from crawler.disk.directory import CrawlDirectory
from crawler.disk.free_space import FreeSpaceGuard, free_bytes, one_on_each_disk
from crawler.disk.used_space import growing_folders
from crawler.testing.loops import in_virtual_time


@in_virtual_time
async def test_the_crawl_is_held_while_room_is_short_on_one_disk_and_goes_on_when_there_is_enough() -> None:
    free = {Path("/a"): 500, Path("/b"): 300}
    told: list[str] = []
    guard = FreeSpaceGuard(
        list(free),
        min_free_bytes=200,
        pause=told.append,
        resume=lambda: told.append("resume"),
        free=lambda path: free[path],
        interval_s=5.0,
    )
    async with guard.running():
        await asyncio.sleep(20)
        assert told == []
        free[Path("/b")] = 199
        await asyncio.sleep(20)
        assert told == ["199 B free in /b, less than output.min_free_bytes (200 B)"]
        free[Path("/b")] = 150  # who looks how it is reads what is so now
        await asyncio.sleep(20)
        assert told[1:] == ["150 B free in /b, less than output.min_free_bytes (200 B)"]
        free[Path("/b")] = 210  # not enough to go on with
        await asyncio.sleep(20)
        assert told[2:] == ["210 B free in /b; it goes on when 220 B are, a tenth more than output.min_free_bytes"]
        free[Path("/b")] = 221
        await asyncio.sleep(6)
        assert told[3:] == ["resume"]
        free[Path("/a")] = 0
        await asyncio.sleep(6)
        assert told[4].startswith("0 B free in /a")
    free[Path("/a")] = 1000
    await asyncio.sleep(20)
    assert len(told) == 5


@in_virtual_time
async def test_a_disk_that_cannot_be_asked_for_a_while_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    free: dict[Path, int | OSError] = {Path("/a"): 500, Path("/b"): 300}
    told: list[str] = []

    def ask(path: Path) -> int:
        answer = free[path]
        if isinstance(answer, OSError):
            raise answer
        return answer

    stale = OSError(errno.ESTALE, os.strerror(errno.ESTALE), "/b")
    free[Path("/b")] = stale
    guard = FreeSpaceGuard(
        list(free),
        min_free_bytes=200,
        pause=told.append,
        resume=lambda: told.append("resume"),
        free=ask,
        interval_s=5.0,
    )
    async with guard.running():
        await asyncio.sleep(20)
        assert told == []
        free[Path("/a")] = 100  # the other disk is looked at all the same
        await asyncio.sleep(6)
        assert told == ["100 B free in /a, less than output.min_free_bytes (200 B)"]
        free[Path("/a")] = 500
        await asyncio.sleep(60)
        assert len(told) == 1  # nobody knows whether there is room
        free[Path("/b")] = 300
        await asyncio.sleep(6)
        assert told[1:] == ["resume"]
        free[Path("/b")] = stale
        await asyncio.sleep(6)
    warnings = [record.getMessage() for record in caplog.records if "is not known" in record.getMessage()]
    assert len(warnings) == 2  # one for each time that it began
    assert "/b" in warnings[0]
    assert os.strerror(errno.ESTALE) in warnings[0]


def test_the_free_bytes_of_a_directory_are_told(tmp_path: Path) -> None:
    assert free_bytes(tmp_path) > 0


def test_a_folder_that_is_linked_to_another_disk_is_watched_too(tmp_path: Path) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs a second disk: /dev/shm")
    directory = CrawlDirectory(tmp_path)
    directory.records.mkdir()
    directory.warc.symlink_to(memory)
    directory.sinks.symlink_to(tmp_path / "missing")
    assert one_on_each_disk(growing_folders(directory)) == [tmp_path, directory.warc]
