"""The crawl waits before a disk is full."""

import asyncio
from pathlib import Path

from crawler.room import RoomGuard, free_bytes
from tests.unit.frontier.virtual_time import in_virtual_time


@in_virtual_time
async def test_the_crawl_is_held_while_room_is_short_on_one_disk_and_goes_on_when_there_is_enough() -> None:
    free = {Path("/a"): 500, Path("/b"): 300}
    told: list[str] = []
    guard = RoomGuard(
        list(free),
        min_free_bytes=200,
        hold=told.append,
        let_go=lambda: told.append("let go"),
        free=lambda path: free[path],
        every_s=5.0,
    )
    guard.start()
    await asyncio.sleep(20)
    assert told == []
    free[Path("/b")] = 199
    await asyncio.sleep(20)
    assert told == ["199 B free in /b, less than output.min_free_bytes (200 B)"]
    free[Path("/b")] = 210  # not enough to go on with
    await asyncio.sleep(20)
    assert len(told) == 1
    free[Path("/b")] = 221
    await asyncio.sleep(6)
    assert told[1:] == ["let go"]
    free[Path("/a")] = 0
    await asyncio.sleep(6)
    assert told[2].startswith("0 B free in /a")
    guard.close()
    free[Path("/a")] = 1000
    await asyncio.sleep(20)
    assert len(told) == 3


def test_the_free_bytes_of_a_directory_are_told(tmp_path: Path) -> None:
    assert free_bytes(tmp_path) > 0
