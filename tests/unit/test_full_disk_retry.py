"""Output that finds no room waits for it."""

import asyncio
import errno
import os
from pathlib import Path

import pytest

from crawler.disk.full_disk_retry import FullDiskRetry, FullDiskSink
from crawler.page import Fetched, PageRecord
from crawler.seams import GivenBack, NotTaken
from crawler.testing.loops import in_virtual_time
from crawler.write.fanout import Sinks
from tests.unit.write.samples import page, record_of


class Disk:
    """A sink that keeps what it is given while it has room."""

    def __init__(self, *, number: int = errno.ENOSPC) -> None:
        self.room: float = float("inf")
        self.kept: list[int] = []
        self.tries = 0
        self._number = number

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        self.tries += 1
        if len(self.kept) >= self.room:
            raise OSError(self._number, os.strerror(self._number), "out.jsonl")
        self.kept.append(record.number)

    async def aclose(self) -> None:
        return


async def write(sink: Sinks, number: int) -> None:
    response = page(number)
    await sink.write(response, record_of(response, number))


def held(told: list[str]) -> FullDiskRetry:
    return FullDiskRetry(pause=told.append, resume=lambda: told.append("resume"), interval_s=2)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@in_virtual_time
async def test_writes_wait_until_all_of_them_have_room_and_each_sink_gets_each_page_once(number: int) -> None:
    told: list[str] = []
    full_disk = held(told)
    archive, lines = Disk(number=number), Disk(number=number)
    sink = Sinks([FullDiskSink(archive, full_disk), FullDiskSink(lines, full_disk)])
    await write(sink, 0)
    lines.room = 1
    writing = [asyncio.ensure_future(write(sink, each)) for each in (1, 2, 3)]
    await asyncio.sleep(11)
    assert told == [f"no space for the output: {os.strerror(number)} (out.jsonl)"]
    assert (archive.kept, lines.kept) == ([0, 1, 2, 3], [0])
    assert lines.tries == 1 + 3 * 6
    lines.room = 3
    await asyncio.sleep(4)
    assert len(told) == 1  # one page has still no room
    lines.room = 9
    await asyncio.gather(*writing)
    assert told[1:] == ["resume"]
    assert sorted(lines.kept) == archive.kept
    await write(sink, 4)
    assert len(told) == 2


@in_virtual_time
async def test_nobody_waits_for_room_once_the_crawl_is_stopped() -> None:
    told: list[str] = []
    full_disk = held(told)
    disk = Disk()
    disk.room = 0
    sink = Sinks([FullDiskSink(disk, full_disk)])
    writing = asyncio.ensure_future(write(sink, 1))
    await asyncio.sleep(1)
    full_disk.stop()
    with pytest.raises(OSError, match="No space left"):
        await writing
    with pytest.raises(OSError, match="No space left"):
        await write(sink, 2)
    assert told[1:] == ["resume"]


@in_virtual_time
async def test_a_write_that_is_given_up_is_not_waited_for() -> None:
    told: list[str] = []
    disk = Disk()
    disk.room = 0
    sink = Sinks([FullDiskSink(disk, held(told))])
    writing = asyncio.ensure_future(write(sink, 1))
    await asyncio.sleep(5)
    writing.cancel()
    await asyncio.wait([writing])
    assert told[1:] == ["resume"]


@in_virtual_time
async def test_what_keeps_a_plug_in_from_writing_is_told_also_without_a_message() -> None:
    told: list[str] = []
    retry = held(told)
    written: list[TimeoutError] = [TimeoutError()]

    async def write_late() -> None:
        if written:
            raise written.pop()

    await retry.write_again(write_late, TimeoutError(), plugin="the sink Late")
    assert told == ["the sink Late can't write: TimeoutError", "resume"]


@in_virtual_time
async def test_a_crawl_that_is_stopped_while_a_plug_in_can_not_write_says_which_and_why() -> None:
    full_disk = held([])
    reasons = ["Connection refused", *["Connection refused; asked again later"] * 8, "No route to host"]

    class Away(Disk):
        async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
            raise ConnectionRefusedError(reasons.pop(0))

    sink = Sinks([FullDiskSink(Away(), full_disk, plugin="the sink Away")])
    writing = [asyncio.ensure_future(write(sink, number)) for number in (1, 2)]
    await asyncio.sleep(5)
    full_disk.stop()
    await asyncio.wait(writing)
    told = "the sink Away can't write: Connection refused; what was saved is kept"
    assert [str(each.exception()) for each in writing] == [told, told]
    with pytest.raises(
        OSError, match=r"^the sink Away can't write: Connection refused; asked again later; what was saved"
    ):
        await write(sink, 3)
    with pytest.raises(OSError, match=r"^the sink Away can't write: No route to host; what was saved"):
        await write(sink, 4)


@in_virtual_time
async def test_each_plug_in_that_a_stopped_crawl_waits_for_is_named_with_its_own_trouble() -> None:
    full_disk = held([])
    broken = {"A": "Connection refused", "B": "No route to host"}

    class Away(Disk):
        def __init__(self, name: str) -> None:
            super().__init__(number=0)
            self.name = name

        async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
            if self.name in broken:
                raise OSError(broken[self.name])

    sinks = [Sinks([FullDiskSink(Away(name), full_disk, plugin=f"the sink {name}")]) for name in "AB"]
    writing = [asyncio.ensure_future(write(sink, 1)) for sink in sinks]
    await asyncio.sleep(5)
    del broken["A"]  # it can write again, and the crawl waits for the other one alone
    await asyncio.sleep(60)
    assert [each.done() for each in writing] == [True, False]
    full_disk.stop()
    await asyncio.wait(writing)
    assert str(writing[1].exception()) == "the sink B can't write: No route to host; what was saved is kept"


async def test_another_trouble_is_not_waited_out(tmp_path: Path) -> None:
    disk = Disk(number=errno.EIO)
    disk.room = 0
    with pytest.raises(OSError, match="Input/output"):
        await write(Sinks([FullDiskSink(disk, held([]))]), 1)


class Choosy(Disk):
    """A sink that takes a page only at the third try."""

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        self.tries += 1
        if self.tries % 3:
            raise NotTaken
        self.kept.append(record.number)


@pytest.mark.parametrize("waits", [True, False])
@in_virtual_time
async def test_a_sink_that_takes_no_page_now_is_told_and_asked_again(waits: bool) -> None:
    told: list[str] = []
    before, choosy = Disk(), Choosy()
    full_disk = held(told)
    wrapped = FullDiskSink(choosy, full_disk, plugin="the sink Choosy", waits=waits)
    await write(Sinks([FullDiskSink(before, full_disk), wrapped]), 1)
    assert (before.kept, choosy.kept, choosy.tries) == ([1], [1], 3)
    assert told == ["the sink Choosy can't write: it takes no page now", "resume"]


@in_virtual_time
async def test_what_is_not_taken_is_handed_back_once_the_crawl_is_stopped() -> None:
    full_disk = held([])
    full_disk.stop()
    with pytest.raises(NotTaken):
        await write(Sinks([FullDiskSink(Choosy(), full_disk, plugin="the sink Choosy")]), 1)


@in_virtual_time
async def test_nothing_waits_for_a_page_that_is_given_back() -> None:
    class Gone(Disk):
        async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
            raise GivenBack

    told: list[str] = []
    with pytest.raises(GivenBack):
        await write(Sinks([FullDiskSink(Gone(), held(told), plugin="the sink Gone")]), 1)
    assert told == []
