"""What a process that is killed leaves in the output."""

import asyncio
import contextlib
from pathlib import Path
from typing import Final

from crawler.testing.loops import in_event_loop
from crawler.testing.processes import Report, kill_after
from crawler.testing.sink.pages import write
from crawler.testing.sink.suite import SinkSuite

_KILLED_AFTER: Final = (1, 60)
"""Pages, after which a process is killed."""
_PAGES: Final = 1_000_000
"""More than a process writes before it is killed."""


class CrashTests(SinkSuite):
    """A page is in the output when `write` has returned, whatever happens to the process then."""

    @in_event_loop
    async def test_a_sink_that_was_never_closed_can_be_opened_again(self, tmp_path: Path) -> None:
        sinks = []
        for number in range(5):
            sinks.append(await self.begin_sink(tmp_path))
            await write(sinks[-1], number)
        assert self.read_numbers(tmp_path) == list(range(5))
        await sinks.pop().aclose()
        for sink in sinks:
            with contextlib.suppress(OSError):  # the next one may have renamed its files
                await sink.aclose()

    @in_event_loop
    async def test_kill_9_loses_no_page_that_was_written(self, tmp_path: Path) -> None:
        written: set[int] = set()
        for life, pages in enumerate(_KILLED_AFTER):
            written.update(kill_after(pages, self._write_until_killed, tmp_path, life * _PAGES))
        last = len(_KILLED_AFTER) * _PAGES
        sink = await self.begin_sink(tmp_path)
        await write(sink, last)
        await sink.aclose()
        numbers = self.read_numbers(tmp_path)
        assert numbers[-1] == last
        assert written - set(numbers) == set(), "pages were written, and are lost"
        # Each process may have written one page without having been able to say so.
        assert len(set(numbers) - written - {last}) <= len(_KILLED_AFTER)

    def _write_until_killed(self, report: Report, directory: Path, first: int) -> None:
        async def work() -> None:
            sink = await self.begin_sink(directory)
            for number in range(first, first + _PAGES):
                await write(sink, number)
                report(number)

        asyncio.run(work())
