"""What a sink does with pages and records."""

import asyncio
from pathlib import Path
from typing import Final

import pytest

from crawler.testing.loops import in_event_loop
from crawler.testing.sink.pages import (
    write,
    write_failure,
    write_not_modified,
    write_redirect,
    write_unfetched,
    write_with_text,
)
from crawler.testing.sink.suite import SinkSuite

STRANGE: Final = ("", "a\0b", "\ud800", "a\udfff\r\n\t\u2028", "\\u0000 '\"<>&;", "e\u0301 \U0001f600 \ufeff\uffff")
"""Texts that a page may have: feeds and data for machines can hold any character, also half of a pair."""


class WritingTests(SinkSuite):
    """A page is in the output when `write` returns."""

    @in_event_loop
    async def test_a_page_can_be_read_before_the_sink_is_closed(self, tmp_path: Path) -> None:
        sink = await self.begin_sink(tmp_path)
        for number in range(20):
            await write(sink, number)
            assert self.read_numbers(tmp_path) == list(range(number + 1))
        await sink.aclose()
        assert self.read_numbers(tmp_path) == list(range(20))

    @in_event_loop
    async def test_a_page_written_again_loses_none(self, tmp_path: Path) -> None:
        """A crawl that was killed writes pages again, with the same numbers. The sink may keep both copies."""
        sink = await self.begin_sink(tmp_path)
        for number in (1, 2, 1):
            await write(sink, number)
        await sink.aclose()
        numbers = self.read_numbers(tmp_path)
        assert set(numbers) == {1, 2}
        assert numbers.count(2) == 1

    @in_event_loop
    async def test_a_sink_opened_again_keeps_the_output_and_goes_on_after_it(self, tmp_path: Path) -> None:
        for number in range(12):
            sink = await self.begin_sink(tmp_path)
            await write(sink, number)
            await sink.aclose()
        assert self.read_numbers(tmp_path) == list(range(12))

    @in_event_loop
    async def test_writers_at_the_same_time_mix_no_records(self, tmp_path: Path) -> None:
        sink = await self.begin_sink(tmp_path)
        await asyncio.gather(*(write(sink, number) for number in range(100)))
        await sink.aclose()
        assert sorted(self.read_numbers(tmp_path)) == list(range(100))

    @in_event_loop
    async def test_closing_twice_is_harmless_and_writing_afterwards_is_an_error(self, tmp_path: Path) -> None:
        sink = await self.begin_sink(tmp_path)
        await write(sink, 1)
        await sink.aclose()
        await sink.aclose()
        with pytest.raises(Exception, match=r"(?i)closed"):
            await write(sink, 2)
        assert self.read_numbers(tmp_path) == [1]

    @in_event_loop
    async def test_urls_without_a_response_are_accepted(self, tmp_path: Path) -> None:
        sink = await self.begin_sink(tmp_path)
        await write_unfetched(sink, 1)
        await write_failure(sink, 2)
        await write(sink, 3)
        await sink.aclose()
        assert 3 in self.read_numbers(tmp_path)

    @in_event_loop
    async def test_responses_without_a_page_are_accepted(self, tmp_path: Path) -> None:
        sink = await self.begin_sink(tmp_path)
        await write_redirect(sink, 1)
        await write_not_modified(sink, 2)
        await write(sink, 3)
        await sink.aclose()
        assert 3 in self.read_numbers(tmp_path)

    @in_event_loop
    async def test_whatever_a_page_says_of_itself_can_be_written(self, tmp_path: Path) -> None:
        """A sink that raises would end the crawl, at a page that anybody can put into the web."""
        sink = await self.begin_sink(tmp_path)
        for number, text in enumerate(STRANGE):
            await write_with_text(sink, number, text)
        await sink.aclose()
        assert self.read_numbers(tmp_path) == list(range(len(STRANGE)))

    @in_event_loop
    async def test_a_cancelled_write_leaves_whole_records(self, tmp_path: Path) -> None:
        sink = await self.begin_sink(tmp_path)
        await write(sink, 1)
        task = asyncio.ensure_future(write(sink, 2))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await write(sink, 3)
        await sink.aclose()
        assert [number for number in self.read_numbers(tmp_path) if number != 2] == [1, 3]

    @in_event_loop
    async def test_a_directory_that_cannot_be_made_is_an_error(self, tmp_path: Path) -> None:
        self.need_files()
        (tmp_path / "file").write_text("in the way")
        with pytest.raises(OSError, match="file"):
            await write(await self.begin_sink(tmp_path / "file" / "output"), 1)
