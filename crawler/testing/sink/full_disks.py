"""What a sink does while its disk is full."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Final

from crawler.seams import Sink
from crawler.testing.disks import file_limits, mounted
from crawler.testing.loops import in_event_loop
from crawler.testing.processes import Report, run_apart
from crawler.testing.sink.pages import write
from crawler.testing.sink.suite import SinkSuite

_LIMITS: Final = 8
"""Sizes of the largest file, beyond which the disk is full."""
_PAGES: Final = 20
_MOST_PAGES: Final = 100_000
"""More than fit onto the small disk."""


class FullDiskTests(SinkSuite):
    """A page that does not fit raises an error, leaves nothing behind, and can be written again."""

    def test_a_disk_that_is_full_at_any_write_costs_only_the_page_that_does_not_fit(self, tmp_path: Path) -> None:
        self.need_files()
        reports = run_apart(self._write_with_limited_files, tmp_path)
        assert any(reports), "no page was refused"

    def _write_with_limited_files(self, report: Report, directory: Path) -> None:
        """No file can grow beyond a limit, which is another one for each sink."""
        asyncio.run(self._write_on_full_disk(directory / "unlimited", nullcontext()))
        for number, limit in enumerate(file_limits(directory / "unlimited", _LIMITS)):
            report(asyncio.run(self._write_on_full_disk(directory / f"{number}", limit)))

    async def _write_on_full_disk(self, directory: Path, full_disk: AbstractContextManager[None]) -> int:
        """Write pages on a disk that is full, and then is not. Returns how many pages were refused."""
        directory.mkdir()
        written: list[int] = []
        with full_disk:
            sink = await self._try_to_open(directory)
            if sink is not None:
                written = [number for number in range(_PAGES) if await _is_written(sink, number)]
                assert sorted(self.read_numbers(directory)) == written
        refused = [number for number in range(_PAGES) if number not in written]
        sink = await self._go_on(sink, directory, refused)
        await sink.aclose()
        assert sorted(self.read_numbers(directory)) == list(range(_PAGES))
        return len(refused)

    @in_event_loop
    async def test_a_disk_that_is_really_full_costs_only_the_page_that_does_not_fit(self, tmp_path: Path) -> None:
        self.need_files()
        with mounted("-o", "size=1m", at=tmp_path / "mount") as mount:
            ballast = mount / "ballast"
            ballast.write_bytes(bytes(600_000))
            output = mount / "output"
            sink = await self.begin_sink(output)
            number = 0
            while number < _MOST_PAGES and await _is_written(sink, number):
                number += 1
            assert 0 < number < _MOST_PAGES
            assert self.read_numbers(output) == list(range(number))
            ballast.unlink()
            sink = await self._go_on(sink, output, [number])
            await sink.aclose()
            assert self.read_numbers(output) == list(range(number + 1))

    async def _try_to_open(self, directory: Path) -> Sink | None:
        """None if the disk is too full to open a sink."""
        try:
            return await self.begin_sink(directory)
        except OSError:
            return None

    async def _go_on(self, sink: Sink | None, directory: Path, numbers: Sequence[int]) -> Sink:
        """Write pages, now that there is space. A sink that failed may have to be opened again for that."""
        for number in numbers:
            if sink is None or not await _is_written(sink, number):
                if sink is not None:
                    with suppress(OSError):
                        await sink.aclose()
                sink = await self.begin_sink(directory)
                await write(sink, number)
        return sink or await self.begin_sink(directory)


async def _is_written(sink: Sink, number: int) -> bool:
    try:
        await write(sink, number)
    except OSError:
        return False
    return True
