"""The histories of all crawls of a daemon."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from crawler.control.replies import CrawlStatus
from crawler.serve.machine import Taken, free_bytes, measure_alone
from crawler.serve.measure.history import History, Readings, pids_of_parts
from crawler.serve.measure.tiers import Window

log = logging.getLogger(__name__)


class Recorder:
    """Keeps a history of each crawl, in a folder. A full disk costs samples, and nothing else."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        self._histories: dict[str, History] = {}
        self._turn = asyncio.Lock()
        self._failing: set[str] = set()

    def readings(self, name: str) -> Readings:
        """How a crawl stood when it was seen last."""
        history = self._histories.get(name)
        return Readings() if history is None else history.readings

    async def open(self, names: Iterable[str]) -> None:
        """Find out how crawls stood when an earlier daemon saw them."""
        async with self._turn:
            for name in names:
                if name not in self._histories:
                    await self._do_open(name, self._clock())

    async def take(self, statuses: Mapping[str, CrawlStatus], taken: Mapping[str, Taken]) -> None:
        """Add a sample of each crawl that has told how it stands. `taken` is what the processes of each take."""
        async with self._turn:
            for name, status in statuses.items():
                at = self._clock()
                history = self._histories.get(name) or await self._do_open(name, at)
                try:
                    await asyncio.to_thread(_keep, history, status, at, taken.get(name, Taken()))
                except OSError as error:
                    self._fail(name, error)
                else:
                    self._failing.discard(name)

    async def show(self, name: str, window: Window, now: float, part: int | None) -> list[dict[str, float | None]]:
        """The samples of a crawl in a window: see `History.show`. Raises `OSError`."""
        async with self._turn:
            history = self._histories.get(name) or await self._do_open(name, now)
            return await asyncio.to_thread(history.show, window, now, part)

    async def forget(self, name: str) -> None:
        async with self._turn:
            history = self._histories.pop(name, None) or History(self._folder / name)
            await asyncio.to_thread(history.forget)

    async def _do_open(self, name: str, now: float) -> History:
        history = History(self._folder / name)
        try:
            await asyncio.to_thread(history.open, now)
        except OSError as error:
            self._fail(name, error)
        self._histories[name] = history
        return history

    def _fail(self, name: str, error: OSError) -> None:
        if name not in self._failing:
            self._failing.add(name)
            why = error.strerror or error
            log.warning("%s: its history can't be kept now: %s", name, why, extra={"crawl": name})


def _keep(history: History, status: CrawlStatus, at: float, taken: Taken) -> None:
    alone = measure_alone(pids_of_parts(status))
    history.keep(status, at=at, taken=taken, taken_by_parts=alone, free_disk_bytes=free_bytes(Path(status.directory)))
