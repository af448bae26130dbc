"""What a process that is killed leaves behind, and what another process finds."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Final

from crawler.testing.loops import in_event_loop
from crawler.testing.processes import Report, kill_after, run_apart
from crawler.testing.visited.suite import Make, VisitedSetSuite, urls_of
from visited import SnapshotRefused

_SAVED: Final = 400
"""URLs of the snapshot."""
_BATCH: Final = 50
_KILLED_AFTER: Final = 30
"""Batches after the snapshot."""
_BATCHES: Final = 200
"""More than a process adds before it is killed."""


class CrashTests(VisitedSetSuite):
    """A snapshot is all that is needed to go on, whatever became of the process that saved it."""

    @in_event_loop
    async def test_a_snapshot_is_read_by_another_process(self, make: Make, tmp_path: Path) -> None:
        """A hash that Python seeds anew in each process would betray itself."""
        run_apart(self._save, tmp_path)
        async with aclosing(make()) as visited:
            with _snapshot(tmp_path).open("rb") as file:
                visited.load(file)
            assert await visited.add_many(urls_of(0, 2 * _SAVED)) == [False] * _SAVED + [True] * _SAVED

    def _save(self, _report: Report, directory: Path) -> None:
        async def save() -> None:
            visited = self.make_set(directory)
            await visited.add_many(urls_of(0, _SAVED))
            with _snapshot(directory).open("wb") as file:
                visited.dump(file)
            await visited.aclose()

        asyncio.run(save())

    @in_event_loop
    async def test_after_kill_9_the_snapshot_is_the_state_or_is_refused(self, make: Make, tmp_path: Path) -> None:
        """Files beside the snapshot may be ahead of it. A URL that they know, and no ledger knows, would be lost."""
        self.need_files()
        kill_after(_KILLED_AFTER, self._add_until_killed, tmp_path)
        async with aclosing(make()) as visited:
            known = _SAVED
            try:
                with _snapshot(tmp_path).open("rb") as file:
                    visited.load(file)
            except SnapshotRefused:
                known = 0
            assert len(visited) == known
            total = _SAVED + _BATCH * _BATCHES
            assert await visited.add_many(urls_of(0, total)) == [False] * known + [True] * (total - known)

    @in_event_loop
    async def test_after_kill_9_a_set_that_loads_no_snapshot_is_empty(self, make: Make, tmp_path: Path) -> None:
        self.need_files()
        kill_after(_KILLED_AFTER, self._add_until_killed, tmp_path)
        async with aclosing(make()) as visited:
            assert len(visited) == 0
            assert await visited.add_many(urls_of(0, 5 * _SAVED)) == [True] * (5 * _SAVED)

    def _add_until_killed(self, report: Report, directory: Path) -> None:
        async def add() -> None:
            visited = self.make_set(directory)
            await visited.add_many(urls_of(0, _SAVED))
            with _snapshot(directory).open("wb") as file:
                visited.dump(file)
            for number in range(_BATCHES):
                start = _SAVED + _BATCH * number
                await visited.add_many(urls_of(start, start + _BATCH))
                report(number)
            await asyncio.Event().wait()

        asyncio.run(add())


def _snapshot(directory: Path) -> Path:
    return directory / "snapshot-of-the-test"
