"""What a sink reads back of its output, for `inspect DIR verify`."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from crawler.page import Fetched, PageRecord
from crawler.seams import Sink
from crawler.testing.loops import in_event_loop
from crawler.testing.sink.pages import (
    page,
    record_of,
    write,
    write_failure,
    write_not_modified,
    write_redirect,
    write_unfetched,
)
from crawler.testing.sink.suite import SinkSuite
from crawler.write.descriptor import Written


class ReadingTests(SinkSuite):
    """`read` of a descriptor tells what was written. What it tells otherwise would be told as a problem."""

    @in_event_loop
    async def test_it_reads_back_every_page_that_was_written(self, tmp_path: Path) -> None:
        self.read_written(tmp_path)
        sink = _Remembering(await self.begin_sink(tmp_path))
        for number in (1, 2, 3, 2):
            await write(sink, number)
        await write_redirect(sink, 4)
        await write_not_modified(sink, 5)
        await write_failure(sink, 6)
        await write_unfetched(sink, 7)
        await sink.aclose()
        assert await self._read(tmp_path, sink.records) == sink.written()

    @in_event_loop
    async def test_a_record_without_its_page_is_read_back_as_well(self, tmp_path: Path) -> None:
        """`inspect DIR verify --repair` writes what a sink lacks."""
        self.read_written(tmp_path)
        if self.descriptor is None or not self.descriptor.from_records:
            pytest.skip("it does not say that it needs no pages")
        sink = _Remembering(await self.begin_sink(tmp_path))
        await sink.write(None, record_of(page(1), 1))
        await sink.aclose()
        assert await self._read(tmp_path, sink.records) == sink.written()

    async def _read(self, directory: Path, records: Mapping[int, PageRecord]) -> dict[int, Written]:
        """What was read, by number. A digest that the sink does not keep is taken from the record."""
        found = {row.number: row async for rows in self.read_written(directory) for row in rows}
        for number, row in found.items():
            if row.digest is None and number in records:
                found[number] = msgspec.structs.replace(row, digest=records[number].digest)
        return found


class _Remembering:
    """A sink that keeps the last record of each number, beside another sink."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.records: dict[int, PageRecord] = {}

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        await self._sink.write(page, record)
        self.records[record.number] = record

    async def aclose(self) -> None:
        await self._sink.aclose()

    def written(self) -> dict[int, Written]:
        return {
            number: Written(number, record.url, record.state, record.status, record.digest)
            for number, record in self.records.items()
        }
