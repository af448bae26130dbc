"""What a snapshot of a visited set keeps, and which snapshots a set refuses."""

import errno
import io
import os
import random
from collections.abc import Iterable
from contextlib import aclosing
from pathlib import Path

import pytest

from crawler.testing.loops import in_event_loop
from crawler.testing.visited.making import make as make_described
from crawler.testing.visited.suite import Make, VisitedSetSuite, dump, dump_and_close, load, urls_of
from visited import SnapshotRefused
from visited.backends import descriptors


class FullFile(io.BytesIO):
    """A file on a disk that has space for so many bytes."""

    def __init__(self, space_bytes: int) -> None:
        super().__init__()
        self._space_bytes = space_bytes

    def write(self, data: object, /) -> int:
        size = memoryview(data).nbytes  # type: ignore[arg-type]
        if self.tell() + size > self._space_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(data)  # type: ignore[arg-type]

    def writelines(self, lines: Iterable[object], /) -> None:
        for line in lines:
            self.write(line)


class SnapshotTests(VisitedSetSuite):
    """`dump` and `load`."""

    @in_event_loop
    async def test_a_snapshot_keeps_the_promise(self, make: Make) -> None:
        first = make()
        urls = urls_of(0, 700)
        await first.add_many(urls)
        before = first.describe()
        second = load(make, await dump_and_close(first))
        assert len(second) == 700
        after = second.describe()
        assert (after.count, after.fill) == (before.count, before.fill)
        assert after.false_positive_rate == before.false_positive_rate
        assert after.expected_lost == before.expected_lost
        assert await second.add_many(urls) == [False] * 700
        assert await second.add_many(urls_of(700, 720)) == [True] * 20
        await second.aclose()

    @in_event_loop
    async def test_urls_that_were_added_after_a_snapshot_are_not_in_it(self, make: Make) -> None:
        first = make()
        await first.add_many(urls_of(0, 400))
        file = dump(first)
        await first.add_many(urls_of(400, 1_200))
        await first.aclose()
        second = load(make, file)
        assert len(second) == 400
        assert await second.add_many(urls_of(0, 1_200)) == [False] * 400 + [True] * 800
        await second.aclose()

    @in_event_loop
    async def test_the_empty_set_has_a_snapshot(self, make: Make) -> None:
        visited = load(make, await dump_and_close(make()))
        assert await visited.add_many(urls_of(0, 5)) == [True] * 5
        await visited.aclose()

    @in_event_loop
    async def test_a_load_reads_no_further_than_the_snapshot(self, make: Make) -> None:
        file = io.BytesIO((await _snapshot_of(make, 10)).getvalue() + b"what follows")
        visited = load(make, file)
        assert file.read() == b"what follows"
        await visited.aclose()

    @in_event_loop
    async def test_a_torn_snapshot_is_refused_and_leaves_the_set_empty(self, make: Make) -> None:
        data = (await _snapshot_of(make, 300)).getvalue()
        chance = random.Random(4)
        sizes = {min(size, len(data) - 1) for size in (0, 5, 16, 24, len(data) - 1)}
        for size in [*sizes, *(chance.randrange(len(data)) for _ in range(10))]:
            visited = make()
            await visited.add_many(urls_of(1_000, 1_010))
            with pytest.raises(SnapshotRefused, match=r".+"):
                visited.load(io.BytesIO(data[:size]))
            assert len(visited) == 0
            assert await visited.add_many(urls_of(0, 20)) == [True] * 20
            await visited.aclose()

    @in_event_loop
    async def test_a_snapshot_with_one_changed_byte_is_refused(self, make: Make) -> None:
        data = (await _snapshot_of(make, 300)).getvalue()
        chance = random.Random(5)
        places = {min(place, len(data) - 1) for place in (0, 17, 21, 30, len(data) - 1)}
        for place in [*places, *(chance.randrange(len(data)) for _ in range(20))]:
            damaged = bytearray(data)
            damaged[place] ^= 1 << chance.randrange(8)
            visited = make()
            with pytest.raises(SnapshotRefused, match=r".+"):
                visited.load(io.BytesIO(damaged))
            assert len(visited) == 0
            await visited.aclose()

    @in_event_loop
    async def test_the_snapshot_of_another_backend_is_refused(self, make: Make, tmp_path: Path) -> None:
        async with aclosing(make()) as visited:
            for described in descriptors():
                other = make_described(described, tmp_path / "others" / described.name)
                is_other = other.describe().backend != visited.describe().backend
                file = await dump_and_close(other)
                if is_other:
                    with pytest.raises(SnapshotRefused, match=r".+"):
                        visited.load(file)
                    assert len(visited) == 0

    @in_event_loop
    async def test_a_snapshot_that_finds_no_space_changes_nothing(self, make: Make) -> None:
        first = make()
        await first.add_many(urls_of(0, 300))
        size = len(dump(first).getvalue())
        for space_bytes in (0, size // 2, size - 1):
            with pytest.raises(OSError, match="No space left"):
                first.dump(FullFile(space_bytes))
        assert await first.add_many(urls_of(0, 310)) == [False] * 300 + [True] * 10
        second = load(make, await dump_and_close(first))
        assert await second.add_many(urls_of(0, 320)) == [False] * 310 + [True] * 10
        await second.aclose()


async def _snapshot_of(make: Make, urls: int) -> io.BytesIO:
    visited = make()
    await visited.add_many(urls_of(0, urls))
    return await dump_and_close(visited)
