"""A disk without room makes no set err, and nothing that it has taken is lost."""

import asyncio
import errno
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import plyvel
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from crawler.testing.disks import fill, mounted
from crawler.testing.frontier.crawls import pages
from crawler.testing.loops import in_virtual_time
from crawler.testing.visited.random_calls import LENGTHS, SHORT, STARTS, SetMachine, run_random_calls
from crawler.testing.visited.random_calls import some_urls as urls_of
from frontier import StoreFull
from tests.unit.frontier.crawls import Crawl
from tests.unit.visited.sets import dumped
from visited import DiskFull, VisitedSet
from visited.digests.exact import ExactSet
from visited.digests.exact_leveldb import LevelDBSet
from visited.splitting.splitting_set import SplittingSet
from visited.wrappers.sharded import ShardedSet

ON_DISK: dict[str, Callable[[Path], VisitedSet]] = {
    "exact": lambda directory: LevelDBSet(directory / "exact", spill=100),
    "dsbf": lambda directory: SplittingSet(
        capacity=300, error_rate=1e-9, directory=directory / "dsbf", leaf_bits=1 << 13
    ),
    "lists": lambda directory: SplittingSet(
        capacity=300,
        error_rate=1e-9,
        directory=directory / "dsbf",
        leaf_bits=1 << 13,
        split_at="count",
        lists="urls",
    ),
}
WITH_DISK = pytest.mark.parametrize("make", ON_DISK.values(), ids=ON_DISK)


@WITH_DISK
async def test_a_set_goes_on_in_memory_until_there_is_room(tmp_path: Path, make: Callable[[Path], VisitedSet]) -> None:
    with mounted("-o", "size=24m", at=tmp_path / "mount") as mount:
        visited = make(mount)
        assert all(await visited.add_many(urls_of(0, 5_000)))
        before = visited.describe()
        ballast = fill(mount)
        for start in range(5_000, 25_000, 100):
            assert all(await visited.add_many(urls_of(start, 100)))
        full = visited.describe()
        assert full.disk_bytes < before.disk_bytes + 4 * 4096
        assert full.memory_bytes > before.memory_bytes + 20_000 * 8
        while_full = dumped(visited)
        ballast.unlink()
        for start in range(25_000, 45_000, 1_000):
            assert all(await visited.add_many(urls_of(start, 1_000)))
        assert visited.describe().disk_bytes > before.disk_bytes + 39_000 * 8
        assert not any(await visited.add_many(urls_of(0, 45_000)))
        last = dumped(visited)
        await visited.aclose()
        for snapshot, count in ((last, 45_000), (while_full, 25_000)):
            again = make(mount)
            again.load(BytesIO(snapshot))
            assert await again.add_many(urls_of(0, 50_000)) == [False] * count + [True] * (50_000 - count)
            await again.aclose()


@WITH_DISK
@in_virtual_time
async def test_a_crawl_whose_set_finds_no_room_waits_as_for_its_store(
    tmp_path: Path, make: Callable[[Path], VisitedSet]
) -> None:
    with mounted("-o", "size=100m", at=tmp_path / "mount") as mount:
        crawl = Crawl(mount / "crawl")
        frontier = await crawl.open(visited=make(mount))
        assert await frontier.add(pages(10, 50)) == 500
        ballast = fill(mount)
        adding = asyncio.ensure_future(frontier.add(pages(10, 500)))
        await asyncio.sleep(60)
        assert "No space left" in (frontier.describe().paused or "")
        assert not adding.done()
        ballast.unlink()
        assert await adding == 4_500
        assert frontier.describe().paused is None
        await frontier.aclose()
        await crawl.visited.aclose()
        async with crawl.opened(visited=make(mount)) as again:
            assert await again.add(pages(10, 501)) == 10
            await crawl.visited.aclose()
        assert crawl.fsck().problems == []


