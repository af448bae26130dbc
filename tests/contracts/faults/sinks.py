"""Sinks with one fault each."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

from crawler.page import Failure, Fetched, Page, PageRecord
from crawler.seams import Sink
from crawler.testing import SinkContract
from crawler.write.descriptor import FILES, Descriptor, Parameters, Written


class LineSink:
    """A correct sink: it writes a line of numbers for each page, and takes back a line that does not fit."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.file = os.open(directory / "lines", os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self.is_closed = False
        # A process that was killed may have left a part of a line.
        content = os.pread(self.file, 1 << 30, 0)
        os.ftruncate(self.file, content.rfind(b"\n") + 1)

    async def write(self, _page: Fetched | None, record: PageRecord, /) -> None:
        if self.is_closed:
            raise ValueError("the sink is closed")
        size = os.fstat(self.file).st_size
        line = f"{record.number} {record.url * 3}\n".encode()
        try:
            await self.put(line)
        except OSError:
            self.take_back(size)
            raise

    async def put(self, line: bytes) -> None:
        while line:
            line = line[os.write(self.file, line) :]

    def take_back(self, size_bytes: int) -> None:
        os.ftruncate(self.file, size_bytes)

    async def aclose(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            os.close(self.file)


class LineContract(SinkContract):
    def open_sink(self, directory: Path) -> Sink:
        return LineSink(directory)

    def read_numbers(self, directory: Path) -> list[int]:
        lines = (directory / "lines").read_text().splitlines() if (directory / "lines").exists() else []
        for line in lines:
            number, _, rest = line.partition(" ")
            assert rest.endswith(f"/page/{number}?a=b"), f"{line!r} is not a whole line"
        return [int(line.partition(" ")[0]) for line in lines]


class TestGood(LineContract):
    FAILS = ()


class HalfRecords(LineSink):
    def take_back(self, size_bytes: int) -> None: ...


class TestHalfRecords(LineContract):
    FAILS = (
        "test_a_disk_that_is_full_at_any_write_costs_only_the_page_that_does_not_fit",
        "test_a_disk_that_is_really_full_costs_only_the_page_that_does_not_fit",
    )

    def open_sink(self, directory: Path) -> Sink:
        return HalfRecords(directory)


class Buffered(LineSink):
    """Writes ten lines at a time."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.lines: list[bytes] = []

    async def put(self, line: bytes) -> None:
        self.lines.append(line)
        if len(self.lines) == 10:
            await self.flush()

    async def flush(self) -> None:
        await super().put(b"".join(self.lines))
        self.lines = []

    async def aclose(self) -> None:
        if not self.is_closed:
            await self.flush()
        await super().aclose()


class TestBuffered(LineContract):
    FAILS = (
        "test_a_page_can_be_read_before_the_sink_is_closed",
        "test_a_sink_that_was_never_closed_can_be_opened_again",
        "test_kill_9_loses_no_page_that_was_written",
    )

    def open_sink(self, directory: Path) -> Sink:
        return Buffered(directory)


class Interleaving(LineSink):
    """Lets others write between the two halves of a line."""

    async def put(self, line: bytes) -> None:
        await super().put(line[:10])
        await asyncio.sleep(0)
        await super().put(line[10:])


class TestInterleaving(LineContract):
    FAILS = ("test_writers_at_the_same_time_mix_no_records", "test_a_cancelled_write_leaves_whole_records")

    def open_sink(self, directory: Path) -> Sink:
        return Interleaving(directory)


class Overwriting(LineSink):
    """Begins anew each time."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        os.ftruncate(self.file, 0)


class TestOverwriting(LineContract):
    FAILS = ("test_a_sink_opened_again_keeps_the_output_and_goes_on_after_it",)

    def open_sink(self, directory: Path) -> Sink:
        return Overwriting(directory)


class Silent(LineSink):
    """Takes no notice of a full disk."""

    async def put(self, line: bytes) -> None:
        try:
            await super().put(line)
        except OSError:
            self.take_back(os.fstat(self.file).st_size - os.fstat(self.file).st_size % len(line))


class TestSilent(LineContract):
    FAILS = ("test_a_disk_that_is_full_at_any_write_costs_only_the_page_that_does_not_fit",)

    def open_sink(self, directory: Path) -> Sink:
        return Silent(directory)


class NeverClosed(LineSink):
    async def aclose(self) -> None: ...


class TestNeverClosed(LineContract):
    FAILS = ("test_closing_twice_is_harmless_and_writing_afterwards_is_an_error",)

    def open_sink(self, directory: Path) -> Sink:
        return NeverClosed(directory)


class PagesAlone(LineSink):
    """Takes every response for one with a body."""

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        assert page is None or isinstance(page, Page | Failure)
        await super().write(page, record)


class TestPagesAlone(LineContract):
    FAILS = ("test_responses_without_a_page_are_accepted",)

    def open_sink(self, directory: Path) -> Sink:
        return PagesAlone(directory)


class Strict(LineSink):
    """Takes every text for one that can be encoded."""

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        (record.title or "").encode()
        await super().write(page, record)


class TestStrict(LineContract):
    FAILS = ("test_whatever_a_page_says_of_itself_can_be_written",)

    def open_sink(self, directory: Path) -> Sink:
        return Strict(directory)


async def read_pages_alone(parameters: Parameters, _: object) -> AsyncIterator[list[Written]]:
    """Tells only of what has a body."""
    assert parameters.directory is not None
    rows = [line.split() for line in (parameters.directory / "lines").read_text().splitlines()]
    yield [Written(int(number), url[: len(url) // 3], "done", 200, None) for number, url in rows if int(number) < 4]


class TestReadsPagesAlone(LineContract):
    FAILS = ("test_it_reads_back_every_page_that_was_written",)
    descriptor = Descriptor(
        name="lines",
        make=lambda parameters, _: LineSink(parameters.directory or Path()),
        needs=FILES,
        read=read_pages_alone,
        from_records=True,
    )
    open_sink = SinkContract.open_sink
