"""Deletes old runs of a schedule, where the configuration says how many to keep."""

import asyncio
import logging
import re
import time
from collections.abc import Callable
from pathlib import Path

from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.serve.life.facts import FINISHED, Facts
from crawler.serve.life.settling import stamp
from crawler.wiring.opening.starting_over import delete_for_good

log = logging.getLogger(__name__)

_STAMP = re.compile(r"\d{8}T\d{6}Z")


class OldRuns:
    """Those of one crawl. A server that has something of them and does not answer holds up nothing but their
    deletion."""

    def __init__(self, pace: Path, *, turns: asyncio.Semaphore, told: Callable[[Path], object]) -> None:
        """The runs kept the pace of hosts by the file `pace`. Each waits for its turn, because a thread deletes it, of
        which the daemon has few. `told` is called with each that was deleted."""
        self._pace, self._turns, self._told = pace, turns, told
        self._facts = Facts()
        self._kept: dict[Path, str] = {}
        """Why those that can't be deleted stay."""
        self._woken = asyncio.Event()

    def look(self, facts: Facts) -> None:
        """Delete those beyond the ones to keep, soon, if none is under way."""
        self._facts = facts
        self._woken.set()

    async def delete_when_due(self) -> None:
        """Ends when it is cancelled."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            if (due := _due(self._facts)) is not None:
                await self._delete(*due)

    async def _delete(self, base: Path, keep: int, last: Path) -> None:
        runs = await asyncio.to_thread(runs_beyond, base, keep=keep, last=last)
        self._kept = {path: why for path, why in self._kept.items() if path in runs}
        for path in runs:
            async with self._turns:
                if _due(self._facts) != (base, keep, last):
                    return  # by now others are to be kept
                why = await asyncio.to_thread(delete_run, path, self._pace)
            if why is None:
                self._told(path)
            elif self._kept.get(path) != why:
                log.warning("an old run can't be deleted: %s", why)
                self._kept[path] = why


def _due(facts: Facts) -> tuple[Path, int, Path] | None:
    """Where the runs are, how many are to be kept, and which is the last one; None if none may be deleted now."""
    plan, rest, place = facts.plan, facts.record.rest, facts.record.place
    if plan is None or plan.next_tick is None or plan.keep_runs is None or place is None:
        return None
    if facts.process is not None or rest is None or rest.why not in FINISHED:
        return None
    return Path(plan.directory), plan.keep_runs, Path(place)


def runs_beyond(base: Path, *, keep: int, last: Path | None = None, now: float | None = None) -> list[Path]:
    """All but the last runs, of which `last` is the last one."""
    present = stamp(time.time() if now is None else now)
    runs = runs_in(base)
    # Runs that seem to lie in the future began before the clock was set back.
    runs.sort(key=lambda path: (path == last, path.name <= present, path.name))
    return runs[:-keep]


def runs_in(base: Path) -> list[Path]:
    """The runs of the schedule of a crawl, in no order; none if the directory can't be read."""
    try:
        return [path for path in base.iterdir() if _STAMP.fullmatch(path.name) and path.is_dir()]
    except OSError:
        return []


def delete_run(path: Path, pace: Path) -> str | None:
    """Delete a run with what it has on servers, but no files of others. Returns why it stays, if it is in use or no
    crawl's."""
    try:
        if path.is_symlink():
            return f"{path} is a link"
        with CrawlDirectory(path) as run:
            delete_for_good(run, pace=pace)
    except (DirectoryRefused, OSError) as error:
        return str(error)
    return None