class Disk:
    """Stands before LevelDB and before writes to a file. What fails may be in LevelDB's log all the same, and in a file
    in part."""

    def __init__(self) -> None:
        self.is_full = False
        self.is_taken = False
        """Whenever LevelDB is to be opened, somebody else was faster."""
        self._failed = 0

    @contextmanager
    def full(self) -> Iterator[None]:
        self.is_full = True
        try:
            yield
        finally:
            self.is_full = False

    @contextmanager
    def taken(self) -> Iterator[None]:
        self.is_taken = True
        try:
            yield
        finally:
            self.is_taken = False

    def refuse(self) -> None:
        if self.is_full:
            self._failed += 1
            raise plyvel.IOError(b"IO error: 000003.log: No space left on device")

    @property
    def is_late(self) -> bool:
        return self._failed % 2 == 1

    def open(self, directory: Path) -> Any:
        if self.is_taken:
            with self.full():
                self.refuse()
        self.refuse()
        return Database(self, plyvel.DB(str(directory), create_if_missing=True))

    def pwrite(self, descriptor: int, data: memoryview, offset: int) -> int:
        if not self.is_full:
            return WRITE(descriptor, data, offset)
        self._failed += 1
        WRITE(descriptor, data[: len(data) // 2], offset)
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    def fallocate(self, _descriptor: int, _offset: int, _size: int) -> None:
        self.refuse()


WRITE = os.pwrite


class Database:
    def __init__(self, disk: Disk, db: Any) -> None:
        self._disk = disk
        self._db = db
        self._in_log: Any = None
        """What was to be written when it failed, and is found when the log is read again."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    @contextmanager
    def write_batch(self, *, transaction: bool) -> Iterator[Any]:
        assert transaction
        batch = self._db.write_batch()
        yield batch
        if not self._disk.is_full:
            batch.write()
        elif self._disk.is_late:
            self._in_log = batch
        self._disk.refuse()

    def put(self, key: bytes, value: bytes) -> None:
        self._disk.refuse()
        self._db.put(key, value)

    def close(self) -> None:
        if self._in_log is not None:
            self._in_log.write()
        self._in_log = None
        self._db.close()


class FullMachine(SetMachine):
    """A set on a disk that is full at times."""

    disk: Disk

    @rule(batches=st.lists(st.tuples(STARTS, LENGTHS), max_size=4), dumps=st.booleans())
    def go_on_while_it_is_full(self, batches: list[tuple[int, int]], dumps: bool) -> None:
        self.call(self.visited.add_many([]))  # it is there
        with self.disk.full():
            for start, length in batches:
                self.check_add(urls_of(start, length))
            if dumps:
                self.dump()

    @precondition(lambda self: self.can_forget)
    @rule(start=STARTS)
    def forget_while_it_is_full(self, start: int) -> None:
        self.call(self.visited.add_many([]))
        with self.disk.full():
            self.forget(start, 10)

    @rule(batches=st.lists(st.tuples(STARTS, LENGTHS), max_size=4), forgets=st.booleans(), dumps=st.booleans())
    def go_on_while_it_can_not_be_opened(self, batches: list[tuple[int, int]], forgets: bool, dumps: bool) -> None:
        """Nothing is remembered or forgotten, or all."""
        self.go_on_while_it_is_full([(0, 250), (250, 250), (500, 250)], False)
        with self.disk.taken():
            for start, length in batches:
                with suppress(DiskFull):
                    self.check_add(urls_of(start, length))
                with suppress(DiskFull):
                    if forgets and self.can_forget:
                        self.forget(start, 10)
            if dumps:
                self.dump()


@pytest.mark.parametrize("name", ON_DISK)
def test_it_is_a_set_whatever_happens_on_a_disk_that_is_full_at_times(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk()
    monkeypatch.setattr(os, "pwrite", disk.pwrite)
    monkeypatch.setattr(os, "posix_fallocate", disk.fallocate)

    def make(directory: Path) -> VisitedSet:
        if name == "exact":
            return LevelDBSet(directory / "exact", spill=100, open_database=disk.open)
        return ON_DISK[name](directory)

    machine = type("MachineOnDisk", (FullMachine,), {"disk": disk})
    run_random_calls(make, settings(SHORT, max_examples=10, stateful_step_count=25), machine=machine)


@in_virtual_time
async def test_a_crawl_whose_set_can_not_be_opened_again_waits_for_room(tmp_path: Path) -> None:
    disk = Disk()

    def made() -> VisitedSet:
        return LevelDBSet(tmp_path / "set", spill=100, open_database=disk.open)

    crawl = Crawl(tmp_path / "crawl")
    frontier = await crawl.open(visited=made())
    assert await frontier.add(pages(10, 50)) == 500
    with disk.full():
        assert await frontier.add(pages(10, 100)) == 500
    with disk.taken():
        assert await frontier.add(pages(10, 150)) == 500
        adding = asyncio.ensure_future(frontier.add(pages(10, 200)))
        await asyncio.sleep(60)
        assert "No space left" in (frontier.describe().paused or "")
        assert not adding.done()
    assert await adding == 500
    assert frontier.describe().paused is None
    with disk.full():
        assert await frontier.add(pages(10, 250)) == 500
    with disk.taken():
        assert await frontier.add(pages(10, 300)) == 500
        adding = asyncio.ensure_future(frontier.add(pages(10, 350)))
        await asyncio.sleep(60)
        await frontier.aclose()
        with pytest.raises(StoreFull):
            await adding
    await crawl.visited.aclose()
    async with crawl.opened(visited=made()) as again:
        assert await again.add(pages(10, 350)) == 500
        await crawl.visited.aclose()
    assert crawl.fsck().problems == []


@in_virtual_time
async def test_a_crawl_that_ends_before_its_set_finds_room_to_begin_is_closed(tmp_path: Path) -> None:
    disk = Disk()
    crawl = Crawl(tmp_path / "crawl")
    frontier = await crawl.open(visited=LevelDBSet(tmp_path / "set", open_database=disk.open))
    with disk.full():
        adding = asyncio.ensure_future(frontier.add(pages(1, 5)))
        await asyncio.sleep(60)
        await frontier.aclose()
        with pytest.raises(StoreFull):
            await adding
    with closing(crawl.store()) as store:
        assert not store.marks.in_use
    async with crawl.opened(visited=LevelDBSet(tmp_path / "set")) as again:
        assert await again.add(pages(1, 5)) == 5
        await crawl.visited.aclose()
    assert crawl.fsck().problems == []


@in_virtual_time
async def test_a_set_that_was_not_asked_to_the_end_is_not_said_to_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = Disk()
    crawl = Crawl(tmp_path / "crawl")
    frontier = await crawl.open(visited=LevelDBSet(tmp_path / "set", open_database=disk.open))
    with disk.full():
        adding = asyncio.ensure_future(frontier.add(pages(1, 5)))
        await asyncio.sleep(60)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        await frontier.aclose()
    assert "the crawl waits" in caplog.text
    assert "the crawl goes on" not in caplog.text


async def test_a_store_whose_room_is_taken_while_it_is_opened_again_loses_nothing(tmp_path: Path) -> None:
    with mounted("-o", "size=24m", at=tmp_path / "mount") as mount:
        is_raced = False

        def opened(directory: Path) -> plyvel.DB:
            if is_raced:
                fill(mount)
            return plyvel.DB(str(directory), create_if_missing=True)

        visited = LevelDBSet(mount / "exact", spill=100, open_database=opened)
        assert all(await visited.add_many(urls_of(0, 5_000)))
        ballast = fill(mount)
        for start in range(5_000, 8_000, 100):
            assert all(await visited.add_many(urls_of(start, 100)))
        assert await visited.forget_many(urls_of(0, 1_000)) == 1_000
        ballast.unlink()
        is_raced = True
        assert all(await visited.add_many(urls_of(8_000, 500)))
        with pytest.raises(DiskFull, match="No space left"):
            await visited.add_many(urls_of(8_500, 500))
        with pytest.raises(DiskFull):
            await visited.forget_many(urls_of(1_000, 500))
        snapshot = dumped(visited)
        is_raced = False
        ballast.unlink()
        assert await visited.add_many(urls_of(0, 9_000)) == [True] * 1_000 + [False] * 7_500 + [True] * 500
        await visited.aclose()
        again = LevelDBSet(mount / "exact", spill=100)
        again.load(BytesIO(snapshot))
        assert await again.add_many(urls_of(0, 9_000)) == [True] * 1_000 + [False] * 7_500 + [True] * 500
        await again.aclose()


async def test_a_store_that_finds_no_room_to_begin_can_begin_later(tmp_path: Path) -> None:
    disk = Disk()
    visited = LevelDBSet(tmp_path / "set", spill=100, open_database=disk.open)
    with disk.full(), pytest.raises(DiskFull, match="No space left"):
        await visited.add_many(urls_of(0, 50))
    assert len(visited) == 0
    assert await visited.add_many(urls_of(0, 500)) == [True] * 500
    snapshot = dumped(visited)
    await visited.aclose()
    again = LevelDBSet(tmp_path / "set", spill=100)
    again.load(BytesIO(snapshot))
    assert await again.add_many(urls_of(0, 600)) == [False] * 500 + [True] * 100
    await again.aclose()


async def test_shards_that_took_their_part_before_one_found_no_room_forget_it(tmp_path: Path) -> None:
    disk = Disk()
    visited = ShardedSet([ExactSet(), LevelDBSet(tmp_path / "set", open_database=disk.open), ExactSet()])
    with disk.full(), pytest.raises(DiskFull):
        await visited.add_many(urls_of(0, 100))
    assert len(visited) == 0
    assert all(await visited.add_many(urls_of(0, 100)))
    await visited.aclose()


async def test_another_trouble_of_the_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    visited = ON_DISK["dsbf"](tmp_path)
    monkeypatch.setattr(os, "pwrite", fail)
    with pytest.raises(OSError, match="Input/output"):
        await visited.add_many(urls_of(0, 1_000))
    await visited.aclose()
