"""A database that has met a full disk, or is compacted in a thread, while it is to be opened again or closed."""

import asyncio
import errno
import os
import threading
from pathlib import Path

import pytest

from crawler.testing.frontier.crawls import DONE, drain, next_lease, now, page, turns
from crawler.testing.loops import in_virtual_time
from crawler.testing.timeouts import MAX_WAIT_S
from frontier.leveldb.database import SystemCalls
from frontier.leveldb.store import LevelDBStore
from frontier.shell import QueueFrontier
from frontier.snapshots.saving import Snapshots
from frontier.terms import Terms
from tests.full_disk import no_space
from tests.unit.frontier.crawls import IDENTITY, check
from tests.unit.frontier.disk import Disk
from visited.digests.exact import ExactSet


class Gate(Disk):
    """A disk on which compactions wait for `may_end`. What is closed under one is not closed: it might crash."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.may_end = threading.Event(), threading.Event()
        self.running = self.closed_under_one = 0

    def compact_range(self, *, start: bytes, stop: bytes) -> None:
        self.running += 1
        self.began.set()
        assert self.may_end.wait(MAX_WAIT_S)
        self._db.compact_range(start=start, stop=stop)
        self.running -= 1

    def close(self) -> None:
        self.closed_under_one += self.running
        if not self.running:
            self._db.close()


async def compacting(gate: Gate, directory: Path) -> tuple[LevelDBStore, QueueFrontier]:
    """A frontier whose giant queue is being compacted."""
    store = LevelDBStore(
        directory / "frontier", Terms(identity=IDENTITY), compact_after=5, calls=SystemCalls(open_database=gate.open)
    )
    frontier = await QueueFrontier.open(store, ExactSet(), snapshots=Snapshots(directory / "visited"), now=now)
    await frontier.add([page("giant", f"{number}") for number in range(30)])
    for _ in range(12):
        await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=DONE)
    assert gate.began.wait(MAX_WAIT_S)
    return store, frontier


@in_virtual_time
async def test_a_store_that_found_no_room_is_not_opened_again_under_a_compaction(tmp_path: Path) -> None:
    gate = Gate()
    store, frontier = await compacting(gate, tmp_path)
    gate.is_full = True
    adding = asyncio.ensure_future(frontier.add([page("other")]))
    await asyncio.sleep(5)
    gate.is_full = False
    await asyncio.sleep(60)
    assert not adding.done()
    assert gate.closed_under_one == 0
    gate.may_end.set()
    store._compaction._thread.submit(int).result()
    assert await adding == 1
    assert gate.closed_under_one == 0
    assert len(await drain(frontier)) == 19
    await frontier.aclose()
    await check(tmp_path)


@in_virtual_time
async def test_a_store_is_not_closed_under_a_compaction(tmp_path: Path) -> None:
    gate = Gate()
    _, frontier = await compacting(gate, tmp_path)
    threading.Timer(0.2, gate.may_end.set).start()
    await frontier.aclose()
    assert (gate.running, gate.closed_under_one) == (0, 0)
    await check(tmp_path)


@in_virtual_time
async def test_a_store_whose_log_is_in_doubt_is_tried_again_until_it_opens(tmp_path: Path) -> None:
    """It was closed, and found no room to be opened again: nothing is left in memory that could be written anew."""
    gate = Gate()
    gate.may_end.set()
    syncs = True

    def sync(descriptor: int) -> None:
        if not syncs:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)

    store = LevelDBStore(
        tmp_path / "frontier",
        Terms(identity=IDENTITY),
        durability="power",
        calls=SystemCalls(open_database=gate.open, sync_file=sync),
    )
    frontier = await QueueFrontier.open(store, ExactSet(), now=now)
    syncs = False
    adding = asyncio.ensure_future(frontier.add([page("a")]))
    while frontier.describe().paused is None:
        await turns(1)
    gate.is_full = True
    await asyncio.sleep(20)
    assert gate.opened > 2
    gate.is_full, syncs = False, True
    assert await adding == 1
    await frontier.aclose()
    await check(tmp_path)


@in_virtual_time
async def test_a_store_with_too_little_room_to_go_on_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()
    store = LevelDBStore(tmp_path / "frontier", Terms(identity=IDENTITY), calls=SystemCalls(open_database=gate.open))
    frontier = await QueueFrontier.open(store, ExactSet(), now=now)
    allocate = os.posix_fallocate

    monkeypatch.setattr(os, "posix_fallocate", no_space)
    gate.is_full = True
    adding = asyncio.ensure_future(frontier.add([page("a")]))
    await asyncio.sleep(60)
    gate.is_full = False  # but little is free
    await asyncio.sleep(60)
    assert not adding.done()
    assert "to go on, the frontier needs 64 MiB of free space, and " in (frontier.describe().paused or "")
    assert [each.levelname for each in caplog.records if "64 MiB" in each.getMessage()] == ["WARNING"]
    monkeypatch.setattr(os, "posix_fallocate", allocate)
    assert await adding == 1
    assert frontier.describe().paused is None
    await frontier.aclose()
