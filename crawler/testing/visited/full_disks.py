"""What a visited set does while its disk is full."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final

from crawler.testing.disks import file_limits, fill, mounted
from crawler.testing.loops import in_event_loop
from crawler.testing.processes import Report, run_apart
from crawler.testing.visited.suite import VisitedSetSuite, dump_and_close, urls_of
from visited import DiskFull, VisitedSet

_LIMITS: Final = 12
"""Sizes of the largest file, beyond which the disk is full."""
_BATCH: Final = 100
_BATCHES: Final = 20


class FullDiskTests(VisitedSetSuite):
    """While the disk is full, a set answers from memory or fails. Afterwards it goes on, or can be rebuilt."""

    def test_a_disk_that_is_full_at_any_write_makes_no_answer_wrong(self, tmp_path: Path) -> None:
        self.need_files()
        run_apart(self._add_with_limited_files, tmp_path)

    def _add_with_limited_files(self, _report: Report, directory: Path) -> None:
        """No file can grow beyond a limit, which is another one for each set."""
        asyncio.run(self._add_on_full_disk(directory / "unlimited", nullcontext()))
        for number, limit in enumerate(file_limits(directory / "unlimited", _LIMITS)):
            asyncio.run(self._add_on_full_disk(directory / f"{number}", limit))

    @in_event_loop
    async def test_a_disk_that_is_really_full_makes_no_answer_wrong(self, tmp_path: Path) -> None:
        self.need_files()
        with mounted("-o", "size=24m", at=tmp_path / "mount") as mount:
            await self._add_on_full_disk(mount / "set", _filled(mount))

    async def _add_on_full_disk(self, directory: Path, full_disk: AbstractContextManager[None]) -> None:
        adding = _Adding(self.make_set(directory))
        with full_disk:
            for number in range(_BATCHES):
                await adding.add(urls_of(_BATCH * number, _BATCH * (number + 1)))
        if adding.has_failed:
            with suppress(OSError):
                await adding.visited.aclose()
            await _rebuild(self.make_set(directory), adding.known)
            return
        for batch in adding.refused:
            assert await adding.visited.add_many(batch) == [True] * _BATCH, (
                "a call that raised DiskFull changed the set"
            )
        snapshot = await dump_and_close(adding.visited)
        visited = self.make_set(directory)
        visited.load(snapshot)
        assert await visited.add_many(urls_of(0, _BATCH * _BATCHES)) == [False] * _BATCH * _BATCHES
        await visited.aclose()


async def _rebuild(visited: VisitedSet, ledger: Sequence[str]) -> None:
    """As a crawl does with a set that failed."""
    assert len(visited) == 0
    assert await visited.add_many(ledger) == [True] * len(ledger)
    assert await visited.add_many(ledger) == [False] * len(ledger)
    await visited.aclose()


class _Adding:
    """A set to which URLs are added, and what it answered."""

    def __init__(self, visited: VisitedSet) -> None:
        self.visited = visited
        self.known: list[str] = []
        self.refused: list[Sequence[str]] = []
        """Batches for which there was no space."""
        self.has_failed = False
        """Whether it must be rebuilt."""

    async def add(self, batch: Sequence[str]) -> None:
        """Add a batch of new URLs, unless the set has failed before."""
        if self.has_failed:
            return
        try:
            assert await self.visited.add_many(batch) == [True] * len(batch)
        except DiskFull:
            self.refused.append(batch)
        except OSError:
            self.has_failed = True
        else:
            self.known += batch


@contextmanager
def _filled(mount: Path) -> Iterator[None]:
    ballast = fill(mount)
    try:
        yield
    finally:
        ballast.unlink()
