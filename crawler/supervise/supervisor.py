"""Runs a crawl in parts on one machine: the processes of all parts, and what decides for them."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from crawler.control.process import why_stopped
from crawler.disk.directory import CrawlDirectory
from crawler.engine import Ending
from crawler.library.result import CrawlResult
from crawler.parts.line.messages import Begin, FromPart
from crawler.supervise.coordination.coordinator import Coordinator
from crawler.supervise.coordination.watched_part import result_of_all
from crawler.supervise.keeping import KILL_AFTER_S, PartFailed, PartKeeper
from crawler.supervise.preparing import Plan
from crawler.supervise.process import PartProcess
from crawler.wiring.components.exchanging import check_exchange

log = logging.getLogger(__name__)

LOOK_EACH_S: Final = 5.0
"""Between two looks whether a part is stopped. Nobody tells that, least of all the part."""


class Supervisor:
    """Runs a crawl in parts. `run` ends when all processes have ended."""

    def __init__(self, plan: Plan, *, tell: Callable[[str], object] = lambda _: None) -> None:
        """`tell` gets what people should know while the crawl runs."""
        self._tell = tell
        self.coordinator = Coordinator(plan, tell=tell, on_all_open=self._write)
        self._keepers = [
            PartKeeper(number, CrawlDirectory(directory).log, self, tell=tell)
            for number, directory in enumerate(plan.directories)
        ]
        self._failure: PartFailed | None = None

    def stop(self, ending: Ending, *, now: bool = False) -> None:
        """Let all parts finish what is in flight, or drop it; the second time, kill them."""
        if now and self.coordinator.drops.is_set():
            self.kill()
        self.coordinator.stop(ending, now=now)

    def _write(self) -> None:
        self.coordinator.plan.write_configuration()

    def kill(self) -> None:
        """End all processes at once. What they have stored is kept."""
        for keeper in self._keepers:
            keeper.kill()

    # the run

    async def run(self) -> CrawlResult:
        """Run the crawl until it is complete, stopped, or a part fails. Raises `PartFailed` and `ConfigError`."""
        plan = self.coordinator.plan
        has_begun = any(CrawlDirectory(each).has_state() for each in plan.directories)
        await check_exchange(plan.loaded, has_begun=has_begun, tell=self._tell)
        try:
            async with asyncio.TaskGroup() as group:
                keeping = [group.create_task(self._keep(keeper)) for keeper in self._keepers]
                works = (self.coordinator.run(), self._kill_in_time(), self._tell_who_is_stopped())
                beside = [group.create_task(each) for each in works]
                await asyncio.wait(keeping)
                for each in beside:
                    each.cancel()
        finally:
            self.kill()
        if self._failure is not None:
            raise self._failure
        return self._result()

    def _result(self) -> CrawlResult:
        coordinator = self.coordinator
        status = coordinator.status()
        if status is None:
            raise asyncio.CancelledError  # by a signal, before the crawl began
        ending = coordinator.ending or Ending.STOPPED
        return result_of_all(coordinator.parts, ending, status, directory=coordinator.plan.directory.path)

    async def _kill_in_time(self) -> None:
        """A part that does not even drop what is in flight, such as one that is stopped by SIGSTOP, must not hold the
        others' end for ever."""
        await self.coordinator.drops.wait()
        await asyncio.sleep(KILL_AFTER_S)
        self.kill()

    async def _tell_who_is_stopped(self) -> None:
        """A part that is stopped does nothing, and can't finish what is in flight."""
        told: dict[int, str] = {}
        while True:
            await asyncio.sleep(LOOK_EACH_S)
            does = "can't end yet" if self.coordinator.is_stopping else "does nothing"
            for number, part in enumerate(self.coordinator.parts):
                if (why := why_stopped(part.pid, is_sent=None)) is None:
                    told.pop(number, None)
                elif told.get(number) != does:
                    told[number] = does
                    self._tell(f"part {number} {does}: {why}.")
                    log.warning("part %d %s: %s", number, does, why)

    async def _keep(self, keeper: PartKeeper) -> None:
        """If a part can't go on, the others finish what is in flight."""
        failure = await keeper.keep(self.coordinator.ends)
        if failure is not None:
            log.info("%s", failure)
            self._failure = self._failure or failure
            self.stop(Ending.STOPPED)

    # the processes

    async def prepare(self, number: int, /) -> Begin:
        await self.coordinator.given.openings.begin(number)
        return self.coordinator.plan.begin(number, again=self.coordinator.parts[number].opened is not None)

    def begin(self, number: int, process: PartProcess, /) -> None:
        self.coordinator.begin(number, process.line.send, pid=process.pid)

    def take(self, number: int, message: FromPart, /) -> None:
        self.coordinator.take(number, message)

    def end(self, number: int, /) -> None:
        self.coordinator.end(number)

    def is_replaced(self, _number: int, /) -> bool:
        return False  # a change of settings reaches all parts, or none
